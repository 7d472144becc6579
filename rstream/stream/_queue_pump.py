"""The thread that reads for a subscriber with a queue of its own (_buffered.py).

The thread refers to the pump, and the pump to no subscriber. A subscriber that the program drops is
collected in any thread, in the middle of anything: its ``__del__`` takes no lock, has this thread
leave the stream, and waits for that only for a moment.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import suppress
from operator import length_hint
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rstream import policy
from rstream._condition import Condition, Event
from rstream.errors import ClosedError, ConfigError, MessagesLost, RStreamError, SlowConsumer
from rstream.flow.queues import FullError, PlainQueue, Queue
from rstream.stream import _pump
from rstream.stream._placed_errors import PlacedErrors
from rstream.stream._queue_hold import QueueHold
from rstream.stream._subscriber import title_of

if TYPE_CHECKING:
    import weakref

    from rstream.stream._reader import Reader
    from rstream.stream._tally import Tally
    from rstream.stream._watched import Bell

log = logging.getLogger("rstream")

T = TypeVar("T")

PUMP_WAIT_S: Final = 0.5
#: How long a ``__del__`` waits until the thread has left the stream. It takes a millisecond, or a
#: poll that is under way. Longer, and the thread may need a lock that the caller holds.
DROP_WAIT_S: Final = 1.0


class QueuePump(Generic[T]):
    """Fills the queue from the reader, as the policy says.

    Attributes:
        changed: the lock of the queue, the errors and the flags; notified when they change.
        hold: what of the reader the queue holds.
        errors: they stand between the items of the queue.
        thread: reads.
        is_blocking: a full queue makes the reader wait.
        has_ended: every publisher seen has ended.
        is_woken: a wait of the consumer is to end.
        is_closed: no more is read.
        failure: ends the consumer when the queue is empty.
        tally: of queues behind the consumer; it knows the consumer.
        bell: of an event loop that waits for a change.
    """

    def __init__(self, reader: Reader[T], queue: Queue[T], on_slow: policy.SlowPolicy) -> None:
        self.reader = reader
        self.queue = queue
        self.changed: Condition = Condition()
        is_dropping = type(queue) is not PlainQueue
        self.hold: QueueHold = QueueHold(self.changed, queue, reader, is_dropping=is_dropping)
        self.errors: PlacedErrors = PlacedErrors()
        self.is_blocking: bool = isinstance(on_slow, policy.Buffer) and on_slow.overflow == "block"
        self.has_ended: bool = False
        self.is_woken: bool = False
        self.is_closed: bool = False
        self.failure: Exception | None = None
        self.tally: weakref.ref[Tally] | None = None
        self.bell: Bell | None = None
        self._prefetch = reader.prefetch
        self._left = Event()
        self._is_over = False  # the thread reads no more
        self._drops: list[Tally | None] = []  # of a subscriber that was dropped
        self.thread: threading.Thread = threading.Thread(
            target=self._run, name=f"rstream-pump-{reader.name or reader.stream_id}", daemon=True
        )

    def note_change(self) -> None:
        """Wake everyone who waits; under the lock."""
        self.changed.notify_all()
        if self.bell is not None:
            self.bell.wake()

    # ---- the thread ----

    def _run(self) -> None:
        try:
            self._read()
        finally:
            self._is_over = True
            self._leave_dropped()

    def _read(self) -> None:
        while not self._is_stopped():
            try:
                for items in _pump.batches(
                    self.reader,
                    self._is_stopped,
                    limit=self._await_room,
                    is_ended=self._note_ended,
                    wait_s=PUMP_WAIT_S,
                ):
                    self._store(items)
            except ClosedError:
                return
            except ConfigError as error:  # it can never wait here
                with self.changed:
                    self.failure = error
                    self.note_change()
            except MessagesLost as error:
                self._await_raised(error)
            except Exception as error:  # a poll of the consumer raises it; reading goes on
                with self.changed:
                    self.errors.put(error, len(self.queue))
                    self.note_change()
        if self.failure is not None:
            self.reader.close()

    def _await_raised(self, error: MessagesLost) -> None:
        """Read on only when the consumer has got the error: it stands between two messages."""
        with self.changed:
            self.errors.put(error, len(self.queue))
            self.note_change()
            while self.errors and not self._is_stopped():
                self.changed.wait(PUMP_WAIT_S)

    def _is_stopped(self) -> bool:
        tally = None if self.tally is None else self.tally()
        is_ending = tally is not None and tally.is_ending  # open for what its queues hold
        return self.is_closed or is_ending or self.failure is not None

    def _note_ended(self) -> bool:
        """Note whether the stream has ended. The pump goes on: another publisher may come."""
        if self.reader.is_ended and not self.has_ended:
            with self.changed:
                self.has_ended = self.is_woken = True
                self.note_change()
        return False

    def _await_room(self) -> int:
        self.hold.settle()  # what the consumer's last call has returned
        with self.changed:
            while self.is_blocking and self.queue.room() < 1 and not self.is_closed:
                self.changed.wait(PUMP_WAIT_S)
            room = self.queue.room() if self.is_blocking else self._prefetch
            return max(1, min(self._prefetch, room))

    def _store(self, items: list[T]) -> None:
        base = self.hold.begin()
        with self.changed:
            self.has_ended = False
            dropped, rest = self.queue.dropped, iter(items)
            try:
                for item in rest:
                    self.queue.put(item)
                self.hold.put(base, len(items))
            except FullError as error:
                count = len(items) - length_hint(rest) - 1
                self.hold.put(base, count)
                self.hold.fail(base + count)
                report = self.reader._report  # pyright: ignore[reportPrivateUsage] - same room
                self.failure = SlowConsumer(
                    f"{report.title} on {self.reader.channel}: {error}, and one more has come",
                    hint="on_slow=Fail left the stream: consume faster, allow more, "
                    "or open another subscriber, which reads from then on",
                    channel=self.reader.channel,
                    stream_id=self.reader.stream_id,
                )
            except Exception as error:  # the user's key or merge function
                self.hold.fail(base + len(items) - length_hint(rest))
                self.failure = error
            if self.queue.drops_oldest:
                self.errors.gone += self.queue.dropped - dropped
            self.note_change()

    # ---- the end ----

    def leave(self, tally: Tally | None) -> None:
        """Give back what waits, and leave the stream; again after an interrupt.

        Args:
            tally: of queues behind the consumer.
        """
        if tally is not None:
            tally.close()
        with self.changed:
            gone = self.hold.close()
        self.reader.close()
        if gone and type(self.queue) is PlainQueue:
            log.warning(
                "%s: %d objects that waited in its queue of %d are lost: they took more than half "
                "of the window, so they had counted as consumed",
                title_of(self.reader),
                gone,
                self.queue.capacity,
            )

    def drop(self, tally: Tally | None) -> None:
        """Leave because the subscriber is collected: what it was given is noted in the hold."""
        self._drops.append(tally)
        self.is_closed = True
        self.reader.stop_joining()
        with suppress(RStreamError):
            self.reader.wake()
        self.changed.nudge()
        if self._is_over or not self.thread.is_alive():
            self._leave_dropped()
        elif self.thread is not threading.current_thread() and not sys.is_finalizing():
            self._left.wait(DROP_WAIT_S)

    def _leave_dropped(self) -> None:
        try:
            tally = self._drops.pop()  # one thread gets it
        except IndexError:
            return
        try:
            with suppress(RStreamError):
                self.hold.settle()
                self.leave(tally)
            if self.bell is not None:
                self.bell.close()
        finally:
            self._left.set()
