"""Perturbations: the same tasks made harder by rule, and tasks about what their caller lost or never had. Pure.

Noise changes how a task is said and no label of it. The others change who asks: where a step can no longer be
satisfied, no tool is right any more and the tools that were are forbidden.

Source: DESIGN section 11; Ribeiro et al., "Beyond accuracy: behavioral testing of NLP models", ACL 2020.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pegboard.core.context import RuntimeContext
from pegboard.evaluation.fixtures import Category, Fixture

__all__ = ["NOISE", "Visible", "asked_for_hidden", "of_another", "paraphrased", "taken_away", "with_typos"]

Visible = Callable[[RuntimeContext], Collection[str]]
"""Says which tools a caller may use."""

_WORD = re.compile(r"[^\W\d_]{5,}")
# What people say for the verbs that tools are named by; whole words, the first row that matches a word.
_OTHER_WORDS: Mapping[str, str] = {
    "add": "put in",
    "book": "reserve",
    "cancel": "call off",
    "change": "alter",
    "create": "make",
    "delete": "get rid of",
    "find": "look up",
    "get": "fetch",
    "give": "hand",
    "list": "show me all",
    "look": "see",
    "make": "set up",
    "move": "shift",
    "open": "start",
    "order": "purchase",
    "pay": "settle",
    "read": "have a look at",
    "refund": "pay back",
    "remove": "take out",
    "rotate": "renew",
    "search": "look for",
    "send": "pass on",
    "show": "let me see",
    "stop": "halt",
    "tell": "let know",
    "update": "bring up to date",
    "write": "put down",
}


def with_typos(task: str) -> str:
    """Swap two letters in the middle of each word of five letters and more, as fast fingers do."""
    return _WORD.sub(lambda found: _swapped(found[0]), task)


def paraphrased(task: str) -> str:
    """Say its verbs in other words, and ask politely; a task without such a verb is only asked politely."""
    said = re.sub(r"[^\W\d_]+", lambda found: _OTHER_WORDS.get(found[0].lower(), found[0]), task)
    return f"Hi, would you mind helping me with this: {said}"


# How a task may be said otherwise, its labels unchanged.
NOISE: Mapping[str, Callable[[str], str]] = {"typos": with_typos, "paraphrase": paraphrased}


def taken_away(task: Fixture, context: RuntimeContext, visible: Visible) -> Fixture | None:
    """Return the task asked by a caller who lost the first scope, server or flag without which it cannot be done.

    None where there is none: then nothing that the caller holds decides over it.
    """
    for kind, category in _RIGHTS.items():
        for right in sorted(getattr(context, kind)):
            fewer = replace(context, **{kind: getattr(context, kind) - {right}})
            if (found := _relabelled(task, fewer, visible)) is not None:
                return replace(found, task_id=f"{task.task_id}~without-{right}", category=category)
    return None


def of_another(task: Fixture, other: RuntimeContext, visible: Visible) -> Fixture | None:
    """Return the task as another caller asks it: what they may not use is forbidden, and never right.

    None where the task forbids what they may use: whether it is right for them, nobody has labelled.
    """
    if not task.forbidden.isdisjoint(visible(other)):
        return None
    found = _relabelled(task, other, visible) or replace(task, principal=other, profile=None, stage=other.stage)
    return replace(found, task_id=f"{task.task_id}~as-{other.principal}")


def asked_for_hidden(
    tools: Iterable[tuple[str, str]], context: RuntimeContext, visible: Visible, at_most: int
) -> Iterator[Fixture]:
    """Yield tasks that ask for what *context* may not use, in the words of each hidden tool's own description.

    Args:
        tools: Id and description of every tool, in an order that stays.
        context: Who asks.
        visible: What they may use.
        at_most: So many tasks.
    """
    seen = frozenset(visible(context))
    hidden = ((tool, _first_sentence(text)) for tool, text in tools if tool not in seen and text.strip())
    for number, (tool, text) in enumerate(hidden):
        if number == at_most:
            return
        yield Fixture(
            task_id=f"{context.principal}~hidden-{number + 1}",
            task=text,
            forbidden=frozenset({tool}),
            category=Category.FORBIDDEN_CAPABILITY,
            principal=context,
            stage=context.stage,
        )


# What may be taken away from a caller, and what a task about it is there to show.
_RIGHTS: Mapping[str, Category] = {
    "scopes": Category.PERMISSION_CHANGE,
    "servers": Category.DISABLED_INTEGRATION,
    "flags": Category.PERMISSION_CHANGE,
}


def _relabelled(task: Fixture, context: RuntimeContext, visible: Visible) -> Fixture | None:
    """Return the task with no right tool, where some step has none that *context* may use; else None."""
    seen = frozenset(visible(context))
    if not task.answerable or all(not step.isdisjoint(seen) for step in task.steps):
        return None
    return replace(
        task,
        steps=(),
        forbidden=task.forbidden | (task.accepted - seen),
        outcome=None,
        arguments=None,
        completed=None,
        category=Category.FORBIDDEN_CAPABILITY,
        principal=context,
        profile=None,
        stage=context.stage,
    )


def _swapped(word: str) -> str:
    middle = len(word) // 2
    return f"{word[: middle - 1]}{word[middle]}{word[middle - 1]}{word[middle + 1 :]}"


def _first_sentence(text: str) -> str:
    sentence: Sequence[str] = re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)
    return sentence[0].rstrip(".")
