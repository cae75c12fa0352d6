"""Warnings: what a configuration says that cannot mean what its author thinks. Policy fails closed on each of them.

A row is a question about the whole configuration; a new question is a new row.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from pegboard.config.parsers import At, nearest
from pegboard.config.values import Config, Notice
from pegboard.core.policy import DIMENSION_OF

__all__ = ["warnings_of"]

# Which words of a caller each field of an access template asks for.
_WORDS = {"scopes": "required_scopes", "roles": "required_roles", "flags": "required_flags"}


def warnings_of(config: Config) -> tuple[Notice, ...]:
    """Return every warning, in the order of the rows below."""
    return tuple(notice for question in _QUESTIONS for notice in question(config))


def _silent_templates(config: Config) -> Iterator[Notice]:
    for name, template in config.access.items():
        for field, dimension in DIMENSION_OF.items():
            stated = getattr(template, field) is not None
            if dimension in config.used and not stated:
                yield _notice(config, ("access", name), f"{field} is not stated, so it lets nobody in")
            if stated and dimension not in config.used:
                yield _notice(
                    config, ("access", name), f"{field} is not asked: {str(dimension)!r} is not in dimensions.used"
                )


def _unknown_templates(config: Config) -> Iterator[Notice]:
    for name, server in config.servers.items():
        for rule in server.propose:
            access = rule.proposal.access
            if access is not None and access not in config.access:
                problem = (
                    f"proposes the access template {access!r}, which does not exist; {nearest(access, config.access)}"
                )
                yield _notice(config, ("servers", name, "propose"), problem)


def _shared_namespaces(config: Config) -> Iterator[Notice]:
    used = Counter(server.namespace for server in config.servers.values())
    for name, server in config.servers.items():
        if used[server.namespace] > 1:
            problem = f"shares the namespace {server.namespace!r} with another server; equal tool names will collide"
            yield _notice(config, ("servers", name), problem)


def _unknown_servers(config: Config) -> Iterator[Notice]:
    for name, profile in config.profiles.items():
        for server in sorted(profile.servers - config.servers.keys()):
            problem = f"approves the server {server!r}, which is not configured; {nearest(server, config.servers)}"
            yield _notice(config, ("profiles", name, "servers"), problem)


def _unapproved_namespaces(config: Config) -> Iterator[Notice]:
    approved = {path for path, note in config.namespaces.items() if note.approved}
    for name, profile in config.profiles.items():
        for path in sorted(profile.approved_namespaces - approved):
            problem = f"approves the namespace {path!r}, which [namespaces] does not"
            yield _notice(config, ("profiles", name, "approved_namespaces"), problem)


def _unasked_words(config: Config) -> Iterator[Notice]:
    for field, asked in _WORDS.items():
        known = frozenset(word for template in config.access.values() for word in getattr(template, asked) or ())
        for name, profile in config.profiles.items():
            for word in sorted(getattr(profile, field) - known):
                # A Cedar policy may ask for it as well, in whatever way.
                if known and not any(f'"{word}"' in text for text in config.policies.values()):
                    problem = f"has {word!r}, which no access template asks for; {nearest(word, known)}"
                    yield _notice(config, ("profiles", name, field), problem)


_QUESTIONS: tuple[Callable[[Config], Iterator[Notice]], ...] = (
    _silent_templates,
    _unknown_templates,
    _shared_namespaces,
    _unknown_servers,
    _unapproved_namespaces,
    _unasked_words,
)


def _notice(config: Config, path: tuple[str, ...], problem: str) -> Notice:
    at = At(str(config.file))
    for key in path:
        at = at.key(key)
    return Notice(where=str(at), problem=problem)
