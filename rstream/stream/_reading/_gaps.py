"""What a reader does with a gap: messages of a publisher that it can never get.

A group goes on without a reader that is too slow for it. The transport tells where the reader
stopped and where it goes on; ``on_gap`` says what the reader does between the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from rstream.errors import ConfigError, MessagesLost
from rstream.stream._events import Gap

if TYPE_CHECKING:
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._peers import Left
    from rstream.stream._reading._report import Report

T = TypeVar("T")

#: Reason of a gap after an eviction that the user's policy follows with another joining.
EVICTED: Final = "evicted, not delivered until it joined again"

OnGap: TypeAlias = Literal["raise", "resume"] | Callable[[Gap], Iterable[Any] | None]


def check_on_gap(on_gap: OnGap) -> OnGap:
    """Return the policy when it can be used.

    Raises:
        ConfigError: it is neither of the two words nor a function.
    """
    if on_gap in ("raise", "resume") or callable(on_gap):
        return on_gap
    raise ConfigError(
        f'on_gap={on_gap!r}: must be "raise", "resume", or a function that takes the gap'
    )


class Gaps(Generic[T]):
    """The gaps that a reader has come to, and what its policy makes of them.

    One thread at a time. A gap is handled between the last object before it and the first one
    behind it.
    """

    def __init__(self, report: Report, on_gap: OnGap) -> None:
        self._report = report
        self._on_gap = on_gap
        self._gaps: deque[tuple[Gap, MessagesLost]] = deque()
        self.snapshot: list[T] = []  # what the user's function returned

    @property
    def is_waiting(self) -> bool:
        """Whether the next poll has to handle a gap, or to hand out a snapshot."""
        return bool(self._gaps or self.snapshot)

    def is_ready(self, demand: int | None) -> bool:
        """Whether a poll with this demand (None: any) would handle something."""
        return bool((self._gaps and not self.snapshot) or (self.snapshot and demand != 0))

    def on_overrun(
        self, source: Input, session_id: int, from_position: int, to_position: int
    ) -> None:
        """The publisher's group has left this reader behind at ``from_position``; it goes on at
        ``to_position``.
        """
        self._report.overruns += 1
        self._on_lost(
            source,
            session_id,
            (from_position, to_position),
            "overrun: this reader was slower than its group, which went on without it",
            "read faster, lower the publisher's rate, or have the publisher wait (fc=min)",
        )

    def on_missed(
        self,
        source: Input | Left,
        session_id: int,
        positions: tuple[int, int | None],
        reason: str,
        *,
        is_event: bool = False,
    ) -> None:
        """This reader had left a publisher, and came back after it had sent more; or it is not
        known whether it had (a position None), as the session does not come back.

        With ``on_lost="event"``, where publishers come and go, it is an event for the policy
        ``"raise"`` too; and so it is after an eviction, which the user's policy has answered.
        """
        report = self._report
        report.gaps += 1
        is_event |= reason == EVICTED or (self._on_gap == "raise" and not report.is_raising)
        hint = (
            "its publisher went on while this reader was away, and what its driver held for it "
            "is gone"
        )
        self._on_lost(source, session_id, positions, reason, hint, is_event=is_event)

    def _on_lost(
        self,
        source: Input | Left,
        session_id: int,
        positions: tuple[int, int | None],
        reason: str,
        hint: str,
        *,
        is_event: bool = False,
    ) -> None:
        from_position, to_position = positions
        report = self._report
        gap = Gap(
            session_id=session_id,
            from_position=from_position,
            to_position=to_position,
            reason=reason,
        )
        report.events.append(gap)
        report.skipped_bytes += gap.length_bytes or 0
        what = (
            f"delivered up to position {from_position}; what its publisher sent behind it, if "
            "anything, is lost"
            if to_position is None
            else f"positions {from_position} to {to_position} ({gap.length_bytes} bytes) are lost"
        )
        error = MessagesLost(
            f"{report.where(source, session_id)}: {what}: {reason}",
            hint=f'{hint}; the next poll goes on behind the gap; on_gap="resume" goes on without '
            "an error",
            channel=source.channel,
            stream_id=report.stream_id,
            session_id=session_id,
            position=from_position,
        )
        error.gap = gap
        report.log("%s", error.args[0])
        if self._on_gap != "resume" and not is_event:
            self._gaps.append((gap, error))

    def handle(self, limit: int) -> list[T]:
        """Deal with the gaps, and return at most ``limit`` objects of the snapshots. The caller
        removes them from ``snapshot`` when it has them.

        Raises:
            MessagesLost: ``on_gap="raise"``; once for each gap.
            Exception: what the user's function raises. After an interrupt it gets the gap again.
        """
        gaps = self._gaps
        while gaps and not self.snapshot:
            gap, error = gaps[0]
            if not callable(self._on_gap):
                del gaps[0]
                raise error
            try:
                snapshot = list(self._on_gap(gap) or ())
            except Exception:
                del gaps[0]
                raise
            self.snapshot = snapshot
            del gaps[0]
        return self.snapshot[:limit]
