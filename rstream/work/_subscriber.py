"""The reading side of shared work.

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
import socket
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

from rstream import stream
from rstream._channel_uri import ChannelUri
from rstream._checks import check_timeout
from rstream._neighbours import why_quiet, why_refused
from rstream._pickling import refuse_pickling
from rstream._process import holds, is_inherited, quiet_when_torn_down, raise_interrupt
from rstream._unclosed import call_site, warn_unclosed
from rstream._with_hints import refuses_async_with
from rstream.channel import Channel
from rstream.codecs import raw
from rstream.driver import resolve_dir
from rstream.errors import (
    ClosedError,
    CodecError,
    ConfigError,
    ReadTimeout,
    RStreamError,
    StreamEnded,
)
from rstream.stream._inner import inner_reader
from rstream.stream._names import new_stream_id
from rstream.stream._reader import reason_of
from rstream.work._ledger import Ledger
from rstream.work._protocol import HEAD, hello_id
from rstream.work._reporter import Reporter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rstream.codecs import Codec
    from rstream.work._reporter import Settings

__all__ = ("Job", "Subscriber")

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Messages that are done are reported within this time, while more of them are at hand.
COALESCE_S = 0.001
#: Receiver window of the lanes on UDP, in bytes.
WINDOW_BYTES = 512 * 1024


class Job(Generic[T]):
    """One message for one reader.

    Thread rule: any thread.

    Attributes:
        item: the object.
        delivery: 1: given to a reader for the first time. More: it may have been given to one
            before, which died, left, or gave it back.
    """

    __slots__ = ("_is_done", "_lane", "_number", "_owner", "delivery", "item")

    def __init__(
        self, owner: Subscriber[T], item: T, delivery: int, lane: int, number: int
    ) -> None:
        self.item: T = item
        self.delivery: int = delivery
        self._owner: Subscriber[T] = owner
        self._lane = lane
        self._number = number
        self._is_done: bool | None = None  # acknowledged, or given back; None: neither

    def __repr__(self) -> str:
        return f"<rstream.work.Job {self.item!r}, delivery {self.delivery}>"

    @property
    def key(self) -> tuple[int, int]:
        """For its reader: lane and number."""
        return self._lane, self._number

    @property
    def is_redelivered(self) -> bool:
        """Whether it may have been given to a reader before."""
        return self.delivery > 1

    def ack(self) -> None:
        """It is done: nobody gets it again. To say so again changes nothing.

        Raises:
            ClosedError: too late: its reader was closed before, and another one gets it again.
            RStreamError: it was given back before.
        """
        if self._settle(is_done=True):
            return
        if self._owner.has_given_up(self._lane, self._number):
            raise ClosedError(
                f"{self._owner!r}: closed before this job was acknowledged; another reader gets it "
                "again",
                hint="acknowledge jobs before the reader's block ends",
            )

    def give_back(self) -> None:
        """It is not done: its publisher gives it to a reader again, marked. To say so again, or
        when its reader was closed, changes nothing.

        Raises:
            RStreamError: it was acknowledged before: nobody gets it again.
        """
        self._settle(is_done=False)

    def _settle(self, *, is_done: bool) -> bool:
        """False: it was settled before, in the same way, or its reader has left with it."""
        if self._owner.settle(self._lane, self._number, is_done=is_done):
            self._is_done = is_done
            return True
        if self._is_done is (not is_done):
            before = "acknowledged" if self._is_done else "given back"
            raise RStreamError(f"{self._owner!r}: this job was {before} before")
        return False


@refuses_async_with(
    "`with rstream.work.subscriber(...)`, or `async with rstream.aio.work_subscriber(...)` in an "
    "event loop"
)
class Subscriber(Generic[T]):
    """Takes jobs; made by :func:`rstream.work.subscriber`.

    Thread rule: one thread takes jobs; :meth:`Job.ack`, :meth:`Job.give_back` and :meth:`close`
    from any.
    """

    def __init__(self, chosen: Settings, codec: Codec[T]) -> None:
        self._leaving = threading.RLock()
        self._is_closed = self._has_left = True  # __del__ runs even when the lines below raise
        self._made_at: str = call_site()
        self.name: str = chosen.name
        self._chosen = chosen
        self._codec = codec
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._ledger = Ledger(chosen.prefetch)
        self._arrived: list[bytes] = []  # polled, and perhaps not all taken over
        # By lane and number, oldest first: the message and its count of deliveries.
        self._ready: OrderedDict[tuple[int, int], tuple[bytes, int]] = OrderedDict()
        self._current: Job[T] | None = None
        self._unreported = 0  # done since the last report
        self._reported_s = 0.0
        self._taken = self._done = self._refused = 0
        is_network = not chosen.uris[0].startswith("aeron:ipc")
        host = ""
        if is_network:  # publishers believe no name, and no address of somebody else
            host = _numeric(chosen.host) if chosen.host else _route_to(chosen.uris[0])
        source: stream.Reader[bytes] = stream.reader(
            chosen.name,
            channels=[_lanes_channel(host, chosen.port)] if is_network else None,
            stream_id=new_stream_id(),
            codec=raw(),
            on_lost="event",
            on_gap="resume",
            dir=chosen.dir,
        )
        self._source = inner_reader(source, repr(self))
        try:
            self._endpoint = f"{host}:{_port_of(self._source)}" if is_network else ""
            self._reporter = Reporter(
                chosen,
                repr(self),
                ledger=self._ledger,
                lock=self._lock,
                lanes_id=self._source.stream_id,
                endpoint=self._endpoint,
                codec_id=codec.codec_id,
                on_complete=self._source.wake,
            )
            self._is_closed = self._has_left = False
            self._reporter.start()
        except BaseException:
            self._is_closed = True
            if self._has_left:
                self._source.close()
            else:
                self._leave()
            raise

    def __repr__(self) -> str:
        return f"<rstream.work.Subscriber {self.name!r} on {', '.join(self._chosen.uris)}>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    @property
    def endpoint(self) -> str:
        """``host:port`` where publishers send jobs to this reader; empty: shared memory."""
        return self._endpoint

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

    def __iter__(self) -> Iterator[Job[T]]:
        while True:  # with no jump back, where a handler may raise, before the yield
            job = self._next(None)
            if job is None:
                return
            yield job

    def get(self, *, timeout_s: float | None = None) -> Job[T]:
        """Wait for the next job.

        With ``acknowledge="next"`` it acknowledges the one before.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes.
        Raises:
            ReadTimeout: no job within ``timeout_s``.
            StreamEnded: every publisher seen has completed.
            ClosedError: closed here.
        """
        check_timeout(timeout_s)
        job = self._next(timeout_s)
        if job is not None:
            return job
        raise self._why_none(timeout_s)

    def _why_none(self, timeout_s: float | None) -> RStreamError:
        """For the faces: the error of a wait that found no job."""
        if self._is_closed:
            return ClosedError(f"{self!r}: closed")
        if self._is_over:
            return StreamEnded(f"{self!r}: every publisher has completed")
        directory, uris = resolve_dir(self._chosen.dir), self._chosen.uris
        address = (directory, self.name, *(() if self._source.is_connected else uris))
        quiet = why_quiet(*address, stream_id=hello_id(self.name))
        hint = "; ".join((*why_refused(directory), quiet))
        return ReadTimeout(f"{self!r}: no job within {timeout_s} s", hint=hint)

    def _poll(self) -> Job[T] | None:
        """For the faces: the next job, if one is here. It never waits.

        With ``acknowledge="next"`` the job before is done.
        """
        self._leave_current(is_done=True)
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

    def _leave_current(self, *, is_done: bool) -> None:
        """For the faces: the user is through with the job that was handed out last."""
        current = self._current
        if current is None:
            return
        if is_done and self._chosen.acknowledge == "next" and not is_inherited(self._pid):
            self.settle(*current.key, is_done=True)
        self._current = None  # then: an interrupted call acknowledges it again

    def _next(self, timeout_s: float | None) -> Job[T] | None:
        """The next job; None: the end, the time is over, or closed here."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            while not self._is_closed:
                job = self._poll()
                if job is not None:
                    return job
                if self._is_over:
                    return None
                left_s = None if deadline_s is None else deadline_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return None
                self._source.wait(left_s)
        except ClosedError:
            if not self._is_closed:
                raise
        return None

    def _tell_losses(self) -> None:
        for event in self._source.taken_events():
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
    def _is_over(self) -> bool:
        """Whether every publisher seen has completed, and all that it gave was handed out."""
        if self._chosen.stays or self._ready:
            return False
        # In shared memory also publishers are seen that had nothing left for this reader.
        is_complete = self._reporter.is_complete and not self._source.is_connected
        return self._source.is_ended or is_complete

    def _report(self) -> None:
        self._unreported = 0
        self._reported_s = time.monotonic()
        self._reporter.report()

    def _receive(self) -> bool:
        """Take over what has arrived."""
        if not self._arrived:
            self._arrived = self._source.poll()
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
        if is_due and not self._is_closed:
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
            self._is_closed = True
            return
        self._is_closed = True
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
                self._source.close()
            except RStreamError as error:
                log.warning("%r: not closed in good order: %s", self, error)
            self._has_left = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave_current(is_done=exc is None)
        self._note_failure(exc)
        self.close()

    def _note_failure(self, error: BaseException | None) -> None:
        """For the faces, before :meth:`close`: publishers are told with what error it leaves."""
        if isinstance(error, Exception):
            self._reporter.why = reason_of(error)

    @quiet_when_torn_down
    def __del__(self) -> None:
        if self._has_left or is_inherited(self._pid):
            return
        try:
            if not self._is_closed:
                warn_unclosed(self, self._made_at)
        finally:
            self.close()


def _lanes_channel(host: str, port: int) -> Channel:
    return Channel(
        media="udp",
        endpoint=f"{host}:{port}",
        receiver_window=WINDOW_BYTES,
        socket_rcvbuf=2 * WINDOW_BYTES,
    )


def _port_of(reader: stream.Reader[bytes]) -> int:
    for subscription in reader.subscriptions:
        if subscription.local_address:
            return int(subscription.local_address.rpartition(":")[2])
    raise RStreamError("the port of a reader is not known: its driver published no local address")


def _numeric(host: str) -> str:
    """The address of a host."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(f"host={host!r}: no address is known: {error}") from error
    return _bracketed(str(found[0][4][0]))


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _route_to(uri: str) -> str:
    """The local address from which datagrams to a channel's endpoint would leave."""
    host, _, port = (ChannelUri.parse(uri).get("endpoint") or "").rpartition(":")
    family, kind, protocol, _, address = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(address)  # sends nothing
        local = str(probe.getsockname()[0])
    return _bracketed(local)
