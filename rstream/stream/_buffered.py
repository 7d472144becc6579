"""A subscriber with a queue of its own: a thread reads eagerly, the policy decides what is dropped.

One lock, the condition ``_changed``, guards the queue, the errors and the flags. The pump thread is
the only one that polls the reader; it stores under the lock and notifies. The consumer takes
under the lock, and waits on the condition, never in the reader. An error stands behind the items
that waited in the queue when it came.

What waits does not count as consumed (_queue_hold.py).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from rstream import policy
from rstream._checks import check_timeout
from rstream._condition import Condition
from rstream._process import holds
from rstream.errors import ClosedError, ConfigError, MessagesLost, SlowConsumer
from rstream.flow.queues import (
    ConflateQueue,
    DropNewestQueue,
    DropOldestQueue,
    FullError,
    LatestQueue,
    PlainQueue,
    Queue,
)
from rstream.stream import _pump
from rstream.stream._eviction import check_evict
from rstream.stream._placed_errors import PlacedErrors
from rstream.stream._queue_hold import QueueHold
from rstream.stream._subscriber import NOTHING, Subscriber, title_of
from rstream.stream._watched import Bell

if TYPE_CHECKING:
    from rstream.stream._events import StreamEvent
    from rstream.stream._reader import Reader
    from rstream.stream._tally import Tally

log = logging.getLogger("rstream")

T = TypeVar("T")

PUMP_WAIT_S = 0.5


def queue_of(on_slow: policy.SlowPolicy) -> Queue[Any] | None:
    """The queue of a policy; None: no queue, the transport's window is the only one.

    Raises:
        ConfigError: a field of it cannot be used; the text says which.
    """
    try:
        match on_slow:
            case policy.Block():
                return None
            case policy.Buffer(n=n, overflow="block" | "fail") | policy.Fail(n=n):
                return PlainQueue[Any](n)
            case policy.Buffer(n=n, overflow="drop_newest") | policy.DropNewest(n=n):
                return DropNewestQueue[Any](n)
            case policy.Buffer(n=n, overflow="drop_oldest") | policy.DropOldest(n=n):
                return DropOldestQueue[Any](n)
            case policy.Latest():
                _check_key(on_slow)
                return LatestQueue[Any](on_slow.key, on_slow.keys_max)
            case policy.Conflate():
                if not callable(on_slow.merge):
                    raise ConfigError(
                        f"on_slow={on_slow!r}: merge must be a function of two items, the one that "
                        "waits and the new one"
                    )
                return ConflateQueue[Any](on_slow.merge)
            case policy.Evict():
                check_evict(on_slow)
                return None
            case policy.Buffer():
                raise ConfigError(
                    f"{on_slow!r}: overflow must be block, drop_newest, drop_oldest or fail"
                )
            case _:
                raise ConfigError(
                    f"on_slow={on_slow!r} is no policy",
                    hint="use one of rstream.policy, such as policy.DropOldest(1000)",
                )
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"on_slow={on_slow!r}: {error}") from error


def _check_key(latest: policy.Latest) -> None:
    key: object = latest.key
    if key is not None and not callable(key):
        raise ConfigError(
            f"on_slow={latest!r}: key must be None or a function of an item",
            hint="keys_max limits the number of keys",
        )


class BufferedSubscriber(Subscriber[T], Generic[T]):
    """Takes from a queue that a thread fills. Only a full ``Buffer(n)`` slows the publisher down.

    When the policy fails, or the user's key or merge function raises, the stream is left at once,
    so that this consumer does not hold the publisher. The items in the queue are still handed
    out; after them every poll raises.
    """

    closes_slowly: bool = True

    def __init__(self, reader: Reader[T], queue: Queue[T], on_slow: policy.SlowPolicy) -> None:
        self.prefetch = reader.prefetch
        self.made_at: str = reader.made_at
        self._pid = os.getpid()
        self._reader = reader
        self._queue = queue
        self._taken: list[T] = []  # from the queue, by a call that was interrupted
        self._is_blocking = isinstance(on_slow, policy.Buffer) and on_slow.overflow == "block"
        self._changed = Condition()
        is_dropping = type(queue) is not PlainQueue
        self._hold = QueueHold(self._changed, queue, reader, is_dropping=is_dropping)
        self._tally: Tally | None = None  # of queues behind the consumer
        self._bell: Bell | None = None  # of an event loop that waits for a change
        self._errors = PlacedErrors()
        self._has_ended = self._is_woken = False
        self._failure: Exception | None = None
        self._demand: int | None = None  # of a reactive subscriber; None: the caller polls itself
        self._closed = self._has_left = False
        self._thread = threading.Thread(
            target=self._pump, name=f"rstream-pump-{reader.name or reader.stream_id}", daemon=True
        )

    def start(self) -> Self:
        """Begin to read: apart from the constructor, after which an interrupt may come before the
        caller has this subscriber, and nobody would close it.
        """
        try:
            self._thread.start()
        except BaseException:
            self.close()
            raise
        return self

    def __repr__(self) -> str:
        return f"<rstream.Subscriber over {self._reader!r}>"

    @property
    def _stream_title(self) -> str:
        return title_of(self._reader)

    @property
    def reader(self) -> Reader[T]:
        """The reader behind the queue; for its facts only, because the pump thread polls it."""
        return self._reader

    def _note_change(self) -> None:
        """Wake everyone who waits; under the lock."""
        self._changed.notify_all()
        if self._bell is not None:
            self._bell.wake()

    # ---- the pump's thread ----

    def _pump(self) -> None:
        while not self._is_stopped():
            try:
                for items in _pump.batches(
                    self._reader,
                    self._is_stopped,
                    limit=self._await_room,
                    is_ended=self._note_ended,
                    wait_s=PUMP_WAIT_S,
                ):
                    self._store(items)
            except ClosedError:
                return
            except ConfigError as error:  # it can never wait here
                with self._changed:
                    self._failure = error
                    self._note_change()
            except MessagesLost as error:
                self._await_raised(error)
            except Exception as error:  # a poll of the consumer raises it; reading goes on
                with self._changed:
                    self._errors.put(error, len(self._queue))
                    self._note_change()
        if self._failure is not None:
            self._reader.close()

    def _await_raised(self, error: MessagesLost) -> None:
        """Read on only when the consumer has got the error: it stands between two messages."""
        with self._changed:
            self._errors.put(error, len(self._queue))
            self._note_change()
            while self._errors and not self._is_stopped():
                self._changed.wait(PUMP_WAIT_S)

    def _is_stopped(self) -> bool:
        tally = self._tally
        is_ending = tally is not None and tally.is_ending  # open for what its queues hold
        return self._closed or is_ending or self._failure is not None

    def _note_ended(self) -> bool:
        """Note whether the stream has ended. The pump goes on: another publisher may come."""
        if self._reader.is_ended and not self._has_ended:
            with self._changed:
                self._has_ended = self._is_woken = True
                self._note_change()
        return False

    def _await_room(self) -> int:
        self._hold.settle()  # what the consumer's last call has returned
        with self._changed:
            while self._is_blocking and self._queue.room() < 1 and not self._closed:
                self._changed.wait(PUMP_WAIT_S)
            room = self._queue.room() if self._is_blocking else self.prefetch
            return max(1, min(self.prefetch, room))

    def _store(self, items: list[T]) -> None:
        base = self._hold.begin()
        with self._changed:
            self._has_ended = False
            dropped, rest = self._queue.dropped, iter(items)
            try:
                for item in rest:
                    self._queue.put(item)
                self._hold.put(base, len(items))
            except FullError as error:
                count = len(items) - length_hint(rest) - 1
                self._hold.put(base, count)
                self._hold.fail(base + count)
                report = self._reader._report  # pyright: ignore[reportPrivateUsage] - same room
                self._failure = SlowConsumer(
                    f"{report.title} on {self._reader.channel}: {error}, and one more has come",
                    hint="on_slow=Fail left the stream: consume faster, allow more, "
                    "or open another subscriber, which reads from then on",
                    channel=self._reader.channel,
                    stream_id=self._reader.stream_id,
                )
            except Exception as error:  # the user's key or merge function
                self._hold.fail(base + len(items) - length_hint(rest))
                self._failure = error
            if self._queue.drops_oldest:
                self._errors.gone += self._queue.dropped - dropped
            self._note_change()

    # ---- the consumer's thread ----

    def poll(self, limit: int | None = None) -> list[T]:
        limit = limit or self.prefetch
        hold = self._hold
        if self._closed or not self.has_rest():
            self._take_up(limit)
            taken = self._taken
            done = hold.taken - max(0, len(taken) - limit)
            self._taken, hold.done = taken[limit:], done
            return taken[:limit]  # given: no signal handler has run since
        self.consume(self.handed_out())
        left = length_hint(self._rest)
        base, done = self._rest_end - left, hold.taken - len(self._taken) - max(0, left - limit)
        chosen = islice(self._rest, limit)
        items = [*chosen]  # likewise
        self._base, hold.done = base, done
        return items

    def poll_held(self, limit: int | None) -> list[T]:
        return self._take_held(limit or self.prefetch)

    def poll_demanded(self, demand: int) -> list[T]:
        self._demand = demand
        return self._take_held(min(demand, self.prefetch))

    def _take_held(self, limit: int) -> list[T]:
        self._take_up(limit)
        taken = self._taken
        count = min(len(taken), limit)
        self._rest, self._rest_end, self._base, self.is_given = NOTHING, count, 0, False
        self._taken = taken[limit:]
        self._note_polled(count)
        return taken[:limit]

    def fill(self, limit: int | None) -> None:
        self._take_up(limit or self.prefetch)
        rest, end = iter(self._taken), len(self._taken)
        # In one step: no signal handler runs before a loop can hand them out.
        self._rest, self._rest_end, self._base, self.is_given, self._taken = rest, end, 0, True, []
        self._note_polled(end)

    def _note_polled(self, count: int) -> None:
        tally = self._tally
        if tally is not None:
            tally.base, tally.polled = tally.polled, tally.polled + count

    def lend_to(self, tally: Tally) -> bool:
        if self._closed:
            return False
        last = self._rest_end - self._base
        self._hold.lend(tally, self._hold.taken - len(self._taken) - last)
        tally.polled = tally.base + last
        self._tally = tally
        return True

    def consume(self, count: int) -> None:
        if self._tally is not None:
            self._tally.returned(count)
            return
        hold = self._hold
        done = hold.taken - len(self._taken) - (self._rest_end - self._base - count)
        if done > hold.done:
            hold.done = done
        hold.settle()

    def _take_up(self, limit: int) -> None:
        """Take from the queue, unless a call that was interrupted has left something."""
        if self._closed:
            raise ClosedError(f"{self._stream_title}: this subscriber is closed")
        if self._tally is None:
            self.consume(self.handed_out())
        else:
            self._begin_poll(self._tally)
        is_due = False
        with self._changed:
            self._is_woken = False
            if not self._taken:
                is_due = self._errors.is_due
                count = min(self._errors.most(limit), len(self._queue))
                self._taken = self._queue.take(count)
                self._hold.taken += count
                self._errors.gone += count
            if is_due or (self._is_blocking and self._taken):
                self._note_change()
            # No demand for what waits; an error never overtakes data.
            failure = None if self._taken or len(self._queue) else self._failure
        if is_due:
            raise self._errors.take()
        if failure is not None:
            raise failure

    def _begin_poll(self, tally: Tally) -> None:
        with self._changed:
            let_go = self._hold.let_go()
        tally.begin_poll()
        if let_go is not None:
            tally.let_go = let_go
            tally.settle()

    def wait(self, timeout_s: float | None = None) -> bool:
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while not self.is_ready():
                remaining_s = PUMP_WAIT_S
                if deadline_s is not None:
                    remaining_s = min(remaining_s, deadline_s - time.monotonic())
                    if remaining_s <= 0:
                        return False
                self._changed.wait(remaining_s)
            self._is_woken = False
        return True

    @property
    def watched(self) -> Bell:
        if self._bell is None:
            self._bell = Bell(self._changed, self.is_ready)
        return self._bell

    def is_ready(self) -> bool:
        if self.has_rest() or self._errors.is_due:
            return True
        if self._taken or len(self._queue):
            return self._demand != 0 or self._closed or self._is_woken
        return bool(self._failure or self._closed or self._is_woken)

    def wake(self) -> None:
        with self._changed:
            self._is_woken = True
            self._note_change()

    def events(self) -> list[StreamEvent]:
        return self._reader.taken_events()

    def statistics(self) -> dict[str, int | float | bool]:
        statistics = self._reader.statistics()
        with self._changed:
            statistics |= {
                "waiting": len(self._queue) + len(self._taken),
                "capacity": self._queue.capacity,
                "dropped": self._queue.dropped,
                "conflated": self._queue.conflated,
            }
        return statistics

    @property
    def is_connected(self) -> bool:
        return self._reader.is_connected

    @property
    def is_ended(self) -> bool:
        with self._changed:
            return (
                self._has_ended
                and not self.has_rest()
                and not len(self._queue)
                and not self._taken
                and not self._errors
                and self._failure is None
            )

    def stop_joining(self) -> None:
        self._reader.stop_joining()

    def note_failure(self, error: BaseException | None) -> None:
        self._reader.note_failure(error)

    def close(self) -> None:
        if self._has_left or self.forget_inherited():
            return
        with self._changed:
            self._closed = True
            self._note_change()
        self._count_given()
        if self._tally is not None:
            self._tally.close()
        with self._changed:
            gone = self._hold.close()
        self._reader.close()
        if gone and type(self._queue) is PlainQueue:
            log.warning(
                "%s: %d objects that waited in its queue of %d are lost: they took more than half "
                "of the window, so they had counted as consumed",
                self._stream_title,
                gone,
                self._queue.capacity,
            )
        if self._thread.is_alive() and not (
            self._thread is threading.current_thread() or holds(self._changed)
        ):
            self._thread.join(10.0)
        if self._bell is not None:
            self._bell.close()
        self._has_left = True  # last: a close that was interrupted is made again

    def _count_given(self) -> None:
        """Count what the program was given, and nothing else."""
        self.consume(self.handed_out() - self.in_hand if self.is_given else 0)
