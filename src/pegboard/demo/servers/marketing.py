"""Marketing: campaigns, discount codes and the newsletter.

Run it with `python -m pegboard.demo.servers.marketing`.
"""

from pegboard.demo.servers.filing import adds, lists, mails, moves, reads
from pegboard.demo.servers.schemas import choice, date, email, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

CAMPAIGN_ID = text("Campaign id, for example CMP-52.", pattern="^CMP-[0-9]+$")
AUDIENCE = choice("Which customers it is for.", "all", "gold", "trade")
CHANNEL = choice("Where it runs.", "newsletter", "shop_banner")
STATE = choice("How far it is.", "draft", "scheduled", "running", "paused", "ended")

TOOLS = (
    DemoTool(
        name="list_campaigns", title="List campaigns", effect="read", annotations=READS,
        description="List campaigns by state, channel or audience.",
        run=lists("campaigns", "state", "channel", "audience"),
        takes=record(may={"state": STATE, "channel": CHANNEL, "audience": AUDIENCE}),
    ),
    DemoTool(
        name="get_campaign", title="Get a campaign", effect="read", annotations=READS,
        description="Read one campaign: title, channel, audience and dates.",
        run=reads("campaigns", "campaign_id", "campaign"),
        takes=record(needs={"campaign_id": CAMPAIGN_ID}),
    ),
    DemoTool(
        name="create_campaign", title="Create a campaign", effect="write", annotations=WRITES,
        description="Draft a campaign. Nothing is sent before it is scheduled.", run=adds("campaigns", state="draft"),
        takes=record(needs={
            "title": text("What customers read first."), "channel": CHANNEL, "audience": AUDIENCE,
            "starts_on": date("First day."),
        }),
    ),
    DemoTool(
        name="schedule_campaign", title="Schedule a campaign", effect="write", annotations=SETS,
        description="Set the day on which a drafted or paused campaign starts by itself.",
        run=moves("campaigns", "campaign_id", "campaign", "draft", "paused", to="scheduled"),
        takes=record(needs={"campaign_id": CAMPAIGN_ID, "starts_on": date("First day.")}),
    ),
    DemoTool(
        name="pause_campaign", title="Pause a campaign", effect="write", annotations=SETS,
        description="Take a running or scheduled campaign off until it is scheduled again.",
        run=moves("campaigns", "campaign_id", "campaign", "running", "scheduled", to="paused"),
        takes=record(needs={"campaign_id": CAMPAIGN_ID}),
    ),
    DemoTool(
        name="send_newsletter", title="Send a newsletter", effect="write", annotations=SENDS,
        description="Mail the text of a campaign to everyone on the newsletter list.",
        run=mails("campaigns", "campaign_id", "campaign", "newsletter"),
        takes=record(needs={"campaign_id": CAMPAIGN_ID, "message": text("The newsletter's text.")}),
    ),
    DemoTool(
        name="list_discount_codes", title="List discount codes", effect="read", annotations=READS,
        description="List discount codes with their percentage, by state or campaign.",
        run=lists("codes", "state", "campaign_id"),
        takes=record(may={
            "state": choice("Whether customers can use it.", "active", "retired"), "campaign_id": CAMPAIGN_ID,
        }),
    ),
    DemoTool(
        name="create_discount_code", title="Create a discount code", effect="write", annotations=WRITES,
        description="Make a word that takes some percent off at the checkout.", run=adds("codes", state="active"),
        takes=record(needs={
            "word": text("What customers type.", pattern="^[A-Z0-9]{4,16}$"),
            "percent": whole("How much is taken off.", 1, 50), "campaign_id": CAMPAIGN_ID,
        }),
    ),
    DemoTool(
        name="retire_discount_code", title="Retire a discount code", effect="destructive", annotations=DESTROYS,
        description="End a discount code for good; its word cannot be used again.",
        run=moves("codes", "code_id", "code", "active", to="retired"),
        takes=record(needs={"code_id": text("Code id, for example DC-61.", pattern="^DC-[0-9]+$")}),
    ),
    DemoTool(
        name="list_subscribers", title="List newsletter subscribers", effect="read", annotations=READS,
        description="List who gets the newsletter, and since when.", run=lists("subscribers", "state", "email"),
        takes=record(may={
            "state": choice("Whether they still get it.", "subscribed", "left"), "email": email("Their address."),
        }),
    ),
    DemoTool(
        name="unsubscribe_customer", title="Unsubscribe a customer", effect="write", annotations=SETS,
        description="Take a customer off the newsletter list.",
        run=moves("subscribers", "subscriber_id", "subscriber", "subscribed", to="left"),
        takes=record(
            needs={"subscriber_id": text("Subscriber id, for example NL-71.", pattern="^NL-[0-9]+$")},
            may={"reason": text("What they said.")},
        ),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="marketing", title="Brackenfold marketing", version="1.2.0", tools=TOOLS,
        instructions="Campaigns, discount codes and the newsletter.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
