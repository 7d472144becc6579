"""The sending side of shared work.

Theory of operation. Readers report where they are (``_protocol.py``). For each of them the
publisher has a *seat*: a publisher of its own to that reader's lane, and the messages that the
reader has not acknowledged (``_desk.py``). ``send`` gives a message to a reader with free demand,
in the caller's thread, or waits.

One thread of its own takes the reports (``_readers.py``): it acknowledges, opens and closes seats,
and sends again what a dead reader had.

One condition, ``_changed``, guards the desk and wakes senders. It is held for moments, and while a
message is offered. Seats are opened and closed without it, by the thread alone. What is said under
it is logged when it is free (``_later_log.py``).
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from rstream._checks import check_seconds, check_timeout
from rstream._condition import Condition
from rstream._later_log import LaterLog
from rstream._neighbours import hint_for_publisher, why_refused
from rstream._other_drivers import tell_others
from rstream._pickling import refuse_pickling
from rstream._process import holds, is_inherited, quiet_when_torn_down, raise_interrupt
from rstream._unclosed import call_site, warn_unclosed
from rstream._with_hints import refuses_async_with
from rstream.driver import resolve_dir, watch_loop
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ForkedError,
    MessagesLost,
    MessageTooLarge,
    NotConnected,
    RStreamError,
)
from rstream.stream._end import linger_after
from rstream.stream._events import EVENTS_MAX
from rstream.work._desk import Desk, Message, Seat
from rstream.work._held_jobs import HeldJobs
from rstream.work._protocol import HEAD, hello_id
from rstream.work._readers import Readers
from rstream.work._seating import named

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

    from rstream.codecs import Codec
    from rstream.stream._watched import Bell
    from rstream.work._readers import Settings
    from rstream.work._seating import LanePublisher, Seating

    #: Settings, codec id, desk, its lock, title: as the arguments of ``Readers``.
    OpenSeating = Callable[[Settings, int, Desk[LanePublisher], Condition, str], Seating]

__all__ = ("Publisher", "Unfinished")

log = logging.getLogger("rstream")

T = TypeVar("T")

#: How long the thread waits for reports at most; then it looks whether every lane has its reader.
LOOK_EVERY_S = 0.5
#: The same while a message waits for room on a lane, which no report tells.
LOOK_AGAIN_S = 0.002
#: Seconds without a new message after which the last reader gets what may have ended another one.
IDLE_S = 0.25
#: Pause after an error of the driver.
RETRY_S = 0.1
#: Seconds beyond its wait after which a sender that has not come back was interrupted.
RETURN_S = 1.0
#: Seconds without a reader after which ``send`` logs that it waits.
NOTICE_AFTER_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A message that no reader has acknowledged, and that is not sent again.

    Attributes:
        number: what ``send`` had returned for it.
        item: the object, decoded; its bytes, if they cannot be decoded here.
        deliveries: how often it was given to a reader.
        reader_losses: how many readers died or left while they had it.
        reason: why, for people.
    """

    number: int
    item: object
    deliveries: int
    reader_losses: int
    reason: str


@refuses_async_with(
    "`with rstream.work.publisher(...)`, or `async with rstream.aio.work_publisher(...)` in an "
    "event loop"
)
class Publisher(Generic[T]):
    """Gives each message to one reader; made by :func:`rstream.work.publisher`.

    Threads may share it.
    """

    def __init__(
        self, chosen: Settings, codec: Codec[T], open_seating: OpenSeating = Readers
    ) -> None:
        self._is_closing = True  # __del__ runs even when the lines below raise
        self._made_at: str = call_site()
        self.name: str = chosen.name
        self._chosen = chosen
        self._codec = codec
        self._pid = os.getpid()
        self._changed = Condition()
        self._later = LaterLog()
        self._desk: Desk[LanePublisher] = Desk(
            redelivers=chosen.redeliver,
            deliveries_max=chosen.deliveries_max,
            losses_max=chosen.reader_losses_max,
            on_unfinished=_weakly(self._note_unfinished),
        )
        self._held_jobs = HeldJobs()
        self._events: deque[Unfinished] = deque(maxlen=EVENTS_MAX)
        self._untold: dict[str, list[Message]] = {}  # by reason: not sent again, and not logged
        self._sent = self._unfinished = self._told = 0  # told: of the unfinished, by events()
        # Who waits for free demand, or for the end, and until when that is believed: one who was
        # interrupted does not say that it waits no more.
        self._senders: dict[object, float] = {}
        self._enders: dict[object, float] = {}
        self._offered: tuple[Seat[LanePublisher], Message, int] | None = None
        self._placed_s = 0.0  # when a new message came last while suspects waited
        self._last_given_up = ""
        self._is_closed = self._is_stopped = False
        self._is_clogged = False  # a message waits, and a reader with free demand has no room
        self._version = 0  # counts what may have changed for whoever waits
        self._bells: set[Bell] = set()  # of tasks that wait; all three under the lock
        self._failure: Exception | None = None
        self._readers = open_seating(chosen, codec.codec_id, self._desk, self._changed, repr(self))
        self._thread = threading.Thread(
            target=_run,
            args=(weakref.ref(self), self._readers),
            name=f"rstream-work-{chosen.name}",
            daemon=True,
        )
        watch_loop(self)
        self._thread.start()
        self._is_closing = False

    def __repr__(self) -> str:
        return f"<rstream.work.Publisher {self.name!r} on {self._chosen.uri}>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    # ---- facts ----

    @property
    def linger_s(self) -> float:
        """Seconds that :meth:`close` waits until everything is acknowledged."""
        return self._chosen.linger_s

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._desk.seats)

    @property
    def unacknowledged(self) -> int:
        """How many messages were sent and are not finished."""
        with self._changed:
            return self._desk.open

    def events(self) -> list[Unfinished]:
        """The messages since the last call that will not be sent again though nobody has
        acknowledged them, oldest first; at most the last 1024.
        """
        with self._changed:
            self._tell_unfinished()
        events = [*self._events]
        # In one step with the line above: no other thread and no signal handler runs.
        self._events *= 0
        self._told = self._unfinished
        return events

    def statistics(self) -> dict[str, int]:
        """Counts since the start, and of now: ``readers``, ``unacknowledged``, ``waiting`` (to be
        sent again).
        """
        with self._changed:
            desk = self._desk
            return {
                "sent": self._sent,
                "acknowledged": desk.acknowledged,
                "redelivered": desk.redelivered,
                "unfinished": self._unfinished,
                "readers": len(desk.seats),
                "unacknowledged": desk.open,
                "waiting": desk.again_count,
            }

    # ---- sending ----

    def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Give one object to a reader that has free demand; wait for one.

        What a dead reader had goes first.

        Args:
            obj: what the codec takes.
            timeout_s: most seconds to wait for free demand; None: as long as readers are there.
        Returns:
            The number of the message, from 1 on.
        Raises:
            CodecError: ``obj`` cannot be encoded.
            MessageTooLarge: it does not fit.
            NotConnected: no reader for ``connect_timeout_s`` (a notice is logged after 2 s).
            BackPressured: no reader had free demand within ``timeout_s``.
            ClosedError: closed here. ForkedError: made before a fork.
        """
        with self._changed:
            message, steps = self._send_steps(obj, timeout_s)
        if steps is not None:
            self._wait(steps)
        return message.number

    def _wait(self, steps: Generator[float]) -> None:
        """Wait as the steps say. They run under the lock; what they say is logged without it."""
        try:
            while True:
                with self._changed:
                    wait_s = next(steps, None)
                    if wait_s is None:
                        return
                    if not self._later.waiting:
                        self._changed.wait(wait_s)
                        continue
                self._later.say()
        finally:
            with self._changed:
                steps.close()
            self._later.say()

    def _send_steps(
        self, obj: T, timeout_s: float | None
    ) -> tuple[Message, Generator[float] | None]:
        """For the faces: a message, and the waits until it has a reader, in seconds; None: it has
        one. Under lock, which is free in the waits.
        """
        check_timeout(timeout_s)
        self._check_open()
        message = self._make(obj)
        return message, None if self._place(message) else self._demand_steps(message, timeout_s)

    def offer(self, obj: T) -> bool:
        """Give one object to a reader if one has free demand now; never waits.

        Returns:
            False: it was not taken.
        Raises:
            CodecError, MessageTooLarge, ClosedError, ForkedError: as :meth:`send`.
        """
        with self._changed:
            self._check_open()
            return self._place(self._make(obj))

    def send_many(self, objects: Iterable[T], *, timeout_s: float | None = None) -> int:
        """Send each object; returns how many.

        Raises:
            RStreamError: as :meth:`send`; the objects before were sent.
        """
        count = 0
        for obj in objects:
            self.send(obj, timeout_s=timeout_s)
            count += 1
        return count

    def _check_open(self) -> None:
        if is_inherited(self._pid):
            raise ForkedError(f"{self!r} was made before fork; open one after it")
        if self._failure is not None:
            raise self._failure
        if self._is_closing:
            raise ClosedError(f"{self!r}: closed")

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
                f"{self!r}: {type(obj).__name__} cannot be encoded: {error}"
            ) from error
        return Message(data)

    def _place(self, message: Message) -> bool:
        """Give a new message to a reader. Under lock."""
        self._settle_offered()
        desk = self._desk
        if desk.waiting or desk.open >= self._chosen.unacknowledged_max:
            return False
        if desk.suspects:
            self._placed_s = now_s = time.monotonic()
        else:
            now_s = 0.0
        return self._give(message, desk.free_seats(now_s))

    def _give(self, message: Message, seats: list[Seat[LanePublisher]]) -> bool:
        self._is_clogged = False
        for seat in seats:
            head = HEAD.pack(seat.lane, seat.last + 1, message.deliveries + 1)
            self._offered = seat, message, seat.publisher.sent_position
            try:
                if seat.publisher.offer(head + message.data) > 0:
                    self._note_given(seat, message)
                    return True
            except MessageTooLarge:
                raise
            except ClosedError:  # the thread has just closed it, or the program ends
                pass
            except RStreamError as error:  # the thread will find it without its reader
                self._warn("%r: %s could not be reached: %s", self, seat.title, error)
            self._is_clogged = True
        return False

    def _note_given(self, seat: Seat[LanePublisher], message: Message) -> None:
        """Note that a message was sent to a reader. No signal handler runs after the first call."""
        seat.give(message)
        if message.number == 0:
            self._sent += 1
            message.number = self._sent
        self._offered = None

    def _settle_offered(self) -> None:
        """Note a message whose sender was interrupted when it was sent. Under lock."""
        if self._offered is None:
            return
        seat, message, before = self._offered
        if seat.publisher.sent_position > before and message.number == 0:
            self._note_given(seat, message)
        self._offered = None

    def _demand_steps(self, message: Message, timeout_s: float | None) -> Generator[float]:
        me = object()
        try:
            for wait_s in self._until_placed(message, timeout_s):
                self._senders[me] = time.monotonic() + wait_s + RETURN_S
                yield wait_s
        finally:
            self._senders.pop(me, None)

    def _until_placed(self, message: Message, timeout_s: float | None) -> Generator[float]:
        started_s = alone_since_s = time.monotonic()
        has_noticed = False
        while not self._place(message):
            now_s = time.monotonic()
            if self._desk.seats:
                alone_since_s = now_s
            elif not has_noticed and now_s - alone_since_s >= NOTICE_AFTER_S:
                has_noticed = True
                if self._later.may_notice:
                    self._warn("%r: waits for a reader%s", self, self._why_alone())
            left_s = LOOK_EVERY_S
            if timeout_s is not None:
                left_s = min(left_s, started_s + timeout_s - now_s)
                if left_s <= 0:
                    raise self._late_error(timeout_s)
            limit_s = self._chosen.connect_timeout_s
            if limit_s is not None and not self._desk.seats:
                left_s = min(left_s, alone_since_s + limit_s - now_s)
                if left_s <= 0:
                    raise self._alone_error(limit_s)
            if self._is_clogged:
                left_s = min(left_s, LOOK_AGAIN_S)
            yield left_s
            self._check_open()

    def _warn(self, text: str, *arguments: object) -> None:
        self._later.add(logging.WARNING, text, *arguments)

    def _why_alone(self) -> str:
        readers = self._readers
        text = f"; the last one that came was refused: {readers.refusal}" if readers.refusal else ""
        if readers.last_lost:
            text += f"; {readers.last_lost}"
        directory = resolve_dir(self._chosen.dir)
        told = (
            self._last_given_up,
            *why_refused(directory),
            hint_for_publisher(directory, self.name, self._chosen.uri, hello_id(self.name)),
            tell_others(directory),
        )
        return text + "".join(f"; {one}" for one in told if one)

    def _alone_error(self, waited_s: float) -> NotConnected:
        return NotConnected(
            f"{self!r}: no reader for {waited_s:g} s{self._why_alone()}",
            hint=f'open one: rstream.work.subscriber("{self.name}"), with the same channel and '
            f"driver directory ({resolve_dir(self._chosen.dir)})",
            channel=self._chosen.uri,
        )

    def _late_error(self, timeout_s: float) -> RStreamError:
        if not self._desk.seats:
            return self._alone_error(timeout_s)
        return BackPressured(
            f"{self!r}: no free demand within {timeout_s:g} s; {len(self._desk.seats)} readers "
            f"have {self._desk.open} messages that they have not acknowledged",
            hint="add readers, or give them a larger prefetch",
            channel=self._chosen.uri,
        )

    # ---- what is not sent again ----

    def _note_unfinished(self, message: Message, reason: str) -> None:
        if message.losses:
            self._last_given_up = f"message {message.number} is not sent again: {reason}"
        item: object = message.data
        with suppress(Exception):
            item = self._codec.decode_many([message.data])[0]
        event = Unfinished(
            number=message.number,
            item=item,
            deliveries=message.deliveries,
            reader_losses=message.losses,
            reason=reason,
        )
        self._events += (event,)  # in one step with the count, for `events`
        self._unfinished += 1
        self._untold.setdefault(reason, []).append(message)

    def _tell_unfinished(self) -> None:
        """Log what is not sent again, in one line for each reason. Under lock."""
        untold, self._untold = self._untold, {}
        for reason, messages in untold.items():
            are = "is" if len(messages) == 1 else "are"
            text = "%r: %s %s not sent again: %s"
            self._later.add(logging.ERROR, text, self, named(messages), are, reason)

    # ---- the thread ----

    def step(self) -> float:
        """For the thread: take what has come. Returns how long it may wait, in seconds."""
        if self._is_stopped:
            return -1.0
        try:
            with self._changed:
                self._settle_offered()
            has_news = self._readers.update()
            with self._changed:
                self._send_again()
                self._tell()
                is_waiting = bool(self._desk.again_count) and self._is_clogged
                has_suspects = bool(self._desk.suspects)
            self._later.say()
            self._look_at_held()
            if has_news:
                return 0.0
            if is_waiting:
                return LOOK_AGAIN_S
            return IDLE_S if has_suspects else LOOK_EVERY_S
        except ClosedError:
            return -1.0
        except RStreamError as error:
            log.warning("%r: %s; it tries again", self, error)
            return RETRY_S
        except Exception as error:
            with self._changed:
                self._failure = error
                self._tell()
            log.exception("%r: it cannot go on", self)
            return -1.0

    def _look_at_held(self) -> None:
        if self._held_jobs.is_due():
            with self._changed:
                seats = [*self._desk.seats.values()]
                found = [(seat, next(iter(seat.given), 0)) for seat in seats]
            self._held_jobs.look(found)

    def _tell(self) -> None:
        """Wake whoever waits. Under lock."""
        self._tell_unfinished()
        self._version += 1
        self._changed.notify_all()
        for bell in self._bells:
            bell.wake()

    def _send_again(self) -> None:
        """Give what waits to readers with free demand. Under lock."""
        self._settle_offered()
        desk, waiting, suspects = self._desk, self._desk.waiting, self._desk.suspects
        now_s = time.monotonic()
        while waiting and self._give(waiting[0], desk.free_seats(now_s)):
            desk.redelivered += waiting.popleft().deliveries > 1
        while (seats := desk.trial_seats(now_s, is_idle=self._is_idle(now_s))) and self._give(
            suspects[0], seats
        ):
            desk.redelivered += suspects.popleft().deliveries > 1

    def _is_idle(self, now_s: float) -> bool:
        """Whether nobody has anything new to send. Under lock."""
        for waiting in (self._senders, self._enders):
            for who in [who for who, until_s in waiting.items() if until_s < now_s]:
                del waiting[who]
        if self._senders or self._enders:
            return not self._senders
        suspects = self._desk.suspects
        quiet_since_s = max(self._placed_s, suspects[0].since_s if suspects else 0.0)
        return now_s - quiet_since_s >= IDLE_S

    # ---- the end ----

    def wait_acknowledged(self, *, timeout_s: float | None = None) -> bool:
        """Wait until every message that was sent is finished: acknowledged, or in :meth:`events`.

        Args:
            timeout_s: None: as long as it takes.
        Returns:
            False: not within ``timeout_s``.
        """
        self._wait(self._end_steps(timeout_s))
        return not self.unacknowledged

    def _end_steps(self, timeout_s: float | None) -> Generator[float]:
        """For the faces: the waits until every message is finished, or the time is over. Under
        lock, as :meth:`_send_steps`.
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        me = object()
        self._settle_offered()
        try:
            while self._desk.open and not self._is_closed and self._failure is None:
                left_s = LOOK_EVERY_S
                if deadline_s is not None:
                    left_s = min(left_s, deadline_s - time.monotonic())
                    if left_s <= 0:
                        return
                self._enders[me] = time.monotonic() + left_s + RETURN_S
                yield left_s
        finally:
            self._enders.pop(me, None)

    def close(self, *, linger_s: float | None = None) -> None:
        """Wait until every message is acknowledged, then say that the work is complete. Idempotent.

        What is not acknowledged by then is told by :meth:`events`: a reader that has it may still
        finish it, but nobody gets it if that reader dies. In a forked child it does nothing: the
        work is the parent's.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with.
        """
        if not self._begin_close(linger_s):
            return
        try:
            self.wait_acknowledged(
                timeout_s=self._chosen.linger_s if linger_s is None else linger_s
            )
        finally:
            self._let_go()

    def _begin_close(self, linger_s: float | None = None) -> bool:
        """For the faces: take no more messages. False: it was begun before."""
        if linger_s is not None:
            check_seconds("linger_s", linger_s)
        if is_inherited(self._pid):  # another thread may have held the lock
            self._is_closing = self._is_closed = True
            return False
        with self._changed:
            # A call that was interrupted is made again; of two threads the second one goes on when
            # the first one is through.
            if self._is_closed:
                return False
            self._is_closing = True
            self._tell()
            return True

    def _let_go(self) -> None:
        """For the faces: the end of closing. Takes some milliseconds."""
        self.stop()
        self._await_thread()
        with self._changed:
            self._settle_offered()
            for seat in self._desk.seats.values():
                for number, message in list(seat.given.items()):
                    self._note_unfinished(message, _at_close(message, "it was acknowledged"))
                    del seat.given[number]
            for waiting in (self._desk.waiting, self._desk.suspects):
                while waiting:
                    self._note_unfinished(
                        waiting[0], _at_close(waiting[0], "a reader could take it")
                    )
                    del waiting[0]
            self._held_jobs.close()
            self._readers.close()
            self._is_closed = True
            self._tell()
        self._later.say()

    def _await_thread(self) -> None:
        if self._thread is threading.current_thread():
            return
        if not holds(self._changed):
            self._thread.join()
            return
        # A signal handler in the middle of a call, which holds the lock: only a wait frees it.
        while self._thread.is_alive():
            self._changed.wait(LOOK_AGAIN_S)

    def stop(self) -> None:
        """Stop the thread without waiting for anything; at the end of the program."""
        self._is_stopped = True
        self._readers.wake()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread."""
        self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(linger_s=self._linger_after(exc))
        self.check_finished(exc)

    def _linger_after(self, exc: BaseException | None) -> float:
        """For the faces: seconds that closing waits when this exception left the block."""
        # Nobody was there to take a job, so nobody is there to acknowledge one.
        return 0.0 if isinstance(exc, NotConnected) else linger_after(exc, self._chosen.linger_s)

    def check_finished(self, exc: BaseException | None) -> None:
        """For the faces, which have closed it: whether a block may end as if all were done.

        Raises:
            MessagesLost: it ends without another error, and something was not acknowledged that
                :meth:`events` has not told. Not without a linger: nobody has waited for it.
        """
        count = self._unfinished - self._told
        if exc is not None or count == 0 or not self._chosen.linger_s or is_inherited(self._pid):
            return
        first = self._events[0]
        raise MessagesLost(
            f"{self!r}: {count} of {self._sent} messages were not acknowledged and are not sent "
            f"again, the first one is {first.number}: {first.reason}",
            hint="events() lists them; in the block, before its end, it makes them no error",
            channel=self._chosen.uri,
        )

    @quiet_when_torn_down
    def __del__(self) -> None:
        if self._is_closed or is_inherited(self._pid):
            return
        try:
            if not self._is_closing:
                warn_unclosed(self, self._made_at)
        finally:
            self.close(linger_s=0)


def _at_close(message: Message, missing: str) -> str:
    history = message.history
    return f"closed before {missing}{history and '; '}{history}"


def _weakly(method: Callable[[Message, str], None]) -> Callable[[Message, str], None]:
    """The method, without keeping its object alive."""
    reference = weakref.WeakMethod(method)

    def call(message: Message, reason: str) -> None:
        living = reference()
        if living is not None:
            living(message, reason)

    return call


def _run(reference: weakref.ref[Publisher[Any]], readers: Seating) -> None:
    """The thread of a publisher. It keeps the publisher alive only while it works for it."""
    wait_s = 0.0
    while wait_s >= 0:
        try:
            if wait_s > 0:  # even a wait for nothing gives the interpreter's lock away, for 5 ms
                readers.wait(wait_s)
        except RStreamError:  # the next step says what it is
            time.sleep(RETRY_S)
        publisher = reference()
        if publisher is None:
            return
        wait_s = publisher.step()
        del publisher
