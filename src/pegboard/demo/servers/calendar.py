"""Calendar: meetings and rooms. Its schemas are written in draft-07, as those of many servers still are.

Run it with `python -m pegboard.demo.servers.calendar`.

Source: JSON Schema draft-07 (`definitions` rather than `$defs`).
"""

from pegboard.demo.servers.company import SITES, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, date, flag, many, moment, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

DRAFT_07: Schema = {"$schema": "http://json-schema.org/draft-07/schema#"}

EVENT_ID = text("Event id, for example E-702.", pattern="^E-[0-9]+$")
PERSON_ID = text("Person id, for example P-12.", pattern="^P-[0-9]+$")
ROOM_ID = text("Room id, for example room-2.", pattern="^room-[0-9]+$")
STARTS_AT = moment("When it starts, in UTC, for example 2026-12-01T10:00:00Z.")
ENDS_AT = moment("When it ends, in UTC.")

ATTENDEE: Schema = record(
    needs={"person_id": PERSON_ID},
    may={"optional": flag("The meeting can happen without this person.")},
)
# Working hours that are offered as free time; breaks are people's own business.
_HOURS = range(9, 17)


def _overlaps(event: Row, start: str, end: str) -> bool:
    # INVARIANT: all moments are UTC in one notation, so they compare as text.
    return bool(event["status"] == "confirmed" and event["starts_at"] < end and start < event["ends_at"])


def _attends(event: Row, person: str) -> bool:
    return event["organizer"] == person or any(row["person_id"] == person for row in event["attendees"])


def _events(company: Company, asked: Row) -> Row:
    first, last = asked["first_day"], asked.get("last_day", asked["first_day"])
    found = [
        row
        for row in company.events.values()
        if first <= row["starts_at"][:10] <= last
        and ("person_id" not in asked or _attends(row, asked["person_id"]))
        and ("room_id" not in asked or row["room_id"] == asked["room_id"])
    ]
    return {"events": found}


def _free(company: Company, asked: Row) -> Row:
    """List the whole hours of a day in which none of the people has an event."""
    slots = [(f"{asked['day']}T{hour:02}:00:00Z", f"{asked['day']}T{hour + 1:02}:00:00Z") for hour in _HOURS]
    theirs = [row for row in company.events.values() if any(_attends(row, person) for person in asked["person_ids"])]
    free = [start for start, end in slots if not any(_overlaps(event, start, end) for event in theirs)]
    return {"day": asked["day"], "free_from": free}


def _check_room(company: Company, room_id: str, start: str, end: str, *, besides: str = "") -> None:
    """Refuse a room that an event other than *besides* has at that time."""
    room = pick(company.rooms, room_id, "room")
    others = (row for key, row in company.events.items() if row["room_id"] == room_id and key != besides)
    taken = [row["id"] for row in others if _overlaps(row, start, end)]
    if taken:
        raise RefusedError(f"{room['name']} is taken by {taken[0]} at that time. See list_rooms for another.")


def _tell(company: Company, event: Row, what: str) -> None:
    people = [company.people[row["person_id"]] for row in event["attendees"]]
    company.outbox.extend({"to": person["email"], "subject": f"{what}: {event['title']}"} for person in people)


def _create(company: Company, asked: Row) -> Row:
    if asked["ends_at"] <= asked["starts_at"]:
        raise RefusedError("The event ends before it starts.")
    if "room_id" in asked:
        _check_room(company, asked["room_id"], asked["starts_at"], asked["ends_at"])
    invited = [pick(company.people, row["person_id"], "person") for row in asked["attendees"]]
    company.outbox.extend({"to": person["email"], "subject": f"Invitation: {asked['title']}"} for person in invited)
    return add(
        company.events, title=asked["title"], starts_at=asked["starts_at"], ends_at=asked["ends_at"],
        organizer=asked["organizer"], room_id=asked.get("room_id"), status="confirmed", repeats=asked.get("repeats"),
        attendees=[{"person_id": person["id"], "reply": "needs_action"} for person in invited],
    )  # fmt: skip


def _reschedule(company: Company, asked: Row) -> str:
    event = pick(company.events, asked["event_id"], "event")
    if asked["ends_at"] <= asked["starts_at"]:
        raise RefusedError("The event ends before it starts.")
    if event["room_id"]:
        _check_room(company, event["room_id"], asked["starts_at"], asked["ends_at"], besides=event["id"])
    event["starts_at"], event["ends_at"] = asked["starts_at"], asked["ends_at"]
    _tell(company, event, "Moved")
    return f"{event['title']} now starts at {event['starts_at']}."


def _cancel(company: Company, asked: Row) -> str:
    event = pick(company.events, asked["event_id"], "event")
    event["status"] = "cancelled"
    _tell(company, event, "Cancelled")
    return f"{event['title']} is cancelled and {len(event['attendees'])} people were told."


def _respond(company: Company, asked: Row) -> str:
    event = pick(company.events, asked["event_id"], "event")
    for row in event["attendees"]:
        if row["person_id"] == asked["person_id"]:
            row["reply"] = asked["reply"]
            return f"{asked['person_id']} replied {asked['reply']} to {event['title']}."
    raise RefusedError(f"{asked['person_id']} is not invited to {event['title']}.")


def _rooms(company: Company, asked: Row) -> Row:
    fitting = [row for row in company.rooms.values() if row["seats"] >= asked.get("seats", 1)]
    return {"rooms": among(fitting, asked, "site")}


def _book(company: Company, asked: Row) -> str:
    event = pick(company.events, asked["event_id"], "event")
    _check_room(company, asked["room_id"], event["starts_at"], event["ends_at"], besides=event["id"])
    event["room_id"] = asked["room_id"]
    return f"{event['title']} is in {company.rooms[asked['room_id']]['name']}."


TOOLS = (
    DemoTool(
        name="list_events", title="List events", effect="read", annotations=READS, run=_events,
        description="List events of one day or a range of days, for everyone, one person or one room.",
        takes=record(
            needs={"first_day": date("First day.")},
            may={"last_day": date("Last day; the first day if left out."), "person_id": PERSON_ID, "room_id": ROOM_ID},
            **DRAFT_07,
        ),
    ),
    DemoTool(
        name="get_event", title="Get an event", effect="read", annotations=READS,
        run=lambda company, asked: pick(company.events, asked["event_id"], "event"),
        description="Get one event with its attendees and their replies.",
        takes=record(needs={"event_id": EVENT_ID}, **DRAFT_07),
    ),
    DemoTool(
        name="find_free_time", title="Find free time", effect="read", annotations=READS, run=_free,
        description="Find the hours of a day in which several people are all free.",
        takes=record(
            needs={
                "day": date("The day to look at."),
                "person_ids": many("Who has to be free.", PERSON_ID, minItems=1, maxItems=12),
            },
            **DRAFT_07,
        ),
    ),
    DemoTool(
        name="create_event", title="Create an event", effect="write", annotations=SENDS, run=_create,
        description="Create an event and send invitations. Use find_free_time first when several people are involved.",
        takes=record(
            needs={
                "title": text("What the event is called.", minLength=1, maxLength=120),
                "starts_at": STARTS_AT,
                "ends_at": ENDS_AT,
                "organizer": PERSON_ID,
                "attendees": many("Who is invited.", {"$ref": "#/definitions/Attendee"}, minItems=1),
            },
            may={
                "room_id": ROOM_ID,
                "repeats": record(
                    needs={
                        "every": choice("Rhythm.", "day", "week", "month"),
                        "times": whole("How often in all.", 2, 52),
                    },
                    description="Leave out for an event that happens once.",
                ),
            },
            definitions={"Attendee": ATTENDEE}, **DRAFT_07,
        ),
    ),
    DemoTool(
        name="reschedule_event", title="Reschedule an event", effect="write", annotations=SENDS, run=_reschedule,
        description="Move an event to another time and tell its attendees.",
        takes=record(needs={"event_id": EVENT_ID, "starts_at": STARTS_AT, "ends_at": ENDS_AT}, **DRAFT_07),
    ),
    DemoTool(
        name="cancel_event", title="Cancel an event", effect="destructive", annotations=DESTROYS, run=_cancel,
        description="Cancel an event and tell everyone who was invited.",
        takes=record(
            needs={"event_id": EVENT_ID}, may={"message": text("A line for the attendees.", maxLength=300)}, **DRAFT_07
        ),
    ),
    DemoTool(
        name="respond_to_invite", title="Respond to an invitation", effect="write", annotations=WRITES, run=_respond,
        description="Accept or decline an invitation for one person.",
        takes=record(
            needs={
                "event_id": EVENT_ID,
                "person_id": PERSON_ID,
                "reply": choice("The reply.", "accepted", "declined", "tentative"),
            },
            **DRAFT_07,
        ),
    ),
    DemoTool(
        name="list_rooms", title="List rooms", effect="read", annotations=READS, run=_rooms,
        description="List meeting rooms with their seats.",
        takes=record(
            may={
                "site": choice("Only rooms at this site.", *SITES),
                "seats": whole("Smallest number of seats.", 1, 100),
            },
            **DRAFT_07,
        ),
    ),
    # Takes unknown arguments, as about half of all real tools do.
    DemoTool(
        name="book_room", effect="write", run=_book,
        description="Book a room for an event that has none, or change its room.",
        takes=record(needs={"event_id": EVENT_ID, "room_id": ROOM_ID}, additionalProperties=True, **DRAFT_07),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="calendar", title="Brackenfold calendar", version="0.14.0", tools=TOOLS,
        instructions="Meetings and rooms. All times are UTC.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
