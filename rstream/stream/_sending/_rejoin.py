"""A publisher joins again when its driver was lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, final

from rstream._waits import Pause, Steps, Work
from rstream.errors import ClosedError, DriverError, DriverLost
from rstream.stream import _session
from rstream.stream._events import SessionChanged

if TYPE_CHECKING:
    from rstream.stream._sending._losses import Losses
    from rstream.stream._sending._session import SendSession

__all__ = ("Rejoin",)


@final
class Rejoin:
    """Gives a publisher another session.

    Attributes:
        count: how often it did.
    """

    def __init__(self, session: SendSession, losses: Losses) -> None:
        self._session = session
        self._losses = losses
        self.count = 0

    def steps(self, error: Exception | None) -> Steps[None]:
        """Join again through a living driver, which is started if there is none.

        Args:
            error: why; raised if the publisher cannot join again.
        Raises:
            DriverLost: the caller owns the client. ClosedError: closed here.
            DriverError: no driver within ``REJOIN_TIMEOUT_S``.
        """
        session, settings = self._session, self._session.settings
        if session.link.is_closed:
            raise ClosedError(
                f"{settings.where()}: its client was closed", channel=settings.channel
            )
        if not session.link.is_shared:
            raise error or DriverLost(
                f"{settings.where()}: the driver was lost, "
                "and the caller's own client cannot join again"
            )
        if session.has_joined:
            return
        if session.is_ending:
            raise session.closed_error()
        session.log(
            "%s: session %d: %s; joining again",
            settings.where(),
            session.core.session_id,
            session.link.why_lost,
        )
        deadline_s = time.monotonic() + _session.REJOIN_TIMEOUT_S
        while not session.has_joined:
            try:
                yield Work(self.once)
                return
            except DriverError as why:  # the new driver may have died as well
                if time.monotonic() >= deadline_s:
                    raise
                directory = session.link.directory
                session.log("driver directory %s: not yet back: %s", directory, why)
            yield Pause(0.1)

    def once(self) -> None:
        """One attempt, with its events: the caller that waits for it may have been cancelled."""
        session, state, losses = self._session, self._session.state, self._losses
        old_session_id, reached = session.core.session_id, state.reached
        why = session.link.why_lost
        link = _session.renew(session.link, timeout_s=0)
        try:
            session.join(link)
        finally:
            session.link = link
        self.count += 1
        losses.events += (
            SessionChanged(
                old_session_id=old_session_id, new_session_id=session.core.session_id, reason=why
            ),
        )
        losses.report(old_session_id, reached, why)
        state.reached = losses.consumed = 0
        state.before = -1
        state.was_connected = False
