"""The sending side of shared work, in steps (:mod:`rstream._waits`) that a thread or an event loop
performs.

Theory of operation. Readers report where they are (``_protocol.py``). For each of them the
publisher has a *seat*: a publisher of its own to that reader's lane, and the messages that the
reader has not acknowledged (``_desk.py``). ``send`` gives a message to a reader with free demand
(``_dealer.py``), in the caller's thread, or waits for a change (``_changes.py``).

One thread of its own (``_caretaker.py``) takes the reports (``_readers.py``): it acknowledges,
opens and closes seats, and sends again what a dead reader had.

One lock guards the desk and all that is said of it. It is held for moments, and while a message is
offered; never in a wait. Seats are opened and closed without it, by the thread alone. What is said
under it is logged when it is free (``_later_log.py``).
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Generic, TypeVar, final

from rstream._checks import check_seconds, check_timeout
from rstream._later_log import LaterLog
from rstream._neighbours import hint_for_publisher, why_refused
from rstream._other_drivers import tell_others
from rstream._process import is_inherited, quiet_when_torn_down, raise_interrupt
from rstream._unclosed import call_site, warn_unclosed
from rstream._waits import NOTICE_AFTER_S, Deadline, News
from rstream.driver import resolve_dir
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ForkedError,
    NotConnected,
    RStreamError,
)
from rstream.stream._internal import linger_after
from rstream.work._caretaker import LOOK_AGAIN_S, LOOK_EVERY_S, Caretaker
from rstream.work._changes import Changes, Listener
from rstream.work._dealer import Dealer
from rstream.work._desk import Message, WorkDesk
from rstream.work._protocol import hello_id
from rstream.work._readers import ReportedReaders
from rstream.work._unfinished import Unfinished, UnfinishedMessages

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._condition import Condition
    from rstream._waits import Steps
    from rstream.codecs import Codec
    from rstream.work._seating import LanePublisher, Seating
    from rstream.work._settings import GivingSettings

    #: Settings, codec id, desk, its lock, title: as the arguments of ``ReportedReaders``.
    OpenSeating = Callable[[GivingSettings, int, WorkDesk[LanePublisher], Condition, str], Seating]

__all__ = ("Giving",)

T = TypeVar("T")


@final
class Giving(Generic[T]):
    """What the publishers of shared work for threads and for event loops share: they run its steps.

    Args:
        chosen: the settings.
        codec: of the objects.
        made_at: file and line of the program; empty: of the caller.
        open_seating: opens what knows the readers.
        title: for people; empty: as a publisher of :mod:`rstream.work`.

    Attributes:
        name: of the work.
        linger_s: seconds that closing waits until everything is acknowledged.
        seating: what knows the readers.
    """

    def __init__(
        self,
        chosen: GivingSettings,
        codec: Codec[T],
        made_at: str = "",
        *,
        open_seating: OpenSeating = ReportedReaders,
        title: str = "",
    ) -> None:
        self._is_closing = self._is_closed = True  # __del__ runs even when a line below raises
        self._made_at = made_at or call_site()
        self.name: str = chosen.name
        self.linger_s: float = chosen.linger_s
        self._title = title or f"<rstream.work.Publisher {chosen.name!r} on {chosen.uri}>"
        self._chosen = chosen
        self._codec = codec
        self._pid = os.getpid()
        self._changes = Changes()
        self._lock = self._changes.lock
        self._later = LaterLog()
        self._unfinished = UnfinishedMessages(self._title, codec, self._later)
        self._desk: WorkDesk[LanePublisher] = WorkDesk(
            redelivers=chosen.redeliver,
            deliveries_max=chosen.deliveries_max,
            losses_max=chosen.reader_losses_max,
            on_unfinished=self._unfinished.note,
        )
        self._dealer = Dealer(self._title, self._desk, chosen.unacknowledged_max, self._later)
        self.seating: Seating = open_seating(
            chosen, codec.codec_id, self._desk, self._lock, self._title
        )
        self._caretaker = Caretaker(
            chosen.name,
            self._title,
            changes=self._changes,
            desk=self._desk,
            dealer=self._dealer,
            seating=self.seating,
            unfinished=self._unfinished,
            later=self._later,
        )
        self._is_closed = False
        self._caretaker.start()
        self._is_closing = False

    def __repr__(self) -> str:
        return self._title

    # ---- facts ----

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._desk.seats)

    @property
    def unacknowledged(self) -> int:
        """How many messages were sent and are not finished."""
        with self._lock:
            return self._desk.open

    def events(self) -> list[Unfinished]:
        """The messages that are not sent again, since the last call."""
        with self._lock:
            self._unfinished.say()
        return self._unfinished.take()

    def statistics(self) -> dict[str, int]:
        """Counts since the start, and of now."""
        with self._lock:
            desk = self._desk
            return {
                "sent": self._dealer.sent,
                "acknowledged": desk.acknowledged,
                "redelivered": desk.redelivered,
                "unfinished": self._unfinished.count,
                "readers": len(desk.seats),
                "unacknowledged": desk.open,
                "waiting": desk.again_count,
            }

    # ---- sending ----

    def begin(self, obj: T, timeout_s: float | None) -> tuple[Message, Steps[None] | None]:
        """Give an object to a reader if one has free demand now.

        Returns:
            The message, and the steps until it has a reader; None: it has one.
        """
        check_timeout(timeout_s)
        with self._lock:
            self._check_open()
            message = self._make(obj)
            is_placed = self._dealer.place(message)
        return message, None if is_placed else self._demand_steps(message, timeout_s)

    def offer(self, obj: T) -> bool:
        """Give an object to a reader if one has free demand now. False: it was not taken."""
        with self._lock:
            self._check_open()
            return self._dealer.place(self._make(obj))

    def _check_open(self) -> None:
        if is_inherited(self._pid):
            raise ForkedError(f"{self._title} was made before fork; open one after it")
        if self._caretaker.failure is not None:
            raise self._caretaker.failure
        if self._is_closing:
            raise ClosedError(f"{self._title}: closed")

    def _make(self, obj: T) -> Message:
        try:
            encoded = self._codec.encode(obj)
            # Owned: it may have to be sent again.
            data = b"".join(encoded if isinstance(encoded, list) else [encoded])
        except Exception as error:
            raise_interrupt(error, lambda: self._codec.encode(obj))
            if isinstance(error, RStreamError):
                raise
            raise CodecError(
                f"{self._title}: {type(obj).__name__} cannot be encoded: {error}"
            ) from error
        return Message(data)

    # ---- waiting ----

    def _demand_steps(self, message: Message, timeout_s: float | None) -> Steps[None]:
        """Wait for a reader with free demand, and give the message to it."""
        listener = Listener(self._changes)
        started_s = alone_since_s = time.monotonic()
        has_noticed = False
        try:
            while True:
                with self._lock:
                    self._check_open()
                    if self._dealer.place(message):
                        return
                    now_s = time.monotonic()
                    if self._desk.seats:
                        alone_since_s = now_s
                    elif not has_noticed and now_s - alone_since_s >= NOTICE_AFTER_S:
                        has_noticed = True
                        self._notice_alone()
                    left_s = min(
                        self._demand_left_s(now_s - started_s, timeout_s),
                        self._reader_left_s(now_s - alone_since_s),
                        LOOK_AGAIN_S if self._dealer.is_clogged else LOOK_EVERY_S,
                    )
                    self._dealer.waits_to_send(listener, left_s)
                if self._later.waiting:
                    self._later.say()
                yield News(listener, left_s)
        finally:
            self._leave_wait(listener)

    def _demand_left_s(self, waited_s: float, timeout_s: float | None) -> float:
        """How long a call may still wait for free demand.

        Raises:
            BackPressured, NotConnected: no longer.
        """
        if timeout_s is None:
            return LOOK_EVERY_S
        if waited_s < timeout_s:
            return timeout_s - waited_s
        count = len(self._desk.seats)
        if not count:
            raise self.seating.alone_error(timeout_s, self._why_alone())
        raise BackPressured(
            f"{self._title}: no free demand within {timeout_s:g} s; {count} readers "
            f"have {self._desk.open} messages that they have not acknowledged",
            hint=self.seating.more_hint,
            channel=self._chosen.uri,
        )

    def _reader_left_s(self, alone_s: float) -> float:
        """How long a call may still wait for a reader.

        Raises:
            NotConnected: no longer.
        """
        limit_s = self._chosen.connect_timeout_s
        if limit_s is None or self._desk.seats:
            return LOOK_EVERY_S
        if alone_s < limit_s:
            return limit_s - alone_s
        raise self.seating.alone_error(limit_s, self._why_alone())

    def _notice_alone(self) -> None:
        if self._later.may_notice:
            text = "%s: waits for a reader%s"
            self._later.add(logging.WARNING, text, self._title, self._why_alone())

    def _why_alone(self) -> str:
        seating = self.seating
        text = f"; the last one that came was refused: {seating.refusal}" if seating.refusal else ""
        if seating.last_lost:
            text += f"; {seating.last_lost}"
        directory = resolve_dir(self._chosen.dir)
        told = (
            self._unfinished.last_given_up,
            *why_refused(directory),
            hint_for_publisher(directory, self.name, self._chosen.uri, hello_id(self.name)),
            tell_others(directory),
        )
        return text + "".join(f"; {one}" for one in told if one)

    def end_steps(self, timeout_s: float | None) -> Steps[None]:
        """Wait until every message is finished, or the time is over."""
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        listener = Listener(self._changes)
        try:
            while True:
                with self._lock:
                    self._dealer.settle_offered()
                    if not self._desk.open or self._is_closed or self._caretaker.failure:
                        return
                    left_s = deadline.left_s(LOOK_EVERY_S)
                    if left_s == 0:
                        return
                    self._dealer.waits_for_end(listener, left_s)
                if self._later.waiting:
                    self._later.say()
                yield News(listener, left_s)
        finally:
            self._leave_wait(listener)

    def _leave_wait(self, listener: Listener) -> None:
        with self._lock:
            self._dealer.waits_no_more(listener)
            listener.close()
        if self._later.waiting:
            self._later.say()

    # ---- the end ----

    def begin_close(self, linger_s: float | None = None) -> bool:
        """Take no more messages. False: it was closed before, or in the process before a fork."""
        if linger_s is not None:
            check_seconds("linger_s", linger_s)
        if is_inherited(self._pid):  # another thread may have held the lock
            self._is_closing = self._is_closed = True
            return False
        with self._lock:
            # A call that was interrupted is made again; of two threads the second one goes on when
            # the first one is through.
            if self._is_closed:
                return False
            self._is_closing = True
            self._caretaker.tell()
            return True

    def let_go(self) -> None:
        """The end of closing. Takes some milliseconds."""
        self._caretaker.end()
        with self._lock:
            self._dealer.settle_offered()
            for seat in self._desk.seats.values():
                for number, message in list(seat.given.items()):
                    self._unfinished.note(message, _at_close(message, "it was acknowledged"))
                    del seat.given[number]
            for waiting in (self._desk.waiting, self._desk.suspects):
                while waiting:
                    message = waiting[0]
                    self._unfinished.note(message, _at_close(message, "a reader could take it"))
                    del waiting[0]
            self._caretaker.close()
            self._is_closed = True
            self._caretaker.tell()
        self._later.say()

    def linger_after(self, exc: BaseException | None) -> float:
        """Seconds that closing waits when this exception left the block."""
        # Nobody was there to take a job, so nobody is there to acknowledge one.
        return 0.0 if isinstance(exc, NotConnected) else linger_after(exc, self.linger_s)

    def check_finished(self, exc: BaseException | None) -> None:
        """When it is closed: whether a block may end as if all were done.

        Raises:
            MessagesLost: it ends without another error, and something was not acknowledged that
                :meth:`events` has not told. Not without a linger: nobody has waited for it.
        """
        loss = self._unfinished.loss(self._dealer.sent, self._chosen.uri)
        if loss is not None and exc is None and self.linger_s and not is_inherited(self._pid):
            raise loss

    @quiet_when_torn_down
    def __del__(self) -> None:
        if self._is_closed or is_inherited(self._pid):
            return
        try:
            if not self._is_closing:
                warn_unclosed(self, self._made_at)
        finally:
            if self.begin_close():
                self.let_go()


def _at_close(message: Message, missing: str) -> str:
    history = message.history
    return f"closed before {missing}{history and '; '}{history}"
