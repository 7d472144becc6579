"""Fills the queue of a subscriber with a policy (_buffered.py), as the policy says."""

from __future__ import annotations

import logging
from operator import length_hint
from typing import TYPE_CHECKING, Generic, TypeVar

from rstream import policy
from rstream.errors import ClosedError, ConfigError, MessagesLost, SlowConsumer
from rstream.flow.queues import FullError, PlainQueue, Queue
from rstream.stream import _pump
from rstream.stream._reading._queue_hold import QueueHold
from rstream.stream._reading._queue_thread import PUMP_WAIT_S, QueueThread

if TYPE_CHECKING:
    import weakref

    from rstream.stream._reading._stream_reading import StreamReading
    from rstream.stream._tally import Tally

log = logging.getLogger("rstream")

T = TypeVar("T")


class QueuePump(QueueThread, Generic[T]):
    """Fills the queue from the reader, as the policy says.

    Attributes:
        hold: what of the reader the queue holds.
        is_blocking: a full queue makes the reader wait.
        failure: ends the consumer when the queue is empty.
        tally: of queues behind the consumer; it knows the consumer.
    """

    def __init__(
        self, reader: StreamReading[T], queue: Queue[T], on_slow: policy.SlowPolicy
    ) -> None:
        super().__init__(reader, f"rstream-pump-{reader.name or reader.stream_id}")
        self.reader = reader
        self.queue = queue
        is_dropping = type(queue) is not PlainQueue
        self.hold: QueueHold = QueueHold(self.changed, queue, reader, is_dropping=is_dropping)
        self.is_blocking: bool = isinstance(on_slow, policy.Buffer) and on_slow.overflow == "block"
        self.failure: Exception | None = None
        self.tally: weakref.ref[Tally] | None = None
        self._prefetch = reader.prefetch

    # ---- the thread ----

    def read(self) -> None:
        while not self._is_stopped():
            try:
                for items in _pump.batches(
                    self.reader,
                    self._is_stopped,
                    limit=self._await_room,
                    is_ended=self.note_ended,
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
                report = self.reader.report
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
                self.reader.title,
                gone,
                self.queue.capacity,
            )

    def leave_dropped(self, tally: Tally | None) -> None:
        """As :meth:`leave`, when what the consumer was given is noted in the hold."""
        self.hold.settle()
        self.leave(tally)
