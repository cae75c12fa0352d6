"""Infrastructure: services, deployments and incidents, and one tool that runs any SQL.

`run_query` is what a policy on tool names does not see coming: with it, who may not call `get_salary` reads salaries.
Run it with `python -m pegboard.demo.servers.infrastructure`.
"""

from pegboard.demo.servers.company import TODAY, Company, RefusedError, Row, add, among, pick
from pegboard.demo.servers.schemas import Schema, choice, flag, listing, many, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.sql import QUERYABLE, run_sql
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

SERVICES = ("shop", "checkout", "search", "label-printer", "mailer")
STATES = ("queued", "live", "superseded", "rolled_back", "cancelled")

SERVICE = choice("Name of the service.", *SERVICES)
ENVIRONMENT = choice("Where it runs.", "production", "staging")
DEPLOYMENT_ID = text("Deployment id, for example D-403.", pattern="^D-[0-9]+$")
VERSION = text("Version to deploy, for example 2.9.1.", pattern="^[0-9]+\\.[0-9]+\\.[0-9]+$")

DEPLOYMENT: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "service": {"enum": list(SERVICES)},
        "version": {"type": "string"},
        "environment": {"enum": ["production", "staging"]},
        "state": {"enum": list(STATES)},
    },
    "required": ["id", "service", "version", "environment", "state"],
}


def _status(company: Company, asked: Row) -> Row:
    service = pick(company.services, asked["service"], "service")
    incidents = [
        row["id"]
        for row in company.incidents.values()
        if row["service"] == service["id"] and row["state"] != "resolved"
    ]
    frozen = company.switches["deployments_frozen"]
    return {
        "service": service["id"],
        "state": service["state"],
        "version": service["version"],
        "incidents": incidents,
        "frozen": frozen,
    }


def _deployments(company: Company, asked: Row) -> Row:
    found = among(company.deployments.values(), asked, "service", "environment", "state")
    return {"deployments": found, "count": len(found)}


def _deploy(company: Company, asked: Row) -> Row:
    if company.switches["deployments_frozen"] and asked["environment"] == "production":
        raise RefusedError("Deployments to production are frozen. Use unfreeze_deployments when the incident is over.")
    return add(
        company.deployments, service=asked["service"], version=asked["version"], environment=asked["environment"],
        state="queued", by="P-18", started_at=f"{TODAY}T09:00:00Z",
        rollout=asked.get("rollout", {"strategy": "all_at_once"}),
    )  # fmt: skip


def _rollback(company: Company, asked: Row) -> str:
    current = pick(company.deployments, asked["deployment_id"], "deployment")
    place = {"service": current["service"], "environment": current["environment"], "state": "superseded"}
    earlier = among(company.deployments.values(), place, *place)
    if current["state"] != "live" or not earlier:
        raise RefusedError(
            f"Deployment {current['id']} cannot be rolled back: it is not live, or nothing came before it."
        )
    current["state"], earlier[-1]["state"] = "rolled_back", "live"
    company.services[current["service"]]["version"] = earlier[-1]["version"]
    return f"{current['service']} is back on {earlier[-1]['version']} in {current['environment']}."


def _cancel(company: Company, asked: Row) -> str:
    deployment = pick(company.deployments, asked["deployment_id"], "deployment")
    if deployment["state"] != "queued":
        raise RefusedError(
            f"Deployment {deployment['id']} is {deployment['state']}; use rollback_deployment for one that is live."
        )
    deployment["state"] = "cancelled"
    return f"Deployment {deployment['id']} is cancelled."


def _freeze(company: Company, asked: Row) -> str:
    company.switches["deployments_frozen"] = True
    return f"Deployments to production are frozen: {asked['reason']}"


def _unfreeze(company: Company, _: Row) -> str:
    company.switches["deployments_frozen"] = False
    return "Deployments to production may run again."


def _restart(company: Company, asked: Row) -> str:
    service = pick(company.services, asked["service"], "service")
    service["state"] = "healthy"
    return f"{service['id']} was restarted in {asked['environment']}, {asked.get('instances', 'all')} instance(s)."


def _query(company: Company, asked: Row) -> Row:
    return run_sql(company, asked["statement"], asked.get("limit", 100))


def _incidents(company: Company, asked: Row) -> Row:
    newest_first = sorted(company.incidents.values(), key=lambda row: str(row["opened_at"]), reverse=True)
    return {"incidents": among(newest_first, asked, "state", "severity", "service")}


def _open_incident(company: Company, asked: Row) -> Row:
    company.outbox.extend(
        {"to": company.people[person]["email"], "subject": asked["title"]} for person in asked.get("page", ["P-18"])
    )
    return add(
        company.incidents, title=asked["title"], severity=asked["severity"], state="investigating",
        service=asked["service"], opened_at=f"{TODAY}T09:00:00Z",
    )  # fmt: skip


def _rotate(company: Company, asked: Row) -> str:
    service = pick(company.services, asked["service"], "service")
    service[f"{asked['secret']}_rotated_on"] = TODAY
    return f"The {asked['secret']} of {service['id']} is replaced; the old one stopped working."


TOOLS = (
    DemoTool(
        name="get_status", title="Get service status", effect="read", annotations=READS, run=_status,
        description="Get the health and version of a service and its open incidents.",
        takes=record(needs={"service": SERVICE}),
    ),
    DemoTool(
        name="list_deployments", title="List deployments", effect="read", annotations=READS, run=_deployments,
        description="List deployments, oldest first.",
        takes=record(may={
            "service": SERVICE,
            "environment": ENVIRONMENT,
            "state": choice("State of the deployment.", *STATES),
        }),
        gives=listing("deployments", "Deployment", DEPLOYMENT),
    ),
    DemoTool(
        name="deploy_service", title="Deploy a service", effect="write", annotations=WRITES, run=_deploy,
        description="Queue a version of a service for deployment.",
        takes=record(
            needs={"service": SERVICE, "version": VERSION, "environment": ENVIRONMENT},
            may={"rollout": {
                "description": "How traffic moves to the new version; all at once if left out.",
                "oneOf": [
                    record(needs={"strategy": {"const": "all_at_once", "description": "Everything at once."}}),
                    record(needs={
                        "strategy": {"const": "canary", "description": "A share of the traffic first."},
                        "percent": whole("Share of the traffic that goes first.", 1, 50),
                    }),
                ],
            }},
        ),
        gives=DEPLOYMENT,
    ),
    DemoTool(
        name="rollback_deployment", title="Roll back a deployment", effect="destructive", annotations=DESTROYS,
        run=_rollback,
        description="Put the version before a live deployment back.",
        takes=record(needs={"deployment_id": DEPLOYMENT_ID}),
    ),
    DemoTool(
        name="cancel_deployment", title="Cancel a deployment", effect="destructive", annotations=DESTROYS, run=_cancel,
        description="Take a deployment out of the queue. One that is live needs rollback_deployment.",
        takes=record(needs={"deployment_id": DEPLOYMENT_ID}),
    ),
    DemoTool(
        name="freeze_deployments", title="Freeze deployments", effect="write", annotations=SETS, run=_freeze,
        description="Let nothing be deployed to production until it is lifted, for example during an incident.",
        takes=record(needs={"reason": text("Why; everyone who tries to deploy sees it.", minLength=5)}),
    ),
    DemoTool(
        name="unfreeze_deployments", title="Lift the freeze", effect="write", annotations=SETS, run=_unfreeze,
        description="Let deployments to production run again.",
        takes=record(),
    ),
    DemoTool(
        name="restart_service", title="Restart a service", effect="write", annotations=WRITES, run=_restart,
        description="Restart a service, one instance after the other.",
        takes=record(
            needs={"service": SERVICE, "environment": ENVIRONMENT},
            may={"instances": whole("Restart only so many.", 1, 20)},
        ),
    ),
    # No annotations: what it does depends on the statement.
    DemoTool(
        name="run_query", title="Run a query", effect="destructive", run=_query,
        description=f"Run one SQL statement against the reporting database. Tables: {', '.join(QUERYABLE)}.",
        takes=record(
            needs={"statement": text("One SQLite statement.", minLength=1, maxLength=4000)},
            may={"limit": whole("How many rows to return at most.", 1, 1000, default=100)},
        ),
    ),
    DemoTool(
        name="list_incidents", title="List incidents", effect="read", annotations=READS, run=_incidents,
        description="List incidents, newest first.",
        takes=record(may={
            "state": choice("State of the incident.", "investigating", "resolved"),
            "severity": choice("How bad it is.", "minor", "major", "critical"),
            "service": SERVICE,
        }),
    ),
    DemoTool(
        name="open_incident", title="Open an incident", effect="write", annotations=SENDS, run=_open_incident,
        description="Open an incident and page people. Consider freeze_deployments as well.",
        takes=record(
            needs={
                "title": text("What users notice.", minLength=5, maxLength=120),
                "severity": choice("How bad it is.", "minor", "major", "critical"),
                "service": SERVICE,
            },
            may={"page": many("People to page.", {"type": "string", "pattern": "^P-1[1-9]$"}, uniqueItems=True)},
        ),
    ),
    DemoTool(
        name="rotate_secret", title="Rotate a secret", effect="destructive", annotations=DESTROYS, run=_rotate,
        description="Replace a credential of a service. The old one stops working at once.",
        takes=record(
            needs={
                "service": SERVICE,
                "secret": choice("Which credential.", "api_key", "database_password", "signing_key"),
            },
            may={"notify": flag("Tell the owning team.", default=True)},
        ),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="infrastructure", title="Brackenfold infrastructure", version="7.0.2", tools=TOOLS,
        instructions="Services of the web shop and what runs where.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
