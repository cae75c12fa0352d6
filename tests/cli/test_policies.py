"""`pegboard policy`: policies of files are in force, checked, tested, and watched before they are."""

import pytest

from tests.cli.answers import ANSWERS, shape_of

SECTION = '[policy]\ncedar = ["policies/*.cedar"]\n'
POLICIES = """\
@id("show") permit(principal, action == Pegboard::Action::"consider", resource);
@id("run") permit(principal, action == Pegboard::Action::"call", resource);
@id("no-cancel") forbid(
  principal, action == Pegboard::Action::"consider", resource == Pegboard::Tool::"crm.cancel_order"
) unless { principal in Pegboard::Role::"boss" };
@id("no-c9") forbid(principal, action == Pegboard::Action::"call", resource in Pegboard::Namespace::"crm")
when { context.input has customer_id && context.input.customer_id == "c9" };
@id("watch") @log_only forbid(
  principal, action in [Pegboard::Action::"consider", Pegboard::Action::"call"], resource in Pegboard::Server::"billing"
);
"""
TESTS = """\
[[test]]
as = "sam"
tool = "crm.cancel_order"
expect = "deny"
by = ["no-cancel"]
[[test]]
name = "the boss may cancel"
principal = { user = "eve", roles = ["boss"], scopes = ["crm"], servers = ["crm"] }
tool = "crm.cancel_order"
expect = "allow"
[[test]]
name = "not of c9"
as = "sam"
action = "call"
tool = "crm.list_open_orders"
arguments = { customer_id = "c9" }
expect = "deny"
by = ["no-c9"]
[[test]]
name = "of others"
as = "sam"
action = "call"
tool = "crm.list_open_orders"
arguments = { customer_id = "c1" }
expect = "allow"
"""
LIST = ("call", "crm.list_open_orders", "--as", "sam", "--dry-run", "--args")


@pytest.fixture
def ruled(stocked):
    """The desk under Cedar policies."""
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + SECTION)
    stocked.writes("policies/crm.cedar", POLICIES)
    stocked.writes("tests.toml", TESTS)
    return stocked


def test_policies_take_away_what_they_forbid_and_explain_names_them(ruled):
    found = ruled.asks("explain", "cancel an order", "--as", "sam", "--tool", "crm.cancel_order")
    assert found["removed_by"] == {"cedar": 1}
    assert found["tool"] == {
        "tool_id": "crm.cancel_order",
        "eligible": False,
        "reasons": ["cedar"],
        "rules": ["no-cancel"],
    }
    shown = ruled.runs("explain", "cancel an order", "--as", "sam", "--tool", "crm.cancel_order").out
    assert "crm.cancel_order is not eligible: cedar (no-cancel)" in shown


def test_a_call_is_judged_by_its_arguments_and_its_caller_is_not_told_by_which_policy(ruled):
    assert ruled.asks(*LIST, '{"customer_id": "c1"}')["verdict"] == "allowed"
    refused = ruled.asks(*LIST, '{"customer_id": "c9"}')
    operator = refused.pop("operator")
    assert refused["verdict"] == "denied"
    assert "no-c9" not in str(refused)
    assert "no-c9" in str(operator)


def test_a_tool_that_a_policy_hides_is_unknown_at_the_call_too(ruled):
    answer = ruled.asks("call", "crm.cancel_order", "--as", "sam", "--args", '{"order_id": "1"}')
    nothing = ruled.asks("call", "crm.nothing", "--as", "sam", "--args", '{"order_id": "1"}')
    hidden = {key: value for key, value in answer.items() if key not in {"operator", "trace_id"}}
    assert hidden == {key: value for key, value in nothing.items() if key not in {"operator", "trace_id"}}
    (event,) = [one for one in ruled.asks("audit", "list")["events"] if "no-cancel" in str(one["body"])]
    assert event["body"]["reasons"] == ["cedar", "no-cancel"]


def test_check_lists_the_policies_and_ends_with_0(ruled):
    answer = ruled.runs("policy", "check", "--json")
    assert (answer.status, answer.json["ok"]) == (0, True)
    assert [one["policy"] for one in answer.json["policies"]] == ["show", "run", "no-cancel", "no-c9", "watch"]
    assert [one["log_only"] for one in answer.json["policies"]] == [False] * 4 + [True]
    assert answer.json["notes"] == []


def test_check_tells_everything_that_is_wrong_and_ends_with_1(ruled):
    ruled.writes("policies/a.cedar", 'permit(principal, action, resource);\n@id("run") forbid(principal')
    ruled.writes("policies/b.cedar", "permit(principal, action, resource);")
    answer = ruled.runs("policy", "check", "--json")
    assert answer.status == 1
    assert [(one["file"], one["policy"]) for one in answer.json["problems"]] == [
        ("policies/a.cedar", None),
        ("policies/b.cedar", "policies/b.cedar#1"),
    ]
    assert "problem policies/b.cedar#1 it names no action" in ruled.runs("policy", "check").out


def test_policies_that_cannot_be_used_stop_whatever_decides_by_them_and_no_halt(ruled):
    ruled.writes("policies/b.cedar", "permit(principal, action, resource);")
    assert ruled.runs("halt", "crm.cancel_order", "--why", "booked twice").status == 0
    assert ruled.runs("resume", "crm.cancel_order").status == 0
    answer = ruled.runs("select", "cancel an order", "--as", "sam")
    assert answer.status == 2
    assert "it names no action" in answer.err
    assert answer.out == ""


def test_tests_pass_and_fail_by_what_policy_says(ruled):
    answer = ruled.runs("policy", "test", "tests.toml")
    assert (answer.status, answer.err) == (0, "4 of 4 tests passed\n")
    ruled.writes("tests.toml", TESTS.replace('"c1"', '"c9"').replace('"no-c9"', '"other"'))
    answer = ruled.runs("policy", "test", "tests.toml")
    assert answer.status == 1
    assert "failed not of c9 deny by no-c9, not by other" in answer.out
    assert "failed of others deny, not allow, by no-c9" in answer.out


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('tool = "crm.nothing"\nas = "sam"\nexpect = "deny"', "there is no such tool in the catalog"),
        (
            'tool = "crm.list_open_orders"\nas = "sam"\naction = "call"\nexpect = "deny"',
            "the arguments break the tool's schema",
        ),
    ],
)
def test_a_test_that_asks_nothing_fails(ruled, row, problem):
    ruled.writes("tests.toml", f"[[test]]\n{row}\n")
    answer = ruled.runs("policy", "test", "tests.toml")
    assert answer.status == 1
    assert problem in answer.out


def test_log_only_policies_change_nothing_and_are_reported(ruled):
    assert ruled.asks("policy", "report") == {"traces": 0, "policies": []}
    selected = ruled.asks("select", "give money of a payment back", "--as", "sam", "--limit", "9")
    assert {"billing.create_refund", "billing.get_payment"} <= {one["tool_id"] for one in selected["tools"]}
    words = ("call", "billing.get_payment", "--as", "sam", "--args", '{"payment_id": "p1"}')
    called = ruled.asks(*words)
    found = ruled.asks("policy", "report")
    assert shape_of(found, ANSWERS["policy report"]) == ANSWERS["policy report"]
    (watch,) = found["policies"]
    assert (watch["policy"], watch["selections"], watch["tools"]) == ("watch", 1, 2)
    assert watch["calls"] == {called["verdict"]: 1}
    assert watch["last"] == called["trace_id"]
    assert "watch" in ruled.runs("policy", "report", "--since", "1h").out


def test_a_trace_under_policies_replays_after_the_policies_have_changed(ruled):
    before = ruled.asks("select", "cancel an order", "--as", "sam")
    ruled.writes("policies/crm.cedar", POLICIES.replace("no-cancel", "other").replace("crm.cancel_order", "crm.x"))
    after = ruled.asks("select", "cancel an order", "--as", "sam")
    assert before["operator"]["policy_version"] != after["operator"]["policy_version"]
    replayed = ruled.asks("replay", before["trace_id"], after["trace_id"])
    assert [one["equal"] for one in replayed["traces"]] == [True, True]
    against = ruled.asks("replay", before["trace_id"], "--with", "policy")
    assert against["traces"][0]["tools"]["added"] == ["crm.cancel_order"]


def test_without_a_policy_file_there_is_nothing_to_check(stocked):
    answer = stocked.runs("policy", "check")
    assert (answer.status, answer.out) == (0, "")
    assert "access templates decide alone" in answer.err
