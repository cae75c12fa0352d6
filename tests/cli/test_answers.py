"""Every command answers a machine with one document of a fixed shape, and people with the same facts."""

import pytest

from tests.cli.answers import ANSWERS, ERROR, shape_of
from tests.cli.desk import CRM, listing, tool

REFUND = ("give Dana her money back", "--as", "sam")
COMMANDS = (
    ("doctor", ("doctor",)),
    ("refresh", ("refresh",)),
    ("review list", ("review",)),
    ("review list", ("review", "list")),
    ("review show", ("review", "show", "crm.cancel_order")),
    ("review show", ("review", "show", "crm.close_case")),
    ("review approve", ("review", "approve", "crm.cancel_order", "crm/close_case", "--access", "crm")),
    ("review reject", ("review", "reject", "crm.cancel_order")),
    ("classify", ("classify",)),
    ("lock show", ("lock", "show")),
    ("lock export", ("lock", "export", "copy.lock")),
    ("lock import", ("lock", "import", "pegboard.lock")),
    ("lock remove", ("lock", "remove", "crm/cancel_order")),
    ("lock check", ("lock", "check")),
    ("catalog list", ("catalog", "list")),
    ("catalog show", ("catalog", "show", "billing.create_refund")),
    ("catalog versions", ("catalog", "versions")),
    ("catalog diff", ("catalog", "diff", "1", "2")),
    ("catalog rollback", ("catalog", "rollback", "1")),
    ("catalog export", ("catalog", "export", "copy.jsonl")),
    ("catalog import", ("catalog", "import", "bad.jsonl")),
    ("catalog verify", ("catalog", "verify")),
    ("catalog lint", ("catalog", "lint")),
    ("catalog curate", ("catalog", "curate", "crm.cancel_order", "--keyword", "storno")),
    ("catalog prune", ("catalog", "prune")),
    ("catalog prune", ("catalog", "prune", "--keep", "1", "--apply")),
    ("select", ("select", *REFUND, "--require", "crm.nothing", "--loaded", "billing/get_payment")),
    ("explain", ("explain", *REFUND, "--tool", "billing/create_refund")),
    ("call", ("call", "crm.list_open_orders", "--as", "sam", "--dry-run")),
    ("call", ("call", "crm.list_open_orders", "--args", '{"customer_id": "c1"}', "--as", "sam")),
    ("traces list", ("traces", "list")),
    ("traces export", ("traces", "export")),
    ("traces prune", ("traces", "prune")),
    ("audit list", ("audit", "list")),
    ("audit verify", ("audit", "verify")),
    ("audit export", ("audit", "export")),
    ("calls list", ("calls", "list")),
    ("replay", ("replay", "--all")),
    ("replay", ("replay", "--since", "1h", "--against", "1", "--with", "lock", "--with", "settings")),
    ("approvals list", ("approvals", "list", "--state", "all")),
    ("halt", ("halt", "billing/create_refund", "--why", "double refunds")),
    ("halt", ("halt", "crm.cancel_order", "--why", "drill", "--for", "30m")),
    ("halt", ("halt", "all", "--why", "drill")),
    ("resume", ("resume", "server:crm")),
)


@pytest.mark.parametrize(("name", "words"), COMMANDS, ids=[" ".join(words) for _, words in COMMANDS])
def test_json_is_one_document_of_the_stated_shape(busy, name, words):
    assert shape_of(busy.runs(*words, "--json").json, ANSWERS[name]) == ANSWERS[name]


@pytest.mark.parametrize("words", [words for _, words in COMMANDS], ids=[" ".join(words) for _, words in COMMANDS])
def test_people_get_an_answer_and_no_colour_where_it_is_piped(busy, words):
    answer = busy.runs(*words)
    assert answer.out or answer.err
    assert "\x1b" not in answer.out + answer.err
    assert "Traceback" not in answer.err


def test_json_may_stand_before_the_command(stocked):
    assert stocked.runs("--json", "lock", "show").json == stocked.runs("lock", "--json", "show").json


def test_an_error_is_one_document_too(stocked):
    answer = stocked.runs("catalog", "show", "billing.create_refnd", "--json")
    assert shape_of(answer.json, ERROR) == ERROR
    assert answer.json["error"]["kind"] == "unknown-tool"
    assert "billing.create_refund" in answer.json["error"]["message"]
    assert answer.err == ""


def test_a_replayed_trace_is_equal(busy):
    (trace, *_) = busy.asks("traces", "list")["traces"]
    found = busy.runs("replay", trace["trace_id"], "--json")
    assert shape_of(found.json, ANSWERS["replay"]) == ANSWERS["replay"]
    assert found.json["traces"][0]["equal"] is True
    assert found.status == 0
    assert busy.asks("traces", "show", trace["trace_id"])["trace_id"] == trace["trace_id"]


def test_a_selection_shows_its_price_beside_that_of_all_tools(stocked):
    shown = stocked.runs("select", *REFUND).out
    spent = stocked.asks("select", *REFUND)["tokens"]["definitions"]
    everything = stocked.asks("select", "anything", "--as", "sam", *_required(stocked))["tokens"]["definitions"]
    assert f"{spent:,} tokens, all 4 eligible tools take {everything:,}" in shown


def _required(desk):
    ids = [one["tool_id"] for one in desk.asks("catalog", "list")["tools"]]
    return [word for tool_id in ids for word in ("--require", tool_id)]


def test_what_waits_is_told_to_the_operator_beside_the_answer(busy):
    answer = busy.runs("select", *REFUND)
    assert "2 tools waiting for review: `pegboard classify`, then `pegboard review`" in answer.err
    assert "waiting" not in answer.out


def test_where_nothing_is_eligible_the_operator_is_told_and_the_answer_does_not_say_it(stocked):
    toml = stocked.reads("pegboard.toml")
    stocked.writes("pegboard.toml", toml.replace('user = "sam"\nscopes = ["crm"]', 'user = "sam"\nscopes = ["crn"]'))
    answer = stocked.runs("select", *REFUND)
    assert "operator: none of 4 tools is eligible for this caller: `pegboard explain`" in answer.err
    assert "eligible for" not in answer.out
    assert "none of 4 tools" not in stocked.runs("select", "refund", "--as", "dana").err
    doctor = stocked.asks("doctor", "--offline")["findings"]
    assert [one["message"] for one in doctor if "crn" in one["message"]] == [
        "has 'crn', which no access template asks for; did you mean 'crm'?"
    ]


def test_a_required_tool_that_is_not_there_is_missing_and_the_nearest_is_named(stocked):
    answer = stocked.runs("select", *REFUND, "--require", "billing.create_refnd")
    assert answer.status == 0
    assert "missing: billing.create_refnd" in answer.out
    assert "nearest: billing.create_refund" in answer.err


def test_a_trace_shows_people_the_time_that_the_list_shows(busy):
    listed = busy.asks("traces", "list")["traces"][0]
    assert f'"at": "{listed["at"]}"' in busy.runs("traces", "show", listed["trace_id"]).out
    assert isinstance(busy.asks("traces", "show", listed["trace_id"])["at"], float)


def test_explain_says_where_its_scores_are_places(stocked):
    assert "scores count places, since fewer than 10 tools are eligible" in stocked.runs("explain", *REFUND).err
    more = [tool(f"get_part_{number}", "Read one part of an order.") for number in range(6)]
    stocked.writes("listings/crm.json", listing("crm", [*CRM, *more]))
    stocked.runs("catalog", "import", "listings", "--approve", "crm")
    answer = stocked.runs("explain", *REFUND)
    assert "10 of 10 tools are eligible" in answer.out
    assert "places" not in answer.err


def test_explain_says_outcome_and_counts_in_words(stocked):
    assert "outcome selected; 4 of 4 tools are eligible" in stocked.runs("explain", *REFUND).out


def test_the_lock_exports_to_stdout_as_it_is(stocked):
    assert stocked.runs("lock", "export").out == stocked.reads("pegboard.lock")


def test_an_exported_catalog_imports_to_the_same_tools(stocked, tmp_path):
    stocked.runs("catalog", "export", "copy.jsonl")
    before = stocked.asks("catalog", "list")
    assert stocked.asks("catalog", "import", "copy.jsonl")["imported"] == 4
    assert stocked.asks("catalog", "list") == before
