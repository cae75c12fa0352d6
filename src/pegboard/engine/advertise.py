"""Advertised capabilities: what may be said of tools that a caller has not got.

Only the operator's public texts are matched, never a tool that the caller may not see: an answer taken
from hidden tools would let a dictionary of questions read out what is hidden.

Source: DESIGN section 6, `denied_capability`; RETRIEVAL.md, "Denied capability".
"""

from pegboard.engine.asking import Case
from pegboard.retrieval.tokens import terms

__all__ = ["advertised"]


def advertised(case: Case) -> str | None:
    """Return the advertised text that the task matches best, of namespaces of which the caller has no tool.

    The first sentence says what is offered and is what the task is matched with; the rest says whom to ask.
    Ties go to the namespace first in code point order.
    """
    asked = {term for part in case.ask.query.parts for term in part}
    best: tuple[int, str] = (0, "")
    for path, note in sorted(case.settings.namespaces.items()):
        if not note.advertise or case.view.has_namespace(path, case.seen):
            continue
        offer = note.advertise.partition(".")[0]
        shared = len(asked & set(terms(offer)))
        if shared > best[0]:
            best = (shared, note.advertise)
    return best[1] or None
