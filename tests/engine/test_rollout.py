"""Rollout: who is served where, for ever the same, and taken back at once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.engine.rollout import (
    LIVE,
    WHOLE,
    Change,
    Phase,
    Rollout,
    Setting,
    Sides,
    left_to_production,
    place,
    setting_of,
)
from tests.crm import pick

OFF, SHADOW, TENTH = setting_of("off"), setting_of("shadow"), setting_of("canary=0.1")
SETTINGS = (OFF, SHADOW, TENTH, setting_of("canary=0.5"), LIVE)
NAMESPACES = ("crm", "crm.orders", "crm.orders.eu", "mail", WHOLE)

keys = st.text(max_size=12)
histories = st.lists(st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(SETTINGS)), max_size=8)


def history(*steps: tuple[str, Setting]) -> tuple[Change, ...]:
    return tuple(
        Change(number=number, namespace=path, setting=setting, was=LIVE, by="dana", why="x", at=float(number))
        for number, (path, setting) in enumerate(steps, 1)
    )


@pytest.mark.parametrize(
    ("text", "phase", "share"),
    [
        ("off", Phase.OFF, 0.0),
        ("shadow", Phase.SHADOW, 0.0),
        ("canary=0.1", Phase.CANARY, 0.1),
        ("canary=0.123456789", Phase.CANARY, 0.123456789),
        ("canary=1e-05", Phase.CANARY, 0.00001),
        ("live", Phase.LIVE, 1.0),
    ],
)
def test_a_setting_is_written_as_it_is_read(text, phase, share):
    found = setting_of(text)
    assert (found.phase, found.share, str(found)) == (phase, share, text)


@pytest.mark.parametrize(
    "text", ["", "LIVE", "canary", "canary=", "canary=0", "canary=1", "canary=-1", "canary=nan", "canary=x", "live=0.5"]
)
def test_what_is_no_setting_is_refused(text):
    with pytest.raises(ValueError, match="is no phase"):
        setting_of(text)


def test_settings_are_in_the_order_in_which_they_serve():
    assert sorted({*SETTINGS}) == list(SETTINGS)


@pytest.mark.parametrize(
    ("key", "where"), [("c1", 0.6899920345425201), ("é", 0.5307584232072209), ("", 0.45715444141876915)]
)
def test_a_key_lies_where_it_always_lay(key, where):
    # As `printf 'pegboard.canary\0KEY' | sha256sum` says it, the first 12 digits of 16**12.
    assert place(key) == where


def test_a_share_of_the_keys_is_in_the_canary():
    inside = sum(TENTH.serves(f"conversation-{number}") for number in range(10_000))
    assert 900 < inside < 1_100


@given(keys, st.sampled_from(SETTINGS), st.sampled_from(SETTINGS))
def test_a_larger_setting_keeps_everyone_who_was_in(key, one, other):
    smaller, larger = sorted((one, other))
    assert not smaller.serves(key) or larger.serves(key)


def test_without_a_key_nobody_is_in_a_canary():
    assert [setting.serves(None) for setting in SETTINGS] == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("steps", "namespace", "setting"),
    [
        ((), "crm.orders", LIVE),
        (((WHOLE, SHADOW),), "crm.orders", SHADOW),
        (((WHOLE, SHADOW), ("crm", OFF)), "crm.orders", OFF),
        (((WHOLE, SHADOW), ("crm", OFF)), "crmx", SHADOW),
        ((("crm.orders", TENTH), ("crm", OFF)), "crm.orders.eu", TENTH),
        ((("crm", OFF), ("crm", TENTH)), "crm", TENTH),
    ],
)
def test_the_nearest_word_holds_and_the_last_one_said(steps, namespace, setting):
    assert Rollout.of(history(*steps)).setting(namespace) == setting


@given(histories, st.integers(0, 8), keys)
def test_a_conversation_is_served_nothing_that_is_not_served_now(steps, number, key):
    changes = history(*steps)
    now, began = Rollout.of(changes), Rollout.of(changes, until=number)
    sides = Sides(now=now, began=began, key=key)
    for path in NAMESPACES:
        assert sides.serves(path) == (now.setting(path).serves(key) and began.setting(path).serves(key))


def test_a_conversation_stays_on_its_side_until_something_is_taken_back():
    changes = history(("crm", SHADOW), ("crm", LIVE), ("crm", SHADOW))
    began, widened, back = (Rollout.of(changes, until=number) for number in (1, 2, 3))
    assert Sides(now=widened, key="c").serves("crm")
    assert not Sides(now=widened, began=began, key="c").serves("crm")
    assert not Sides(now=back, began=widened, key="c").serves("crm")


def test_only_what_is_off_is_not_watched():
    sides = [Sides(now=Rollout.of(history(("crm", setting))), key=None) for setting in SETTINGS]
    assert [one.watches("crm.orders") for one in sides] == [False, True, True, True, True]


def test_what_is_left_to_production_changes_nothing_else():
    whole = pick("list the open orders of a customer")
    namespaces = {one.tool.tool_id: one.tool.tool_id.rpartition(".")[0] for one in whole.tools}
    part = left_to_production(whole, {"crm.orders", "empty"}, namespaces)
    assert part.production == ("crm.orders", "empty")
    assert (
        part.tools == tuple(one for one in whole.tools if namespaces[one.tool.tool_id] != "crm.orders") != whole.tools
    )
    assert replace(part, tools=whole.tools, production=()) == whole
    assert "production" not in whole.to_json()
    assert part.to_json()["production"] == ["crm.orders", "empty"]


def test_what_is_loaded_of_what_is_left_to_production_is_withdrawn_once():
    whole = replace(pick("list the open orders of a customer"), withdraw=("crm.orders.gone",))
    namespaces = {one.tool.tool_id: "crm.orders" for one in whole.tools} | {"billing.pay": "billing"}
    loaded = ("billing.pay", "crm.orders.gone", *namespaces)
    part = left_to_production(whole, {"crm.orders"}, namespaces, loaded)
    assert part.withdraw == ("crm.orders.gone", *(one.tool.tool_id for one in whole.tools))
