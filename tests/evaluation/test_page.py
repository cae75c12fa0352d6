"""The page: it stands alone, says everything the report does, and lets nothing that it shows become markup."""

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from pegboard.evaluation.measures import MEASURES
from pegboard.evaluation.page import missed, page
from pegboard.evaluation.report import Arm, report
from pegboard.evaluation.slices import ToolFacts
from pegboard.evaluation.sweeps import Point
from pegboard.evaluation.thresholds import Threshold
from tests.evaluation.made import run, task

EVIL = "<script>alert('&')</script>"
TASKS = [task("get", "crm.get", task=EVIL), task("drop", "crm.drop", task="drop it"), task("rain", task="will it rain")]
TOOLS = {name: ToolFacts(name=name, namespace=f"ns-{EVIL}", risk="read") for name in ("crm.get", "crm.drop")}
RUNS = [
    run("get", "crm.get", fits=0.9, ms=1.0, tokens=50, tokens_all_tools=900, exposed=0),
    run("drop", "crm.get", "crm.get crm.drop", fits=0.4, ms=2.0, tokens=60, tokens_all_tools=900, exposed=1),
    run("rain", "", "crm.get", fits=0.1, ms=3.0, tokens=0, tokens_all_tools=900, exposed=0),
]


@cache
def made(threshold=None):
    more = {} if threshold is None else {"thresholds": [threshold]}
    return page(
        report(
            TASKS,
            [Arm(name="dynamic", runs=tuple(RUNS)), Arm(name=EVIL, runs=tuple(RUNS))],
            TOOLS,
            catalog_version="3-abc",
            fixtures={"file": EVIL, "digest": "sha256:0"},
            encoding="o200k-json",
            sweep=[Point(setting="limit", value=n, candidate_recall=n / (n + 1), tokens=50.0 * n) for n in range(1, 9)],
            **more,
        )
    )


class Tags(HTMLParser):
    """Collects tags, and whatever would be fetched or run."""

    def __init__(self):
        super().__init__()
        self.open, self.unbalanced, self.outward = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        self.outward += [(tag, name) for name, _ in attrs if name in {"src", "href"} or name.startswith("on")]
        if tag in {"script", "iframe", "link", "img", "object"}:
            self.outward.append((tag, ""))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)


def test_the_page_is_whole_and_reaches_out_for_nothing():
    tags = Tags()
    tags.feed(made())
    assert (tags.open, tags.unbalanced, tags.outward) == ([], [], [])


def test_what_a_task_or_a_setting_says_stays_text():
    assert EVIL not in made()
    assert "&lt;script&gt;" in made()


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_every_measure_stands_there_with_its_definition(measure):
    assert measure.name in made()


def test_a_measure_that_no_arm_has_is_told_below_the_table_with_its_reason():
    table, _, below = made().partition('<table class="measures">')[2].partition("</table>")
    assert "call_validity" not in table
    assert "Not measured, since no model was in the loop: end_to_end_ms_p50 (median" in below


def test_an_arm_has_one_colour_in_every_figure():
    shown = made()
    legends = re.findall(r'<i style="background:([^"]+)"></i>([^<]+)</li>', shown)
    colours = {}
    for colour, name in legends:
        colours.setdefault(name.partition(",")[0], set()).add(colour)
    assert colours["dynamic"] == colours["dynamic by limit"] == {"var(--series-1)"}
    assert colours["&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;"] == {"var(--series-2)"}
    assert colours["as sure as right"] == {"var(--dim)"}
    assert {f"--series-{number}:" in shown for number in range(1, 9)} == {True}


def test_a_difference_from_the_first_arm_is_shown_where_it_is_beyond_chance():
    tasks = [task(str(number), "a") for number in range(40)]
    arms = [
        Arm(name=name, runs=tuple(run(one.task_id, "a" if number < right else "b") for number, one in enumerate(tasks)))
        for name, right in (("dynamic", 20), ("better", 39), ("alike", 21))
    ]
    shown = page(report(tasks, arms, {}, catalog_version="1", fixtures={}, encoding="e"))
    row = re.search(r"<td>candidate_recall<br>.*?</tr>", shown)[0]
    assert re.findall(r'<small class="(passed|failed)">([^<]+)</small>', row) == [("passed", "+47.5% by task")]


def test_what_one_arm_could_not_take_has_its_reason_in_the_cell():
    own, unranked = run("t", "a", tokens=50), replace(run("t", "a", tokens=900), ranking=None)
    arms = [Arm(name="dynamic", runs=(own,)), Arm(name="all-tools", runs=(unranked,))]
    shown = page(report([task("t", "a")], arms, {}, catalog_version="1", fixtures={}, encoding="e"))
    row = re.search(r"<td>mrr<br>.*?</tr>", shown)[0]
    assert row.endswith('<td class="number missing"><small>this arm does not rank</small></td></tr>')
    assert "Tokens against recall" in shown


def test_what_was_never_found_is_not_drawn():
    one = [run("t", "a", exposed=0)]
    shown = page(
        report([task("t", "a")], [Arm(name="x", runs=tuple(one))], {}, catalog_version="1", fixtures={}, encoding="e")
    )
    assert "<td>denied_exposure<br>" in shown
    assert "Canaries of denied tools" not in shown
    assert "Canaries of denied tools" in made()


def test_the_page_says_by_what_it_was_made_where_it_is_told():
    bare = report(
        [task("t", "a")], [Arm(name="x", runs=(run("t"),))], {}, catalog_version="1", fixtures={}, encoding="e"
    )
    assert "intervals are 95%. Made &lt;today&gt;.</p>" in page(bare, made="Made <today>.")
    assert "intervals are 95%.</p>" in page(bare)


def test_tables_are_scrolled_by_themselves():
    assert made().count('<div class="wide"><table') == made().count("<table")


def test_every_plot_says_in_words_what_it_shows():
    drawn = re.findall(r"<svg.*?</svg>", made(), re.DOTALL)
    assert len(drawn) == 5 + 4  # the plots, and one a dimension
    assert all(re.search(r"<title>.+?</title><desc>.+?</desc>", one) for one in drawn)


def test_no_coordinate_leaves_its_plot():
    for one in re.findall(r"<svg.*?</svg>", made(), re.DOTALL):
        assert "nan" not in one
        wide, high = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', one).groups())
        assert all(0 <= float(x) <= wide for x in re.findall(r'\b(?:x|x1|x2|cx)="([-\d.]+)"', one))
        assert all(0 <= float(y) <= high for y in re.findall(r'\b(?:y|y1|y2|cy)="([-\d.]+)"', one))


def test_a_verdict_stands_first_where_something_was_asked():
    assert "Not to be released on this." in made(Threshold(measure="mrr", minimum=1.0))
    assert "Every threshold is reached." in made(Threshold(measure="mrr", minimum=0.1))
    assert "released" not in made()


@pytest.mark.parametrize(
    ("one", "its", "why"),
    [
        (task("t", "a"), run("t", "a"), None),
        (task("t", "a"), run("t", "b", "b a"), "1 tools were served; a is at rank 2"),
        (task("t", "a b"), run("t", "", "c"), "nothing was served (no_tool); none of a, b is among the first 1"),
        (task("t", "a"), run("t", "", "a", cause="weak"), "nothing was served (no_tool, weak); a is at rank 1"),
        (task("t"), run("t", "a"), "no tool fits, and a was served"),
        (task("t"), run("t"), None),
        (task("t", "a"), run("t", "a", error="time out"), "error: time out"),
    ],
)
def test_a_miss_is_explained(one, its, why):
    assert missed(one, its) == why


def test_a_report_without_times_sweep_or_confidence_has_a_page_as_well():
    bare = report(
        [task("t", "a")], [Arm(name="dynamic", runs=(run("t"),))], {}, catalog_version="1", fixtures={}, encoding="e"
    )
    assert "Recall at k" in page(bare)
