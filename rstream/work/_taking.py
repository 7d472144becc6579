"""The reading side of shared work, in steps (:mod:`rstream._waits`) that a thread or an event loop
performs.

The lanes of all publishers are one stream to this reader. It counts what it has and what it has
done (``_ledger.py``), and reports that to every publisher (``_reporter.py``): at once when it has
done a message that the publisher waits for, and in parts when it works on many small ones.

``_lock`` guards the ledger. It is held for moments. It is reentrant, for signal handlers.

A handler may also raise, and so end a call anywhere; then the next call goes on. What has arrived
stays in ``_arrived`` until all of it is in the ledger and in ``_ready``; a job stays in ``_ready``
until it is opened; the last instructions before it is returned make it the current one. CPython
runs handlers where a function begins, where a loop jumps back, and after a call, so there is no
call among those instructions.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, TypeVar, final

from rstream import stream
from rstream._neighbours import why_quiet, why_refused
from rstream._process import holds, is_inherited, quiet_when_torn_down, raise_interrupt
from rstream._unclosed import call_site, warn_unclosed
from rstream._waits import Deadline, News, Work
from rstream.driver import resolve_dir
from rstream.errors import (
    ClosedError,
    CodecError,
    ReadTimeout,
    RStreamError,
    StreamEnded,
)
from rstream.stream._internal import WAIT_FOREVER_S, reason_of
from rstream.work._job import Job
from rstream.work._lanes import open_lanes
from rstream.work._ledger import JobLedger
from rstream.work._protocol import HEAD, hello_id
from rstream.work._reporter import Reporter

if TYPE_CHECKING:
    from rstream._waits import Steps
    from rstream.codecs import Codec
    from rstream.stream._internal import StreamReading
    from rstream.work._settings import TakingSettings

__all__ = ("Taking",)

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Messages that are done are reported within this time, while more of them are at hand.
COALESCE_S: Final = 0.001


@final
class Taking(Generic[T]):
    """What the readers of shared work for threads and for event loops share: they run its steps.

    Args:
        chosen: the settings.
        codec: of the objects.
        made_at: file and line of the program; empty: of the caller.

    Attributes:
        name: of the work.
        source: the stream of all lanes.
        endpoint: ``host:port`` where publishers send jobs to this reader; empty: shared memory.
        is_closed: it takes no more.
    """

    def __init__(self, chosen: TakingSettings, codec: Codec[T], made_at: str = "") -> None:
        self._leaving = threading.RLock()
        self._has_left = True  # __del__ runs even when the lines below raise
        self.is_closed: bool = True
        self._made_at = made_at or call_site()
        self.name: str = chosen.name
        self._title = f"<rstream.work.Subscriber {chosen.name!r} on {', '.join(chosen.uris)}>"
        self._chosen = chosen
        self._codec = codec
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._ledger = JobLedger(chosen.prefetch)
        self._arrived: list[bytes] = []  # polled, and perhaps not all taken over
        # By lane and number, oldest first: the message and its count of deliveries.
        self._ready: OrderedDict[tuple[int, int], tuple[bytes, int]] = OrderedDict()
        self._current: Job[T] | None = None
        self._unreported = 0  # done since the last report
        self._reported_s = 0.0
        self._taken = self._done = self._refused = 0
        self.source: StreamReading[bytes]
        self.endpoint: str
        self.source, self.endpoint = open_lanes(chosen, self._title)
        try:
            self._reporter = Reporter(
                chosen,
                self._title,
                ledger=self._ledger,
                lock=self._lock,
                lanes_id=self.source.stream_id,
                endpoint=self.endpoint,
                codec_id=codec.codec_id,
                on_complete=self.source.wake,
            )
            self.is_closed = self._has_left = False
            self._reporter.start()
        except BaseException:
            self.is_closed = True
            if self._has_left:
                self.source.close()
            else:
                self._leave()
            raise

    def __repr__(self) -> str:
        return self._title

    def statistics(self) -> dict[str, int]:
        """Counts since the start, and of now: ``held`` are jobs that are not done yet."""
        with self._lock:
            return {
                "taken": self._taken,
                "acknowledged": self._done,
                "refused": self._refused,
                "held": self._ledger.held,
                "publishers": self._ledger.lanes,
            }

    # ---- taking ----

    def why_none(self, timeout_s: float | None) -> RStreamError:
        """The error of a wait that found no job."""
        if self.is_closed:
            return ClosedError(f"{self._title}: closed")
        if self.is_over:
            return StreamEnded(f"{self._title}: every publisher has completed")
        directory, uris = resolve_dir(self._chosen.dir), self._chosen.uris
        address = (directory, self.name, *(() if self.source.is_connected else uris))
        quiet = why_quiet(*address, stream_id=hello_id(self.name))
        hint = "; ".join((*why_refused(directory), quiet))
        return ReadTimeout(f"{self._title}: no job within {timeout_s} s", hint=hint)

    def poll(self) -> Job[T] | None:
        """The next job, if one is here. It never waits.

        With ``acknowledge="next"`` the job before is done.
        """
        self.leave_current(is_done=True)
        ready = self._ready
        while True:
            while ready and not self._arrived:  # else the last call was interrupted
                key = next(iter(ready))
                job = self._open_job(*key, *ready[key])
                del ready[key]
                if job is not None:
                    self._current = job
                    self._taken += 1
                    return job
            if not self._receive():
                break
        if self._unreported:
            self._report()
        self._tell_losses()
        return None

    def leave_current(self, *, is_done: bool) -> None:
        """The user is through with the job that was handed out last."""
        current = self._current
        if current is None:
            return
        if is_done and self._chosen.acknowledge == "next" and not is_inherited(self._pid):
            self.settle(*current.key, is_done=True)
        self._current = None  # then: an interrupted call acknowledges it again

    def at_hand(self) -> Job[T] | None:
        """The next job, if one is here and this reader is open: the fast case of `next_steps`."""
        try:
            return None if self.is_closed else self.poll()
        except ClosedError:
            if not self.is_closed:
                raise
        return None

    def next_steps(self, timeout_s: float | None) -> Steps[Job[T] | None]:
        """The next job; None: the end, the time is over, or closed here."""
        deadline = Deadline(timeout_s)
        source = self.source
        try:
            while not self.is_closed:
                job = self.poll()
                if job is not None:
                    return job  # no signal handler runs before the caller has it
                if source.must_join:  # not in a thread, where the poll joins again
                    yield Work(source.join_again)
                    continue
                if self.is_over:
                    return None
                if deadline.is_over:
                    return None
                yield News(source, deadline.left_s(WAIT_FOREVER_S))
        except ClosedError:
            if not self.is_closed:
                raise
        return None

    def _tell_losses(self) -> None:
        for event in self.source.taken_events():
            if isinstance(event, stream.Lost):
                log.warning(
                    "%r: a publisher at %s has died; what it had not given out is gone with it",
                    self,
                    event.source or "an unknown address",
                )
            elif isinstance(event, stream.Failed):
                log.warning(
                    "%r: a publisher has given this reader up; its jobs go to others, too", self
                )
            elif isinstance(event, stream.SessionChanged):
                log.warning("%r: %s; it has joined again", self, event.reason)

    @property
    def is_over(self) -> bool:
        """Whether every publisher seen has completed, and all that it gave was handed out."""
        if self._chosen.stays or self._ready:
            return False
        # In shared memory also publishers are seen that had nothing left for this reader.
        is_complete = self._reporter.is_complete and not self.source.is_connected
        return self.source.is_ended or is_complete

    def _report(self) -> None:
        self._unreported = 0
        self._reported_s = time.monotonic()
        self._reporter.report()

    def _receive(self) -> bool:
        """Take over what has arrived."""
        if not self._arrived:
            self._arrived = self.source.poll()
        if not self._arrived:
            return False
        with self._lock:
            refused = sum(not self._take_over(payload) for payload in self._arrived)
            has_others = self._ledger.lanes > 1
            self._arrived = []
            self._refused += refused
        if has_others:  # they must know that there is less free demand
            self._report()
        return True

    def _take_over(self, payload: bytes) -> bool:
        """Note one message that has arrived. False: it is refused. Idempotent. Under lock."""
        if len(payload) < HEAD.size:
            return False
        lane, number, delivery = HEAD.unpack_from(payload)
        if (lane, number) not in self._ready:
            if not self._ledger.is_next(lane, number):
                return False
            self._ready[lane, number] = payload, delivery
        self._ledger.received(lane, number)
        return True

    def _open_job(self, lane: int, number: int, payload: bytes, delivery: int) -> Job[T] | None:
        with self._lock:
            self._ledger.started(lane, number)
        try:
            (item,) = self._decode(payload)
        except Exception as error:
            raise_interrupt(error, lambda: self._decode(payload))
            text = error if isinstance(error, CodecError) else repr(error)
            log.error("%r: a job is given back, it cannot be decoded: %s", self, text)
            self._refused += 1
            self.settle(lane, number, is_done=False)
            return None
        return Job(self, item, delivery, lane, number)

    def _decode(self, payload: bytes) -> list[T]:
        return self._codec.decode_many([payload[HEAD.size :]])

    def settle(self, lane: int, number: int, *, is_done: bool) -> bool:
        """For :class:`Job`: it is done, or given back. False: it was before, or it is too late."""
        with self._lock:
            ledger = self._ledger
            settled = ledger.done(lane, number) if is_done else ledger.give_back(lane, number)
            if not settled:
                return False
            self._done += is_done
            self._unreported += 1
            is_due = (
                self._unreported * 2 >= self._chosen.prefetch
                or self._chosen.acknowledge == "explicit"
                or time.monotonic() - self._reported_s >= COALESCE_S
            )
        if is_due and not self.is_closed:
            self._report()
        return True

    def has_given_up(self, lane: int, number: int) -> bool:
        """For :class:`Job`: whether it has left with this one, which others get."""
        with self._lock:
            return self._ledger.has_left_with(lane, number)

    # ---- the end ----

    def close(self) -> None:
        """Leave. Jobs that are not acknowledged go to other readers: marked, unless nobody has seen
        them. Idempotent; any thread, and a signal handler. In a forked child it does nothing.
        """
        if is_inherited(self._pid):  # another thread may have held the lock
            self.is_closed = True
            return
        self.is_closed = True
        if self._has_left:
            return
        if holds(self._lock) or holds(self._leaving):
            # In a signal handler. The reporter's thread may wait for the lock, so it is not awaited
            # here.
            threading.Thread(target=self._leave, name=f"rstream-leave-{self.name}").start()
        else:
            self._leave()

    def _leave(self) -> None:
        """Leave, once. A call that was interrupted is made again by the next :meth:`close`."""
        with self._leaving:
            if self._has_left:
                return
            self._reporter.close()
            try:
                self.source.close()
            except RStreamError as error:
                log.warning("%r: not closed in good order: %s", self, error)
            self._has_left = True

    def note_failure(self, error: BaseException | None) -> None:
        """Before :meth:`close`: publishers are told with what error it leaves."""
        if isinstance(error, Exception):
            self._reporter.why = reason_of(error)

    @quiet_when_torn_down
    def __del__(self) -> None:
        if self._has_left or is_inherited(self._pid):
            return
        try:
            if not self.is_closed:
                warn_unclosed(self, self._made_at)
        finally:
            self.close()
