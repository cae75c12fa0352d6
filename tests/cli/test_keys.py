"""`pegboard keys`: a key is shown once, listed without its secret, and ended at once."""

import pytest

from tests.cli.answers import ANSWERS, shape_of

CREATE = ("keys", "create", "ci", "--workload", "desk")


def test_a_key_is_printed_alone_so_that_it_can_be_piped_and_never_again(stocked):
    made = stocked.runs(*CREATE)
    assert (made.status, made.out.count("\n")) == (0, 1)
    assert made.out.startswith("pgb_")
    assert "it is not shown again" in made.err
    secret = made.out.strip().rpartition("_")[2]
    for words in (("keys", "list"), ("keys", "list", "--json"), ("audit", "list", "--json")):
        assert secret not in stocked.runs(*words).out
    assert secret.encode() not in b"".join(path.read_bytes() for path in stocked.folder.glob("pegboard.db*"))


def test_every_answer_has_its_shape(stocked):
    created = stocked.asks(*CREATE, "--scopes", "crm.read, crm", "--role", "application", "--for", "90d")
    assert shape_of(created, ANSWERS["keys create"]) == ANSWERS["keys create"]
    said = {"name": "ci", "workload": "desk", "role": "application", "scopes": ["crm", "crm.read"], "by": "dana"}
    assert {name: created[name] for name in said} == said
    assert created["expires_at"] > created["made_at"]
    listed = stocked.asks("keys", "list")
    assert shape_of(listed, ANSWERS["keys list"]) == ANSWERS["keys list"]
    assert listed["keys"] == [{name: value for name, value in created.items() if name != "key"}]
    assert stocked.asks("keys", "revoke", "ci") == {"name": "ci", "revoked": True}


def test_a_revoked_key_is_listed_as_such_and_its_name_is_free(stocked):
    assert "there are no keys" in stocked.runs("keys", "list").err
    stocked.runs(*CREATE)
    assert "ci valid agent desk all scopes" in stocked.runs("keys", "list").out
    assert stocked.runs("keys", "revoke", "ci").status == 0
    again = stocked.runs("keys", "revoke", "ci")
    assert (again.status, "is no key in use" in again.out) == (1, True)
    stocked.runs(*CREATE, "--scopes", "")
    assert [line.split()[1:3] for line in stocked.runs("keys", "list").out.splitlines()] == [
        ["valid", "agent"],
        ["revoked", "agent"],
    ]
    assert "no scope" in stocked.runs("keys", "list").out


def test_a_name_in_use_and_a_role_that_is_none_are_refused(stocked):
    stocked.runs(*CREATE)
    again = stocked.runs(*CREATE)
    assert (again.status, "there is a key 'ci' already" in again.err) == (2, True)
    assert stocked.runs("keys", "create", "x", "--workload", "desk", "--role", "root").status == 2
    assert stocked.runs("keys", "create", "x").status == 2


@pytest.mark.parametrize(("written", "told"), [("", True), ('[identity.workloads.desk]\nscopes = ["crm"]\n', False)])
def test_whoever_makes_a_key_of_an_unconfigured_workload_is_told(stocked, written, told):
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + written)
    assert ("[identity.workloads.desk] is not there" in stocked.runs(*CREATE).err) is told


def test_what_was_done_with_keys_is_in_the_audit(stocked):
    stocked.runs(*CREATE)
    stocked.runs("keys", "revoke", "ci")
    events = stocked.asks("audit", "list")["events"]
    assert [(one["kind"], one["body"]["by"]) for one in events[:2]] == [("key_revoked", "dana"), ("key_made", "dana")]
