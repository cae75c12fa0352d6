"""`catalog lint` and `catalog curate`: problems end with 1, and texts of one's own are served from then on."""

import tomllib

CURATE = ("catalog", "curate", "crm.cancel_order")


def texts(desk):
    return tomllib.loads((desk.folder / "curation.toml").read_text())["tools"]


def test_problems_end_with_one_and_none_with_zero(stocked):
    found = stocked.runs("catalog", "lint", "--json")
    assert found.status == (1 if found.json["problems"] else 0)
    for tool in {one["tool"] for one in found.json["problems"]}:
        stocked.runs("catalog", "curate", tool, "--summary", f"The one and only purpose of it is {tool}, nothing else.")
    left = stocked.runs("catalog", "lint", "--json")
    assert [one for one in left.json["problems"] if one["check"] == "weak-description"] == []


def test_texts_are_served_and_stand_when_the_tools_are_listed_anew(stocked):
    answer = stocked.asks(
        *CURATE, "--summary", "Call an order off.", "--keyword", "storno", "--example", 'say "no" to it'
    )
    assert answer["catalog_version"] != "1"
    stocked.runs("catalog", "import", "listings")
    shown = stocked.asks("catalog", "show", "crm.cancel_order")
    assert (shown["summary"], shown["keywords"]) == ("Call an order off.", ["storno"])
    assert shown["examples"] == ['say "no" to it']


def test_what_is_said_replaces_its_own_kind_alone(stocked):
    stocked.runs(*CURATE, "--summary", "Call an order off.", "--keyword", "storno")
    stocked.runs(*CURATE, "--keyword", "undo", "--keyword", "back")
    assert texts(stocked) == {"crm.cancel_order": {"summary": "Call an order off.", "keywords": ["undo", "back"]}}


def test_an_empty_summary_takes_the_texts_away(stocked):
    stocked.runs(*CURATE, "--keyword", "storno")
    assert stocked.runs(*CURATE, "--summary", "").status == 0
    assert stocked.asks("catalog", "show", "crm.cancel_order")["keywords"] == []


def test_a_secret_is_refused_before_anything_is_written(stocked):
    answer = stocked.runs(*CURATE, "--summary", "Log in with password=hunter22x first.")
    assert answer.status == 2
    assert "hunter22x" not in answer.out + answer.err
    assert not (stocked.folder / "curation.toml").exists()


def test_without_a_file_to_write_it_says_which_setting_names_one(stocked):
    config = stocked.folder / "pegboard.toml"
    config.write_text('curation = ["texts/*.toml"]\n' + config.read_text())
    answer = stocked.runs(*CURATE, "--keyword", "storno")
    assert answer.status == 2
    assert "curation" in answer.err
