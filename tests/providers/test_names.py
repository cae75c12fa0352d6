"""Names on the wire: a function of the tool id, the target and the client's prefix alone."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.aliases import FUNCTIONS, MCP, RESERVED, alias, mark
from pegboard.providers.names import namespace_name, wire_name
from pegboard.providers.targets import Target
from tests.strategies import cases

# The documented alphabets, written here once more.
ALPHABETS = {
    Target.MCP: r"[A-Za-z0-9_.-]{1,64}",
    **dict.fromkeys((Target.GEMINI, Target.GEMINI_PARAMETERS), r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
    **dict.fromkeys((Target.OPENAI, Target.OPENAI_STRICT, Target.COMPATIBLE), r"[A-Za-z0-9_-]{1,64}"),
    **dict.fromkeys((Target.ANTHROPIC, Target.ANTHROPIC_STRICT), r"[A-Za-z0-9_-]{1,64}"),
}
tool_ids = st.text("ab_.-: 1é漢я", min_size=1, max_size=12) | st.text(min_size=1, max_size=256)
near = st.lists(st.sampled_from(["a", "b", "_", ".", "__", "-"]), min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize("target", Target)
@given(st.lists(near | tool_ids, unique=True, max_size=12), st.sampled_from(["", "mcp__pegboard__", "x" * 51]))
@cases(30, 3_000)
def test_two_tools_never_share_a_name_and_each_fits_behind_the_prefix(target, ids, prefix):
    names = [wire_name(one, target, prefix) for one in ids]
    assert len(set(names)) == len(ids)
    assert not RESERVED & set(names)
    for name in names:
        assert re.fullmatch(ALPHABETS[target], name)
        assert len(prefix + name) <= 64


@pytest.mark.parametrize("target", Target)
def test_10_and_11_the_length_is_that_of_the_final_name(target):
    tool_id = f"my-company-observability.{'a' * 45}"
    assert len(wire_name(tool_id, target)) <= 64
    for prefix in ("mcp__x__", "x" * 51):
        assert len(prefix + wire_name(tool_id, target, prefix)) <= 64
    with pytest.raises(ValueError, match="too long"):
        wire_name(tool_id, target, "x" * 52)


@pytest.mark.parametrize(
    ("tool_id", "name"),
    [
        ("get_weather", "get_weather"),
        ("orders.list_open", "orders__list_open"),
        ("a..b", "a____b"),
        # Words of ten letters are words.
        ("crm.get_properties", "crm__get_properties"),
        ("crm.categories", "crm__categories"),
    ],
)
def test_a_dot_reads_as_two_underscores_where_it_is_refused(tool_id, name):
    assert wire_name(tool_id, Target.OPENAI) == name
    assert wire_name(tool_id, Target.MCP) == tool_id


@pytest.mark.parametrize(
    "tool_id",
    [
        "acme_.status", "acme._status", "acme__status", "1st.tool", "-x", "tool: name", "каталог.поиск", "x" * 65,
        "search_tools", "multi_tool_use.parallel", f"a_{'b' * 9}2", f"a.{'b' * 9}2",
    ],
)  # fmt: skip
def test_what_cannot_be_told_apart_or_written_gets_its_hash(tool_id):
    assert wire_name(tool_id, Target.ANTHROPIC).endswith(f"_{mark(tool_id)}")


def test_13_a_name_does_not_change_when_other_tools_come():
    before = wire_name("acme.status", Target.OPENAI)
    assert [wire_name(one, Target.OPENAI) for one in ("acme_.status", "acme.status")][1] == before


@pytest.mark.parametrize("name", sorted(RESERVED))
@pytest.mark.parametrize("target", Target)
def test_no_tool_goes_by_a_reserved_name(name, target):
    assert wire_name(name, target) != name.replace(".", "__")
    assert wire_name(name, target) not in RESERVED


def test_all_model_apis_share_their_names_so_a_conversation_may_change_its_model():
    assert len({wire_name("a.b c", target) for target in Target if target is not Target.MCP}) == 1
    assert namespace_name("crm.orders", Target.OPENAI) == "crm__orders"


@pytest.mark.parametrize("ours", ["search_tools", "call_tool", "describe_tool"])
def test_behind_every_prefix_there_is_room_for_our_own_tools_and_none_of_theirs_takes_the_place(ours):
    wire = MCP.after("x" * 51)
    assert len("x" * 51 + ours) <= MCP.limit
    assert alias(ours, wire) != ours


@given(tool_ids, st.integers(0, 51))
@cases(60, 3_000)
def test_a_prefix_shortens_a_name_and_is_no_part_of_it(tool_id, length):
    prefix = "x" * length
    for wire in (MCP, FUNCTIONS):
        name = alias(tool_id, wire.after(prefix))
        assert len(prefix + name) <= wire.limit
        # What fits behind the prefix has the name that it has without one.
        whole = alias(tool_id, wire)
        assert name == whole if len(prefix + whole) <= wire.limit else name.endswith(f"_{mark(tool_id)}")


def test_a_mark_ends_in_a_digit_and_so_no_word_is_one():
    assert all(mark(letter)[-1] in string.digits for letter in string.ascii_letters)


@given(near, near)
@cases(100, 5_000)
def test_a_plain_name_is_never_anothers_hashed_one(one, two):
    for wire in (MCP, FUNCTIONS, MCP.after("x" * 51), FUNCTIONS.after("mcp__pegboard__")):
        assert one == two or alias(one, wire) != alias(alias(two, wire), wire) or alias(two, wire) == one
