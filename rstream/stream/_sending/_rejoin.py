"""A publisher joins again when its driver was lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

from rstream.errors import ClosedError
from rstream.stream._events import SessionChanged

if TYPE_CHECKING:
    from rstream._waits import Steps
    from rstream.stream._sending._losses import Losses
    from rstream.stream._sending._session import SendSession

__all__ = ("Rejoin",)


@final
class Rejoin:
    """Gives a publisher another session, and tells what the old one may have lost."""

    def __init__(self, session: SendSession, losses: Losses) -> None:
        self._session = session
        self._losses = losses

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
        if session.joining.may_join_again:
            if session.has_joined:
                return
            if session.is_ending:
                raise session.closed_error()
        why = session.joining.lost(settings.where(), error)
        on_joined = partial(self._tell, session.core.session_id, session.state.reached, why)
        yield from session.joining.join_steps(session.join, on_joined, title=settings.where())

    def _tell(self, old_session_id: int, reached: int, why: str) -> None:
        session, state, losses = self._session, self._session.state, self._losses
        losses.events += (
            SessionChanged(
                old_session_id=old_session_id, new_session_id=session.core.session_id, reason=why
            ),
        )
        losses.report(old_session_id, reached, why)
        state.reached = losses.consumed = 0
        state.before = -1
        state.was_connected = False
