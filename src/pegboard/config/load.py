"""Load a configuration: pegboard.toml and the `mcpServers` files it names, into one `Config`.

An absent or empty file is valid and grants nothing, since only the lock grants. What is wrong is an error that
names the key and its place; what is merely odd (a template that states too little, a name that leads nowhere) is a
warning, since policy fails closed on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pegboard.config.credentials import UnresolvedError, secret
from pegboard.config.curation import curated, tenants_of, written_file
from pegboard.config.evaluation import ArmPart, Evaluation, ModelEndpoint
from pegboard.config.identity import IdentityPart, resolved_identity
from pegboard.config.mcp_servers import parts_of
from pegboard.config.parsers import At, Problems
from pegboard.config.policies import policies_at, unmatched
from pegboard.config.reading import is_there, placed, read_text, read_toml
from pegboard.config.sections import FILE
from pegboard.config.servers import EndpointPart, ModelPart, ServerPart, over, resolve
from pegboard.config.values import Config, Endpoint, Notice, RankingChoice, Retrieval, ServerConfig
from pegboard.config.warnings import warnings_of
from pegboard.core.errors import ConfigError
from pegboard.core.names import parse_json
from pegboard.engine.approvals import ApprovalRules
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.guards import Guards
from pegboard.engine.limits import Limits
from pegboard.gateway.settings import GatewaySettings
from pegboard.retrieval.calibration import Calibration

__all__ = ["CALIBRATION", "load_config", "problems_of"]

_SQLITE = "sqlite:///"
CALIBRATION = "pegboard.calibration.json"


def load_config(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a configuration; *environ* is where `${VAR}` and credentials are looked up.

    Raises:
        ConfigError: The first thing that is wrong; `problems_of` returns all of them.
    """
    try:
        return _load(path, environ)
    except Problems as problems:
        first, *more = problems.errors
        if not more:
            raise first from None
        raise replace(first, fix=f"{first.fix or 'correct it'} (and {len(more)} more: pegboard doctor)") from None


def problems_of(path: Path, environ: Mapping[str, str]) -> tuple[ConfigError, ...]:
    """Return everything that is wrong with a configuration; nothing where it loads.

    Of Cedar policies only the first problem: `pegboard policy check` tells all.
    """
    try:
        _load(path, environ).deployment()
    except Problems as problems:
        return problems.errors
    except ConfigError as error:
        return (error,)
    return ()


def _load(path: Path, environ: Mapping[str, str]) -> Config:
    said = FILE(read_toml(path), At(str(path)))
    folder = path.parent
    files = said.get("mcp_config", ())
    servers, notices = _servers(path, said.get("servers", {}), files, environ)
    namespaces = said.get("namespaces", {})
    environment = said.get("environment", "production")
    identity, tokens = resolved_identity(said.get("identity", IdentityPart()), path, environment, environ)
    parts: dict[str, Any] = {
        "access": said.get("access", {}),
        "tools": curated(path, said),
        "curation": written_file(path, said),
        "policies": policies_at(path, said.get("policy", {}).get("cedar", ())),
        "tenants": tenants_of(said),
        "evaluation": _evaluation(path, said.get("evaluation", {}), environ),
        "arms": {name: _arm(path, name, part, environ) for name, part in said.get("arms", {}).items()},
        "retrieval": _retrieval(path, said.get("retrieval", {}), environ),
        "approvals": said.get("approvals", ApprovalRules()),
        "limits": said.get("limits", Limits()),
        "guards": said.get("rollout", Guards()),
        **said.get("dimensions", {}),
        **said.get("traces", {}),
        "ledger_kept_s": said.get("ledger"),
        "audit_kept_s": said.get("audit"),
    }
    config = Config(
        file=path,
        environment=environment,
        store=_store(said.get("store", f"{_SQLITE}pegboard.db"), path),
        lock=said.get("lock", folder / "pegboard.lock"),
        servers=servers,
        mcp_config=files,
        identity=identity,
        gateway=said.get("gateway", GatewaySettings()),
        tokens=tokens,
        namespaces=namespaces,
        selection=SelectionSettings(
            **said.get("selection", {}),
            **said.get("names", {}),
            namespaces=namespaces,
            calibration=_calibration(folder / CALIBRATION),
        ),
        profiles={
            name: profile if profile.environment else replace(profile, environment=environment)
            for name, profile in said.get("profiles", {}).items()
        },
        **parts,
    )
    absent = () if is_there(path) else (Notice(where=str(path), problem="there is no such file; the defaults stand"),)
    empty = unmatched(path, said.get("policy", {}).get("cedar", ()))
    return replace(config, warnings=(*absent, *notices, *empty, *warnings_of(config)))


def _calibration(path: Path) -> Calibration | None:
    """Read what `pegboard calibrate` wrote beside the configuration, None where it was not run."""
    if not is_there(path):
        return None
    try:
        content = parse_json(read_text(path))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        return Calibration.from_json(content)
    except ValueError as error:
        fix = "run `pegboard calibrate` again, or remove the file: the shipped calibration serves then"
        raise ConfigError(f"this calibration cannot be used: {error}", str(path), fix) from None


def _retrieval(path: Path, said: dict[str, Any], environ: Mapping[str, str]) -> Retrieval:
    endpoint = _endpoint(said.get("endpoint"), At(str(path), "retrieval.endpoint"), environ)
    return Retrieval(ranking=said.get("ranking", RankingChoice.BEST), endpoint=endpoint)


def _endpoint(part: EndpointPart | None, at: At, environ: Mapping[str, str]) -> Endpoint | None:
    if part is None:
        return None
    key = _key(part, at.key("credential"), environ)
    return Endpoint(url=part.url, model=part.model, dimensions=part.dimensions, key=key)


def _arm(path: Path, name: str, part: ArmPart, environ: Mapping[str, str]) -> ArmPart:
    """Fetch the credentials of an arm's own endpoint and model."""
    at, retrieval, model = At(str(path), "arms").key(name), dict(part.retrieval), cast(ModelPart | None, part.model)
    if "endpoint" in retrieval:
        retrieval["endpoint"] = _endpoint(retrieval["endpoint"], at.key("retrieval").key("endpoint"), environ)
    return replace(part, retrieval=retrieval, model=_model(model, at.key("model"), environ))


def _evaluation(path: Path, said: dict[str, Any], environ: Mapping[str, str]) -> Evaluation:
    return Evaluation(**{**said, "model": _model(said.get("model"), At(str(path), "evaluation.model"), environ)})


def _model(part: ModelPart | None, at: At, environ: Mapping[str, str]) -> ModelEndpoint | None:
    if part is None:
        return None
    return ModelEndpoint(
        api=part.api,
        url=part.url,
        model=part.model,
        key=_key(part, at.key("credential"), environ),
        timeout_s=part.timeout_s,
        turns=part.turns,
    )


def _key(part: EndpointPart | ModelPart, at: At, environ: Mapping[str, str]) -> str | None:
    try:
        return None if part.credential is None else secret(part.credential, environ)
    except UnresolvedError as error:
        raise ConfigError(str(error), str(at), "set it, or leave the credential out") from None


def _store(address: str, path: Path) -> Path:
    """Return the SQLite file of a store's address. The address is not repeated in errors: it may hold a password."""
    at = str(At(str(path), "store"))
    if address.startswith(("postgresql:", "postgres:")):
        raise ConfigError("a PostgreSQL store is not available in this version", at, "use sqlite:///pegboard.db")
    file = address.removeprefix(_SQLITE)
    if file == address or not file or file == ":memory:":
        raise ConfigError("a store is written as sqlite:/// and a file", at, "use sqlite:///pegboard.db")
    try:
        return placed(path.parent, file)
    except ValueError as error:
        raise ConfigError(str(error), at, "name another file") from None


def _servers(
    path: Path, own: Mapping[str, ServerPart], files: tuple[Path, ...], environ: Mapping[str, str]
) -> tuple[dict[str, ServerConfig], tuple[Notice, ...]]:
    """Join the servers of the `mcpServers` files and those of this file; of several files the first has its word."""
    declared: dict[str, tuple[ServerPart, str]] = {}
    notices: list[Notice] = []
    for file in files:
        parts, found = parts_of(file)
        notices += found
        for name, (part, origin) in parts.items():
            if name in declared:
                notices.append(Notice(where=origin, problem=f"left out: {declared[name][1]} stands for this name"))
            else:
                declared[name] = (part, origin)
    for name, part in own.items():
        lower, _ = declared.get(name, (ServerPart(), ""))
        declared[name] = (over(part, lower), str(At(str(path), "servers").key(name)))
    servers = {
        name: resolve(name, part, origin=origin, environ=environ) for name, (part, origin) in sorted(declared.items())
    }
    return servers, (*notices, *_problems(servers))


def _problems(servers: Mapping[str, ServerConfig]) -> Iterator[Notice]:
    for server in servers.values():
        if server.problem is not None:
            yield Notice(where=server.origin, problem=f"server {server.name!r} cannot be used: {server.problem}")
