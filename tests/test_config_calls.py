"""What pegboard.toml says of single calls: approvals, flow, limits, costs and keys."""

import pytest

from pegboard.config.load import load_config
from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import ConfigError
from pegboard.engine.approvals import ApprovalRules, ArgumentRule
from pegboard.engine.flow import FlowAction, FlowRow
from pegboard.engine.limits import Limits

WHOLE = """\
[approvals]
risk = ["write"]
reach = []
lifetime_s = 60
conversation_s = 120
[[approvals.when]]
tools = ["crm.*"]
arguments = { action = ["delete", ""], "/a/b" = [1, true, 0.5] }
[[approvals.when]]
tools = "billing.*"
[[approvals.flow]]
environment = "production"
do = "deny"
[[approvals.flow]]
do = "allow"
[limits]
calls_per_minute = 10
calls_per_day = 100
spend_per_day = 2.5
identical_refusals = 3
repeat_window_s = 30
reads_without_ledger = true
[tools."crm.pay"]
cost = 0.5
key_argument = "once"
[tools."crm.get"]
enabled = true
"""


def deployed(tmp_path, text):
    path = tmp_path / "pegboard.toml"
    path.write_text(text)
    return load_config(path, {}).deployment()


def test_everything_that_is_said_of_calls_reaches_the_service(tmp_path):
    found = deployed(tmp_path, WHOLE)
    assert found.approvals == ApprovalRules(
        risk=frozenset({Risk.WRITE}),
        reach=frozenset(),
        when=(
            ArgumentRule(tools=("crm.*",), arguments={"action": ("delete", ""), "/a/b": (1.0, True, 0.5)}),
            ArgumentRule(tools=("billing.*",)),
        ),
        flow=(FlowRow(environment="production", do=FlowAction.DENY), FlowRow(do=FlowAction.ALLOW)),
        lifetime_s=60.0,
        conversation_s=120.0,
    )
    assert found.limits == Limits(
        calls_per_minute=10,
        calls_per_day=100,
        spend_per_day=2.5,
        identical_refusals=3,
        repeat_window_s=30.0,
        reads_without_ledger=True,
    )
    assert (found.costs, found.key_arguments) == ({"crm.pay": 0.5}, {"crm.pay": "once"})


def test_unsaid_it_asks_before_what_destroys_or_reaches_anything_and_limits_loops_alone(tmp_path):
    found = deployed(tmp_path, "")
    assert (found.approvals.risk, found.approvals.reach) == ({Risk.DESTRUCTIVE}, {Reach.OPEN})
    assert (found.limits, found.costs, found.key_arguments) == (Limits(), {}, {})


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[approvals]\nlifetime_s = 0\n", "approvals.lifetime_s"),
        ("[[approvals.when]]\narguments = {}\n", "approvals.when[1]"),
        ('[[approvals.when]]\ntools = ["a"]\narguments = { x = "delete" }\n', "approvals.when[1].arguments.x"),
        ('[[approvals.when]]\ntools = ["a"]\narguments = { x = [[1]] }\n', "approvals.when[1].arguments.x[1]"),
        ('[[approvals.flow]]\nenvironment = "production"\n', "approvals.flow[1]"),
        ('[[approvals.flow]]\ndo = "maybe"\n', "approvals.flow[1].do"),
        ("[limits]\ncalls_per_minute = -1\n", "limits.calls_per_minute"),
        ("[limits]\nspend_per_day = nan\n", "limits.spend_per_day"),
        ("[limits]\nidentical_refusals = 0\n", "limits.identical_refusals"),
        ("[limits]\nreads_without_ledger = 1\n", "limits.reads_without_ledger"),
        ("[limits]\ncalls_per_hour = 1\n", "limits.calls_per_hour"),
        ('[tools."a"]\ncost = -1\n', "tools.a.cost"),
        ('[tools."a"]\nkey_argument = ""\n', "tools.a.key_argument"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_left_out_silently(tmp_path, text, where):
    with pytest.raises(ConfigError) as error:
        deployed(tmp_path, text)
    assert error.value.where is not None
    assert error.value.where.endswith(f": {where}")
