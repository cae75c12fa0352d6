"""People: who works here, their shifts and leave, and what they earn. Serves five tools a page.

Run it with `python -m pegboard.demo.servers.people`.
"""

from pegboard.demo.servers.company import SITES, TODAY, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, date, flag, listing, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

DIALECT: Schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
TEAMS = ("leadership", "support", "finance", "warehouse", "engineering")

PERSON_ID = text("Person id, for example P-13.", pattern="^P-[0-9]+$")
TEAM = choice("Team.", *TEAMS)

PERSON: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "email": {"type": "string", "format": "email"},
        "team": {"enum": list(TEAMS)},
        "role": {"type": "string"},
        "manager_id": {"type": ["string", "null"]},
    },
    "required": ["id", "name", "team", "role"],
}


def _public(person: Row) -> Row:
    # What everyone here may know of a colleague: no pay.
    return {name: person[name] for name in ("id", "name", "email", "team", "role", "manager_id", "status")}


def _find(company: Company, asked: Row) -> Row:
    word = asked["name"].casefold()
    found = [_public(row) for row in company.people.values() if word in row["name"].casefold()]
    found = among(found, asked, "team")
    return {"people": found, "count": len(found)}


def _team(company: Company, asked: Row) -> Row:
    found = [_public(row) for row in among(company.people.values(), asked, "team")]
    return {"people": found, "count": len(found)}


def _shifts(company: Company, asked: Row) -> Row:
    last = asked.get("last_day", asked["first_day"])
    found = [row for row in company.shifts.values() if asked["first_day"] <= row["date"] <= last]
    if asked.get("unfilled"):
        found = [row for row in found if row["person_id"] is None]
    return {"shifts": among(found, asked, "site", "person_id")}


def _assign(company: Company, asked: Row) -> str:
    shift, person = pick(company.shifts, asked["shift_id"], "shift"), pick(company.people, asked["person_id"], "person")
    shift["person_id"] = person["id"]
    return f"{person['name']} works the {shift['slot']} shift on {shift['date']} in {shift['site']}."


def _request_leave(company: Company, asked: Row) -> Row:
    if asked["last_day"] < asked["first_day"]:
        raise RefusedError("last_day is before first_day.")
    pick(company.people, asked["person_id"], "person")
    return add(company.leave, **asked, state="requested")


def _approve_leave(company: Company, asked: Row) -> str:
    leave = pick(company.leave, asked["leave_id"], "leave request")
    if leave["state"] != "requested":
        raise RefusedError(f"Leave {leave['id']} is already {leave['state']}.")
    leave["state"] = "approved" if asked.get("approve", True) else "declined"
    return f"Leave {leave['id']} is {leave['state']}."


def _salary(company: Company, asked: Row) -> Row:
    person = pick(company.people, asked["person_id"], "person")
    return {"person_id": person["id"], "monthly_cents": person["salary_cents"], "currency": "EUR"}


def _set_salary(company: Company, asked: Row) -> str:
    person = pick(company.people, asked["person_id"], "person")
    person["salary_cents"] = asked["monthly_cents"]
    return f"{person['name']} earns {asked['monthly_cents']} cents a month from {asked['from_day']}."


def _payroll(company: Company, asked: Row) -> Row:
    paid = among(company.people.values(), asked, "team")
    rows = [{"person_id": row["id"], "name": row["name"], "gross_cents": row["salary_cents"]} for row in paid]
    return {"month": asked["month"], "rows": rows, "total_cents": sum(row["gross_cents"] for row in rows)}


def _offboard(company: Company, asked: Row) -> str:
    person = pick(company.people, asked["person_id"], "person")
    person["status"] = "left"
    for shift in company.shifts.values():
        if shift["person_id"] == person["id"] and shift["date"] > asked.get("last_day", TODAY):
            shift["person_id"] = None
    return f"{person['name']} leaves on {asked.get('last_day', TODAY)}; accounts close that evening."


TOOLS = (
    DemoTool(
        name="find_person", title="Find a person", effect="read", annotations=READS, run=_find,
        description="Find colleagues by name.",
        takes=record(needs={"name": text("Part of the name.", minLength=2)}, may={"team": TEAM}, **DIALECT),
        gives=listing("people", "Person", PERSON),
    ),
    DemoTool(
        name="get_person", title="Get a person", effect="read", annotations=READS,
        run=lambda company, asked: _public(pick(company.people, asked["person_id"], "person")),
        description="Get a colleague's role, team, manager and email.",
        takes=record(needs={"person_id": PERSON_ID}, **DIALECT), gives=PERSON,
    ),
    DemoTool(
        name="list_team", title="List a team", effect="read", annotations=READS, run=_team,
        description="List everyone in a team.",
        takes=record(needs={"team": TEAM}, **DIALECT), gives=listing("people", "Person", PERSON),
    ),
    DemoTool(
        name="list_shifts", title="List shifts", effect="read", annotations=READS, run=_shifts,
        description="List warehouse shifts of a day or a range of days, and who works them.",
        takes=record(
            needs={"first_day": date("First day.")},
            may={
                "last_day": date("Last day; the first day if left out."),
                "site": choice("Only shifts at this site.", *SITES),
                "person_id": PERSON_ID,
                "unfilled": flag("Only shifts that nobody works yet."),
            },
            **DIALECT,
        ),
    ),
    DemoTool(
        name="assign_shift", title="Assign a shift", effect="write", annotations=SETS, run=_assign,
        description="Put a person on a shift, replacing whoever was on it. Use list_shifts to find a free one.",
        takes=record(
            needs={"shift_id": text("Shift id, for example S-802.", pattern="^S-[0-9]+$"), "person_id": PERSON_ID},
            **DIALECT,
        ),
    ),
    DemoTool(
        name="request_leave", title="Request leave", effect="write", annotations=WRITES, run=_request_leave,
        description="Ask for leave. A manager decides on it with approve_leave.",
        takes=record(
            needs={
                "person_id": PERSON_ID,
                "kind": choice("Kind of leave.", "holiday", "parental", "unpaid", "training"),
                "first_day": date("First day of leave."),
                "last_day": date("Last day of leave."),
            },
            **DIALECT,
        ),
    ),
    DemoTool(
        name="approve_leave", title="Decide on leave", effect="write", annotations=WRITES, run=_approve_leave,
        description="Approve or decline a request for leave.",
        takes=record(
            needs={"leave_id": text("Leave id, for example L-201.", pattern="^L-[0-9]+$")},
            may={"approve": flag("False to decline.", default=True)},
            **DIALECT,
        ),
    ),
    DemoTool(
        name="get_salary", title="Get a salary", effect="read", annotations=READS, run=_salary,
        description="Get what a person earns a month.",
        takes=record(needs={"person_id": PERSON_ID}, **DIALECT),
    ),
    DemoTool(
        name="update_salary", title="Change a salary", effect="write", annotations=SETS, run=_set_salary,
        description="Set what a person earns a month.",
        takes=record(
            needs={
                "person_id": PERSON_ID,
                "monthly_cents": whole("Gross a month, in euro cents.", 100_000, 2_000_000),
                "from_day": date("First day it applies."),
            },
            **DIALECT,
        ),
    ),
    DemoTool(
        name="list_payroll", title="List the payroll", effect="read", annotations=READS, run=_payroll,
        description="List what everyone is paid in a month.",
        takes=record(
            needs={"month": text("Month, for example 2026-11.", pattern="^[0-9]{4}-(0[1-9]|1[0-2])$")},
            may={"team": TEAM},
            **DIALECT,
        ),
    ),
    DemoTool(
        name="offboard_person", title="Offboard a person", effect="destructive", annotations=DESTROYS, run=_offboard,
        description="End a person's employment: close accounts and take them off future shifts.",
        takes=record(
            needs={"person_id": PERSON_ID}, may={"last_day": date("Last working day; today if left out.")}, **DIALECT
        ),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="people", title="Brackenfold people", version="1.4.0", tools=TOOLS, page_size=5,
        instructions="Staff records. Salaries are gross, in euro cents a month.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
