"""Proposal flow: which labels of data flow a tool could get, by its words, its parameters and its hints.

Not clearly public is private, and what runs whatever it is given touches everything. An address that a caller may
choose both brings in what outsiders wrote and carries out what is put into it.

Source: DESIGN section 8, step 5; measured by bench/flow.py.
"""

from pegboard.core.catalog import CatalogEntry, Flow, Reach, Risk
from pegboard.engine.proposal_parameters import parameters
from pegboard.engine.proposal_words import RISKS, words_of

__all__ = ["suggested_flow"]

# Words of things that outsiders write into, in the name of what reads them or of its namespace.
_WRITTEN_BY_OTHERS = frozenset(
    {"email", "emails", "mail", "mails", "inbox", "gmail", "message", "messages", "thread", "threads", "chat", "sms"}
    | {"channel", "channels", "conversation", "conversations", "slack", "notification", "notifications", "news", "feed"}
    | {"web", "webpage", "website", "site", "page", "pages", "browser", "internet", "rss", "scrape", "crawl", "blog"}
    | {"article", "articles", "post", "posts", "tweet", "tweets", "comment", "comments", "review", "reviews", "wiki"}
    | {
        "feedback",
        "issue",
        "issues",
        "ticket",
        "tickets",
        "pull",
        "merge",
        "discussion",
        "discussions",
        "note",
        "notes",
    }
    | {"file", "files", "document", "documents", "doc", "docs", "pdf", "attachment", "attachments", "drive", "content"}
    | {"transcript", "transcripts", "event", "events", "calendar", "invitation", "transaction", "transactions"}
    | {"form", "forms", "survey", "response", "responses", "submission", "snapshot", "screenshot", "resource", "logs"}
)
# Words of acts by which something leaves, in the name of what changes something.
_LEAVES = frozenset(
    {"send", "email", "mail", "message", "post", "publish", "share", "forward", "reply", "respond", "notify", "invite"}
    | {"submit", "upload", "tweet", "comment", "pay", "transfer", "sms", "webhook", "announce", "export", "push"}
    | {"broadcast", "call", "fax", "sync", "feedback", "transaction", "money", "payment"}
)
# Deleting a message sends none.
_TAKES_AWAY = frozenset(RISKS[1][0].split())
# A read is of private data unless it is of these things, and its name of none of the next.
_PUBLIC = frozenset(
    {"web", "webpage", "website", "internet", "news", "weather", "forecast", "time", "timezone", "day", "date"}
    | {"hotel", "hotels", "restaurant", "restaurants", "car", "rental", "flight", "flights", "airport", "airports"}
    | {"place", "places", "maps", "geocode", "directions", "elevation", "arxiv", "paper", "papers", "wikipedia"}
    | {"documentation", "docs", "library", "currency", "stock", "stocks", "pricing", "price", "prices", "city"}
    | {"product", "products", "guidance", "languages", "models"}
)
_PRIVATE = frozenset(
    {"user", "users", "my", "customer", "customers", "account", "accounts", "email", "emails", "mail", "inbox"}
    | {"message", "messages", "contact", "contacts", "file", "files", "drive", "calendar", "event", "events", "order"}
    | {"orders", "payment", "payments", "invoice", "invoices", "transaction", "transactions", "balance", "iban"}
    | {"bill", "bills", "secret", "secrets", "credential", "credentials", "profile", "history", "reservation"}
    | {"reservations", "booking", "bookings", "channel", "channels", "private", "personal"}
)


def suggested_flow(entry: CatalogEntry, risk: Risk, reach: Reach) -> frozenset[Flow]:
    """Suggest labels for a tool that is proposed with this risk and reach; a hint can only add one."""
    if reach is Reach.OPEN:
        return frozenset(Flow)
    kinds = parameters(entry.input_schema).kinds
    name = set(words_of(entry.name))
    if risk is not Risk.READ:
        by_name = not _LEAVES.isdisjoint(name) and _TAKES_AWAY.isdisjoint(name)
        leaves = by_name or not kinds.isdisjoint({"recipient", "link"})
        return frozenset({Flow.SENDS_OUT}) if leaves else frozenset()
    about = name | set(words_of(entry.namespace))
    open_world = entry.annotations.get("openWorldHint") is True
    judged = (
        (Flow.READS_PRIVATE, _PUBLIC.isdisjoint(about) or not _PRIVATE.isdisjoint(name)),
        (Flow.INGESTS_UNTRUSTED, not _WRITTEN_BY_OTHERS.isdisjoint(about) or open_world or "link" in kinds),
        (Flow.SENDS_OUT, "link" in kinds),
    )
    return frozenset(label for label, holds in judged if holds)
