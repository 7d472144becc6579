"""The end of a stream: its publisher says it, and waits until the readers have all."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from rstream import _core
from rstream._waits import Deadline, Pause, Room, Steps
from rstream.driver import runs_here
from rstream.errors import DriverError, MessagesLost, RemoteError
from rstream.stream._remote import encode_failure
from rstream.stream._sending._waiting import END_LINGER_S, WAIT_SLICE_S, Return

if TYPE_CHECKING:
    from rstream.stream._sending._offers import Offers
    from rstream.stream._sending._readers import KnownReaders
    from rstream.stream._sending._session import SendSession
    from rstream.stream._sending._waiting import SendWaits

__all__ = ("Ending",)


@final
class Ending:
    """Ends the stream of a publisher.

    Attributes:
        error: why not all that was sent is known to be consumed; for whoever leaves the block.
    """

    def __init__(
        self, session: SendSession, readers: KnownReaders, offers: Offers, waits: SendWaits
    ) -> None:
        self._session = session
        self._readers = readers
        self._offers = offers
        self._waits = waits
        self._position = _core.CLOSED  # of the end of the stream; below 0: it was not sent
        self.error: RemoteError | MessagesLost | None = None

    def steps(self, kind: int, end: BaseException | str, linger_s: float) -> Steps[None]:
        """Send the end of the stream, and wait until readers have consumed what was sent before it.

        The caller calls :meth:`let_go` afterwards.
        """
        session, waits = self._session, self._waits
        core, where = session.core, session.settings.where()
        losses = self._readers.losses
        deadline = Deadline(linger_s)
        data_end = core.position
        try:
            if (yield from self._say_steps(kind, end, deadline)):
                is_read = yield from waits.consumed_steps(data_end, deadline, give_up_alone=True)
                if is_read:
                    yield from self._seen_steps(deadline)
                elif session.core.is_connected and linger_s > 0:
                    end_bytes = core.position - data_end  # of what was sent just now
                    session.logs.log(
                        "%s: closed after linger_s=%g with %d bytes unread; readers get them while "
                        "the driver lives",
                        where,
                        linger_s,
                        core.unread_bytes - end_bytes,
                    )
            self._readers.look()
            if linger_s > 0:
                yield from self._reason_steps(data_end)
            if session.link.is_alive and not session.core.is_connected:
                self.error = self._readers.failure(data_end) or self._lost_to(data_end)
                losses.report(
                    session.core.session_id, session.state.reached, "closed without readers"
                )
        except DriverError as error:
            session.logs.log("%s: closed without its driver: %s", where, error)
            reached = session.state.reached
            losses.report(session.core.session_id, reached, "closed without its driver")

    def _lost_to(self, data_end: int) -> MessagesLost | None:
        """The error of what a reader had not consumed, if none will ever come; else None."""
        settings = self._session.settings
        why = settings.why_gone()
        if self._readers.waits_for_ever:
            why = why or "its last reader has left, and no other one came"
        if not why or not self._readers.is_unread(data_end):
            return None
        return MessagesLost(
            f"{settings.where()}: not all that was sent is known to be consumed: {why}",
            hint="events() says from which position on; send that to another reader",
        )

    def _reason_steps(self, data_end: int) -> Steps[None]:
        """Wait for the error of a reader that has just left: the driver tells it a moment later."""
        session, readers = self._session, self._readers
        until = Deadline(END_LINGER_S)
        while (
            readers.is_unread(data_end)
            and not (readers.error or session.core.is_connected)
            and session.link.is_alive
            and not until.is_over
        ):
            yield Pause(0.001)
            readers.look()

    def _seen_steps(self, deadline: Deadline) -> Steps[None]:
        """Give the readers a moment to see the end if the driver may go when this has returned.

        A shared driver keeps the end for a reader that is busy, or has all it wants and never asks.
        A driver of this process often ends next, with what its readers have not seen.
        """
        if runs_here(self._session.link.directory):
            soon = Deadline(deadline.left_s(END_LINGER_S))
            end = self._session.core.position
            yield from self._waits.consumed_steps(end, soon, give_up_alone=True)

    def _say_steps(self, kind: int, end: BaseException | str, deadline: Deadline) -> Steps[bool]:
        """Send the end of the stream, which does not wait behind data. False: no reader is there.

        It waits only while the publisher's limit lies far below what was sent, as after readers
        have left.
        """
        session, awaited = self._session, None
        while True:
            reason = self.say(kind, end)
            if reason > 0:
                return True
            if reason == _core.NOT_CONNECTED and self._readers.is_unread(session.core.position):
                awaited = awaited or Return(self._readers.may_come)
                if deadline.is_over or not self._waits.may_return(awaited):
                    return False
                yield Pause(0.002)
                continue
            if reason not in (_core.BACK_PRESSURED, _core.ADMIN_ACTION):
                return False
            if deadline.is_over:
                session.logs.log(
                    "%s: its end could not be sent; readers will see it as lost",
                    session.settings.where(),
                )
                return False
            yield Room(deadline.left_s(WAIT_SLICE_S))

    def say(self, kind: int, end: BaseException | str) -> int:
        """Try to send the end of the stream; the position if that was done, now or before."""
        core = self._session.core
        if self._position <= 0 and not core.is_closed:
            data = encode_failure(end, core.max_control_length)
            self._position = core.offer_control(data, self._offers.header(kind))
        return self._position

    def let_go(self) -> None:
        """Closed from now on; takes about a millisecond. It may be called again."""
        session = self._session
        session.is_closed = True
        session.see_positions()
        session.core.close()
        session.joining.release()
