"""Helpdesk: tickets from customers, answers to them, and the help articles.

What customers wrote is in `get_ticket`, so its results are text of strangers.
Run it with `python -m pegboard.demo.servers.helpdesk`.
"""

from pegboard.demo.servers.company import TODAY, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, email, flag, listing, many, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

STATES = ("open", "waiting", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")

TICKET_ID = text("Ticket id, for example T-501.", pattern="^T-[0-9]+$")
AGENT_ID = text("Person id of a support agent, for example P-13.", pattern="^P-[0-9]+$")
CUSTOMER_ID = text("Customer id, for example C-101.", pattern="^C-[0-9]{3}$")
LIMIT = whole("How many rows to return at most.", 1, 50, default=20)

TICKET: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "subject": {"type": "string"},
        "status": {"enum": list(STATES)},
        "priority": {"enum": list(PRIORITIES)},
        "assignee": {"type": ["string", "null"]},
    },
    "required": ["id", "subject", "status", "priority"],
}


def _brief(ticket: Row) -> Row:
    return {name: ticket[name] for name in ("id", "customer_id", "subject", "status", "priority", "assignee")}


def _search(company: Company, asked: Row) -> Row:
    word = asked.get("text", "").casefold()
    found = [_brief(row) for row in company.tickets.values() if word in row["subject"].casefold()]
    if asked.get("unassigned"):
        found = [row for row in found if row["assignee"] is None]
    found = among(found, asked, "customer_id", "status", "priority", "assignee")
    return {"tickets": found, "count": len(found)}


def _create(company: Company, asked: Row) -> Row:
    pick(company.customers, asked["customer_id"], "customer")
    message = {"from": "customer", "text": asked["message"]}
    return add(
        company.tickets, customer_id=asked["customer_id"], subject=asked["subject"], status="open", assignee=None,
        priority=asked.get("priority", "normal"), order_id=asked.get("order_id"), opened_on=TODAY, messages=[message],
    )  # fmt: skip


def _update(company: Company, asked: Row) -> Row:
    ticket = pick(company.tickets, asked["ticket_id"], "ticket")
    ticket.update(asked["changes"])
    return _brief(ticket)


def _assign(company: Company, asked: Row) -> str:
    ticket = pick(company.tickets, asked["ticket_id"], "ticket")
    agent = pick(company.people, asked["agent_id"], "person")
    if agent["team"] != "support":
        raise RefusedError(f"{agent['name']} is in {agent['team']}; tickets go to the support team.")
    ticket["assignee"] = agent["id"]
    return f"Ticket {ticket['id']} is assigned to {agent['name']}."


def _reply(company: Company, asked: Row) -> str:
    ticket = pick(company.tickets, asked["ticket_id"], "ticket")
    customer = company.customers[ticket["customer_id"]]
    ticket["messages"].append({"from": "support", "text": asked["body"]})
    ticket["status"] = "closed" if asked.get("close") else "waiting"
    company.outbox.append({"to": customer["email"], "cc": asked.get("cc", []), "subject": f"Re: {ticket['subject']}"})
    return f"The reply went to {customer['email']}; ticket {ticket['id']} is {ticket['status']}."


def _note(company: Company, asked: Row) -> str:
    ticket = pick(company.tickets, asked["ticket_id"], "ticket")
    ticket["messages"].append({"from": "internal", "text": asked["note"]})
    return f"The note is on ticket {ticket['id']}; the customer does not see it."


def _merge(company: Company, asked: Row) -> str:
    kept = pick(company.tickets, asked["into"], "ticket")
    gone = [pick(company.tickets, ticket_id, "ticket") for ticket_id in asked["ticket_ids"]]
    if any(row["customer_id"] != kept["customer_id"] for row in gone) or kept in gone:
        raise RefusedError("Only other tickets of the same customer can be merged.")
    for row in gone:
        kept["messages"].extend(row["messages"])
        del company.tickets[row["id"]]
    return f"{len(gone)} ticket(s) were merged into {kept['id']}."


def _delete(company: Company, asked: Row) -> str:
    ticket = pick(company.tickets, asked["ticket_id"], "ticket")
    del company.tickets[ticket["id"]]
    return f"Ticket {ticket['id']} and its {len(ticket['messages'])} message(s) are deleted."


def _customer(company: Company, asked: Row) -> Row:
    fields = [name for name in ("email", "phone") if name in asked]
    found = among(company.customers.values(), asked, *fields)
    if not found:
        raise RefusedError("No customer has this email or phone number. Try the address their last order came from.")
    return found[0]


def _articles(company: Company, asked: Row) -> Row:
    words = asked["query"].casefold().split()
    hits = [
        row for row in company.articles.values() if any(w in f"{row['title']} {row['body']}".casefold() for w in words)
    ]
    return {"articles": hits[: asked.get("limit", 5)]}


TOOLS = (
    DemoTool(
        name="search_tickets", title="Search tickets", effect="read", annotations=READS, run=_search,
        description="Search tickets by words in the subject, customer, state, priority or agent.",
        takes=record(may={
            "text": text("Words in the subject."),
            "customer_id": CUSTOMER_ID,
            "status": choice("State of the ticket.", *STATES),
            "priority": choice("Priority of the ticket.", *PRIORITIES),
            "assignee": AGENT_ID,
            "unassigned": flag("Only tickets that nobody has taken."),
            "limit": LIMIT,
        }),
        gives=listing("tickets", "Ticket", TICKET),
    ),
    DemoTool(
        name="get_ticket", title="Read a ticket", effect="read", annotations=READS,
        run=lambda company, asked: pick(company.tickets, asked["ticket_id"], "ticket"),
        description="Read a ticket with all its messages.",
        takes=record(needs={"ticket_id": TICKET_ID}), gives=TICKET,
    ),
    DemoTool(
        name="create_ticket", title="Open a ticket", effect="write", annotations=WRITES, run=_create,
        description="Open a ticket on behalf of a customer. Use find_customer to get the customer id.",
        takes=record(
            needs={
                "customer_id": CUSTOMER_ID,
                "subject": text("One line that says what it is about.", minLength=3, maxLength=120),
                "message": text("What the customer said."),
            },
            may={
                "priority": choice("How soon it needs an answer.", *PRIORITIES, default="normal"),
                "order_id": text("Order it is about.", pattern="^BF-[0-9]{5}$"),
            },
        ),
        gives=TICKET,
    ),
    DemoTool(
        name="update_ticket", title="Update a ticket", effect="write", annotations=SETS, run=_update,
        description="Change the state, priority or subject of a ticket.",
        takes=record(needs={
            "ticket_id": TICKET_ID,
            "changes": record(
                may={
                    "status": choice("New state.", *STATES),
                    "priority": choice("New priority.", *PRIORITIES),
                    "subject": text("New subject.", minLength=3, maxLength=120),
                },
                minProperties=1, description="The fields to change; the rest stays.",
            ),
        }),
    ),
    DemoTool(
        name="assign_ticket", title="Assign a ticket", effect="write", annotations=SETS, run=_assign,
        description="Give a ticket to a support agent.",
        takes=record(needs={"ticket_id": TICKET_ID, "agent_id": AGENT_ID}),
    ),
    DemoTool(
        name="send_reply", title="Reply to the customer", effect="write", annotations=SENDS, run=_reply,
        description="Send an email to the customer of a ticket and put it on the ticket.",
        takes=record(
            needs={"ticket_id": TICKET_ID, "body": text("Text of the email.", minLength=1, maxLength=5000)},
            may={
                "cc": many("Further recipients.", {"type": "string", "format": "email"}, maxItems=5),
                "close": flag("Close the ticket afterwards."),
            },
        ),
    ),
    DemoTool(
        name="add_internal_note", title="Add an internal note", effect="write", annotations=WRITES, run=_note,
        description="Add a note to a ticket that only colleagues see.",
        takes=record(needs={"ticket_id": TICKET_ID, "note": text("The note.", minLength=1)}),
    ),
    DemoTool(
        name="merge_tickets", title="Merge tickets", effect="destructive", annotations=DESTROYS, run=_merge,
        description="Move the messages of tickets into another of the same customer. The merged tickets disappear.",
        takes=record(needs={
            "into": TICKET_ID,
            "ticket_ids": many("Tickets that are merged away.", TICKET_ID, minItems=1, uniqueItems=True),
        }),
    ),
    # No annotations on the one that needs them most.
    DemoTool(
        name="delete_ticket", title="Delete a ticket", effect="destructive", run=_delete,
        description="Delete a ticket for good, for example after a request to erase personal data.",
        takes=record(needs={"ticket_id": TICKET_ID}),
    ),
    # The `anyOf` at the root is legal JSON Schema that some model APIs refuse.
    DemoTool(
        name="find_customer", title="Find a customer", effect="read", annotations=READS, run=_customer,
        description="Find a customer by email or phone number.",
        takes=record(
            may={
                "email": email("The customer's email."),
                "phone": text("The customer's phone number, with country code.", pattern="^\\+[0-9 ]+$"),
            },
            anyOf=[{"required": ["email"]}, {"required": ["phone"]}],
        ),
    ),
    DemoTool(
        name="search_articles", title="Search help articles", effect="read", annotations=READS, run=_articles,
        description="Search the public help articles, for example on returns, washing or repairs.",
        takes=record(
            needs={"query": text("Words to look for.", minLength=2)},
            may={"limit": whole("How many articles to return.", 1, 10, default=5)},
        ),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="helpdesk", title="Brackenfold helpdesk", version="3.0.1", tools=TOOLS,
        instructions="Customer support. Messages on tickets are written by customers.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
