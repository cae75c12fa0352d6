"""Spans and measurements: their names, what they hold, how they join other systems' traces, and what they never say."""

import pytest
from opentelemetry import trace as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pegboard import wiring
from pegboard.adapters.telemetry import OpenTelemetry
from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import OutcomeUnknownError, StoreError
from pegboard.engine.verdict import ProposedCall
from pegboard.service.selector import Request
from pegboard.service.telemetry import NOT_NAMED, QUIET, Key, Measure, Operation
from tests.crm import AGENT
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Listening:
    """The SDK with everything that it was told kept in memory."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        traced = TracerProvider()
        traced.add_span_processor(SimpleSpanProcessor(self._spans))
        self.telemetry = OpenTelemetry(traced, MeterProvider(metric_readers=[self._reader]))

    @property
    def spans(self):
        return self._spans.get_finished_spans()

    def span(self, name):
        (found,) = [span for span in self.spans if span.name == name]
        return found

    @property
    def measured(self):
        """Every measurement: its name, its attributes."""
        data = self._reader.get_metrics_data()
        groups = [group for resource in data.resource_metrics for group in resource.scope_metrics] if data else []
        return [
            (m.name, dict(point.attributes)) for group in groups for m in group.metrics for point in m.data.data_points
        ]


@pytest.fixture
def listening(monkeypatch):
    made = Listening()
    monkeypatch.setattr(wiring, "_telemetry", lambda: made.telemetry)
    return made


async def started(*tools):
    crm = ScriptedToolServer(list(tools or (tool("get_order", description="Read an order."), tool("pay"))))
    made = system(ScriptedToolServers(crm=crm))
    await made.refresher.refresh()
    await made.keeper.approve(["crm.get_order"], access="sales", by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    await made.keeper.approve(["crm.pay"], access="money", by="t", risk=Risk.WRITE, reach=Reach.BOUNDED)
    return made, crm


def get_order(**more):
    return ProposedCall(tool="crm.get_order", arguments={}, **more)


async def test_a_selection_is_a_retrieval_span(listening):
    made, _ = await started()
    selection, _ = await made.selector.select(Request(tasks=("read the order",)), AGENT)
    told = dict(listening.span("retrieval").attributes)
    assert told[Key.OPERATION] == "retrieval"
    assert told[Key.SELECTED] == ("crm.get_order",)
    assert (told[Key.OUTCOME], told[Key.TRACE_ID]) == (selection.outcome, selection.trace_id)
    assert told[Key.CATALOG] == (await made.catalog.current()).view.snapshot.version
    assert ("pegboard.select.duration", {"pegboard.outcome": selection.outcome}) in listening.measured


async def test_a_call_is_an_execute_tool_span_and_its_sending_one_below_it(listening):
    made, crm = await started()
    answer = await made.gatekeeper.call(get_order(), AGENT, all_listed=True)
    call, sent = listening.span("execute_tool crm.get_order"), listening.span("tools/call get_order")
    assert (call.attributes[Key.OPERATION], call.attributes[Key.TOOL]) == ("execute_tool", "crm.get_order")
    assert (call.attributes[Key.VERDICT], call.attributes[Key.CALL_ID]) == ("allowed", answer.call_id)
    assert (call.kind, sent.kind) == (api.SpanKind.INTERNAL, api.SpanKind.CLIENT)
    assert (sent.attributes[Key.METHOD], sent.attributes[Key.SERVER]) == ("tools/call", "crm")
    assert sent.parent.span_id == call.context.span_id
    traceparent = crm.metas[0]["traceparent"]
    assert traceparent.split("-")[1:3] == [f"{sent.context.trace_id:032x}", f"{sent.context.span_id:016x}"]
    assert {name for name, _ in listening.measured} >= {Measure.CALL_DURATION, Measure.SEND_DURATION}


async def test_spans_join_the_trace_of_whoever_asks(listening):
    made, crm = await started()
    with made.telemetry.within({"traceparent": PARENT, "tracestate": "a=b", "baggage": "user=sam"}):
        await made.selector.select(Request(tasks=("read",)), AGENT)
        await made.gatekeeper.call(get_order(), AGENT, all_listed=True)
    assert {f"{span.context.trace_id:032x}" for span in listening.spans} == {PARENT.split("-")[1]}
    assert (crm.metas[0]["tracestate"], "baggage" in crm.metas[0]) == ("a=b", False)


@pytest.mark.parametrize("carrier", [{}, {"traceparent": "nonsense"}, {"traceparent": "00-0-0-0"}])
async def test_what_is_no_trace_context_changes_nothing(listening, carrier):
    made, _ = await started()
    with made.telemetry.within(carrier):
        await made.selector.select(Request(tasks=("read",)), AGENT)
    assert listening.span("retrieval").parent is None


@pytest.mark.parametrize("asked", ["crm.pay", "crm.no_such_tool", "secret.name_of_mine"])
async def test_a_refused_call_is_under_a_fixed_word_whatever_was_asked_for(listening, asked):
    made, _ = await started()
    await made.gatekeeper.call(ProposedCall(tool=asked, arguments={}), AGENT, all_listed=True)
    span = listening.span(f"execute_tool {NOT_NAMED}")
    assert (span.attributes[Key.TOOL], span.attributes[Key.ERROR]) == (NOT_NAMED, "unknown_or_denied")
    assert asked not in str([(one.name, dict(one.attributes)) for one in listening.spans] + listening.measured)


async def test_a_tool_that_reports_an_error_fails_both_spans(listening):
    made, crm = await started()
    crm.answers("get_order", {"content": [], "isError": True})
    await made.gatekeeper.call(get_order(), AGENT, all_listed=True)
    for name in ("execute_tool crm.get_order", "tools/call get_order"):
        assert listening.span(name).attributes[Key.ERROR] == "tool_error"
        assert not listening.span(name).status.is_ok


async def test_an_outcome_on_record_is_no_failure(listening):
    made, _ = await started()
    for _ in range(2):
        await made.gatekeeper.call(get_order(key="k"), AGENT, all_listed=True)
    calls = [span for span in listening.spans if span.name == "execute_tool crm.get_order"]
    assert [(span.attributes[Key.VERDICT], Key.ERROR in span.attributes) for span in calls] == [("allowed", False)] * 2


async def test_an_error_is_told_by_its_kind_and_not_by_its_words(listening):
    made, crm = await started()
    crm.fails("call", OutcomeUnknownError("crm", "words that name crm.pay"))
    await made.gatekeeper.call(get_order(), AGENT, all_listed=True)
    sent = listening.span("tools/call get_order")
    assert (sent.attributes[Key.ERROR], sent.events, sent.status.description) == ("outcome-unknown", (), None)


async def test_what_could_not_be_kept_is_measured(listening):
    made, _ = await started()
    made.writer._batches._drop(3)
    assert (Measure.DROPPED, {Key.STREAM: "traces"}) in listening.measured


def test_a_failing_span_says_so_and_lets_the_error_pass(listening):
    with pytest.raises(StoreError), listening.telemetry.span(Operation.SELECT, None, {}):
        raise StoreError("crm.pay is damaged")
    (span,) = listening.spans
    assert (span.attributes[Key.ERROR], span.events) == ("store", ())


def test_without_anyone_listening_nothing_is_made():
    with QUIET.span(Operation.SELECT, None, {}) as span:
        span.about("x")
        span.note({Key.TOOL: "x"})
        span.fail("x")
    QUIET.measure(Measure.DROPPED, 1, {})
    assert QUIET.carrier() == {}


@pytest.mark.parametrize(
    ("carrier", "passed"),
    [
        ({"traceparent": PARENT}, {"traceparent": PARENT}),
        ({"traceparent": PARENT, "tracestate": "a=b", "baggage": "c=d"}, {"traceparent": PARENT, "tracestate": "a=b"}),
        ({"tracestate": "a=b"}, {}),
        ({"traceparent": f"ff{PARENT[2:]}"}, {}),
        ({"traceparent": "00-00000000000000000000000000000000-b7ad6b7169203331-01"}, {}),
        ({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}, {}),
        ({"traceparent": f"{PARENT}\n"}, {}),
    ],
)
async def test_without_anyone_listening_a_trace_context_is_passed_on_as_it_came(monkeypatch, carrier, passed):
    monkeypatch.setattr(wiring, "_telemetry", lambda: QUIET)
    made, crm = await started()
    with made.telemetry.within(carrier):
        await made.gatekeeper.call(get_order(), AGENT, all_listed=True)
    await made.gatekeeper.call(get_order(), AGENT, all_listed=True)
    assert crm.metas == [passed, {}]
