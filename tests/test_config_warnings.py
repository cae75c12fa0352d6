"""What a configuration says that cannot mean what its author thinks: told, and policy fails closed on it."""

from pathlib import Path

from pegboard.config.load import load_config
from pegboard.config.values import Config


def _warned(config: Config) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for notice in config.warnings:
        found.setdefault(notice.where.partition(": ")[2], []).append(notice.problem)
    return found


def test_what_policy_will_never_let_in_is_a_warning(tmp_path: Path):
    path = tmp_path / "pegboard.toml"
    path.write_text(
        """
        [dimensions]
        used = ["scopes", "stage"]
        [access.read]
        required_scopes = []
        tenants = ["acme"]
        [servers.crm]
        command = ["crm"]
        trust = "follow"
        propose = [{ match = "*", access = "raed" }]
        [servers.mail]
        command = ["mail"]
        namespace = "crm"
        [profiles.a]
        servers = ["crn", "mail"]
        approved_namespaces = ["crm"]
        """
    )
    assert _warned(load_config(path, {})) == {
        "access.read": [
            "tenants is not asked: 'tenant' is not in dimensions.used",
            "allowed_stages is not stated, so it lets nobody in",
        ],
        "servers.crm.propose": ["proposes the access template 'raed', which does not exist; did you mean 'read'?"],
        "servers.crm": ["shares the namespace 'crm' with another server; equal tool names will collide"],
        "servers.mail": ["shares the namespace 'crm' with another server; equal tool names will collide"],
        "profiles.a.servers": ["approves the server 'crn', which is not configured; did you mean 'crm'?"],
        "profiles.a.approved_namespaces": ["approves the namespace 'crm', which [namespaces] does not"],
    }


def test_a_word_of_a_profile_that_no_template_asks_for_is_a_warning_with_the_nearest(tmp_path: Path):
    path = tmp_path / "pegboard.toml"
    (tmp_path / "rules.cedar").write_text('permit(principal, action, resource) when { principal.roles.contains("x") };')
    text = """
        [dimensions]
        used = ["scopes", "roles", "flags"]
        [access.any]
        required_scopes = ["local"]
        required_roles = ["agent"]
        required_flags = ["beta"]
        [profiles.a]
        scopes = ["local", "locl"]
        roles = ["agnet", "x"]
        flags = ["bta"]
        """
    path.write_text(text)
    asked = "which no access template asks for; did you mean"
    assert _warned(load_config(path, {})) == {
        "profiles.a.scopes": [f"has 'locl', {asked} 'local'?"],
        "profiles.a.roles": [
            f"has 'agnet', {asked} 'agent'?",
            "has 'x', which no access template asks for; known here: agent",
        ],
        "profiles.a.flags": [f"has 'bta', {asked} 'beta'?"],
    }
    path.write_text(f'{text}\n[policy]\ncedar = ["rules.cedar"]')
    assert _warned(load_config(path, {}))["profiles.a.roles"] == [f"has 'agnet', {asked} 'agent'?"]
