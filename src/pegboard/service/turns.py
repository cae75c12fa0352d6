"""When one server is refreshed next: after a notice soon, else when its listing is as old as it may be.

One refresh runs at a time. However many changes are heard meanwhile, one more follows it, so none is lost and no
burst costs more than two. A server that always says that it changed is listened to less and less often.

Times are seconds of any one clock; all of it is values in and values out.
"""

from dataclasses import dataclass, replace

__all__ = ["Turn"]

# From the end of a refresh to the one that a notice causes; it doubles while notices keep coming.
FIRST_GAP_S = 1.0
LONGEST_GAP_S = 60.0
# Silence of so many gaps, and the next notice is taken as the first.
QUIET_GAPS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is to come for one server. It begins with a refresh that is due at once."""

    due_at: float | None = float("-inf")
    """None: nothing, until something is heard."""
    running: bool = False
    heard: bool = False
    """Something was heard that no refresh has begun after."""
    ended_at: float = float("-inf")
    gap_s: float = FIRST_GAP_S

    def hear(self, now: float) -> "Turn":
        """Take a notice that the list changed."""
        gap_s = FIRST_GAP_S if now - self.ended_at > QUIET_GAPS * self.gap_s else self.gap_s
        turn = replace(self, heard=True) if self.running else replace(self, heard=True, gap_s=gap_s)
        return turn._sooner(max(now, turn.ended_at + turn.gap_s))

    def ask(self, now: float) -> "Turn":
        """Take an operator's request: it waits for nothing but a refresh that runs."""
        return replace(self, heard=True)._sooner(now)

    def begin(self) -> "Turn":
        """Note that a refresh begins: what is heard from here on is for the next one."""
        gap_s = min(LONGEST_GAP_S, self.gap_s * 2) if self.heard else FIRST_GAP_S
        return replace(self, running=True, heard=False, due_at=None, gap_s=gap_s)

    def end(self, now: float, *, next_in_s: float | None) -> "Turn":
        """Note that the refresh ended, and when the next is due if nothing is heard."""
        due_at = None if next_in_s is None else now + next_in_s
        turn = replace(self, running=False, ended_at=now, due_at=due_at)
        return turn._sooner(now + turn.gap_s) if turn.heard else turn

    def _sooner(self, at: float) -> "Turn":
        if self.running:
            return self
        return replace(self, due_at=at if self.due_at is None else min(at, self.due_at))
