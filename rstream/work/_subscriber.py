"""The reading side of shared work.

The lanes of all publishers are one stream to this reader. It counts what it has and what it has
done (``_ledger.py``), and reports that to every publisher: at once when it has done a message that
the publisher waits for, in parts when it works on many small ones, and once a second in any case.

A thread of its own reports while the user works: to a publisher that comes, once a second, and
again when a report found no room.

``_lock`` guards the ledger. It is held for moments.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, TypeVar

from rstream import stream
from rstream._channel_uri import ChannelUri
from rstream._checks import check_timeout
from rstream.channel import Channel
from rstream.codecs import raw
from rstream.driver import watch_loop
from rstream.errors import ClosedError, CodecError, ReadTimeout, RStreamError, StreamEnded
from rstream.stream._names import new_stream_id
from rstream.work._ledger import Ledger
from rstream.work._protocol import HEAD, REPORT_TERM, VERSION, Report, hello_id, reports_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rstream.codecs import Codec

__all__ = ("Job", "Subscriber")

log = logging.getLogger("rstream")

T = TypeVar("T")

#: How often a reader reports without anything new.
REPORT_EVERY_S = 1.0
#: How soon it tries again when a report found no room.
RETRY_S = 0.002
#: How often a reader on UDP looks whether a publisher has come.
LOOK_EVERY_S = 0.1
#: Messages that are done are reported within this time, while more of them are at hand.
COALESCE_S = 0.001
#: Receiver window of the lanes on UDP, in bytes.
WINDOW_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of :func:`rstream.work.subscriber`, checked."""

    name: str
    uris: list[str]
    host: str | None
    port: int
    prefetch: int
    acknowledge: Literal["next", "explicit"]
    stays: bool
    dir: str | None


class Job(Generic[T]):
    """One message for one reader.

    Thread rule: any thread.

    Attributes:
        item: the object.
        delivery: 1: given to a reader for the first time. More: it may have been given to one
            before, which died, left, or gave it back.
    """

    __slots__ = ("_lane", "_number", "_owner", "delivery", "item")

    def __init__(
        self, owner: Subscriber[T], item: T, delivery: int, lane: int, number: int
    ) -> None:
        self.item: T = item
        self.delivery: int = delivery
        self._owner: Subscriber[T] = owner
        self._lane = lane
        self._number = number

    def __repr__(self) -> str:
        return f"<rstream.work.Job {self.item!r}, delivery {self.delivery}>"

    @property
    def is_redelivered(self) -> bool:
        """Whether it may have been given to a reader before."""
        return self.delivery > 1

    def ack(self) -> None:
        """It is done: nobody gets it again. Idempotent."""
        self._owner.settle(self._lane, self._number, is_done=True)

    def give_back(self) -> None:
        """It is not done: its publisher gives it to a reader again, marked. Idempotent."""
        self._owner.settle(self._lane, self._number, is_done=False)


class Subscriber(Generic[T]):
    """Takes jobs; made by :func:`rstream.work.subscriber`.

    Thread rule: one thread takes jobs; :meth:`Job.ack`, :meth:`Job.give_back` and :meth:`close`
    from any.
    """

    def __init__(self, chosen: Settings, codec: Codec[T]) -> None:
        self.name: str = chosen.name
        self._chosen = chosen
        self._codec = codec
        self._number = secrets.randbits(63)
        self._lock = threading.Lock()
        self._ledger = Ledger(chosen.prefetch)
        self._ready: deque[tuple[bytes, int, int, int]] = deque()
        self._current: Job[T] | None = None
        self._unreported = 0  # done since the last report
        self._reported_s = 0.0
        self._is_unsent = False  # a report found no room
        self._is_closed = self._is_stopped = False
        self._taken = self._done = self._refused = 0
        self._stopped = threading.Event()
        self._source: stream.Reader[bytes]
        self._hello: stream.Reader[bytes] | None = None
        self._controls: list[stream.Publisher[Report]] = []
        try:
            self._open()
        except BaseException:
            self._close_streams()
            raise
        self._thread = threading.Thread(
            target=self._run, name=f"rstream-work-{chosen.name}", daemon=True
        )
        watch_loop(self)
        self._thread.start()

    def _open(self) -> None:
        chosen = self._chosen
        self._is_network = not chosen.uris[0].startswith("aeron:ipc")
        host = (chosen.host or _route_to(chosen.uris[0])) if self._is_network else ""
        self._source = stream.reader(
            chosen.name,
            channels=[_lanes_channel(host, chosen.port)] if self._is_network else None,
            stream_id=new_stream_id(),
            codec=raw(),
            on_lost="event",
            on_gap="resume",
            dir=chosen.dir,
        )
        self._endpoint = f"{host}:{_port_of(self._source)}" if self._is_network else ""
        for uri in chosen.uris:
            channel = ChannelUri.parse(uri).with_defaults({"term-length": str(REPORT_TERM)})
            self._controls.append(
                stream.publisher(
                    chosen.name,
                    type=Report,
                    channel=str(channel),
                    stream_id=reports_id(chosen.name),
                    linger_s=0,
                    dir=chosen.dir,
                )
            )
        if not self._is_network:
            self._hello = stream.reader(
                chosen.name,
                stream_id=hello_id(chosen.name),
                codec=raw(),
                on_lost="event",
                on_gap="resume",
                dir=chosen.dir,
            )

    def __repr__(self) -> str:
        return f"<rstream.work.Subscriber {self.name!r} on {', '.join(self._chosen.uris)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to its process and cannot be pickled; open one there")

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
        while (job := self._next(None)) is not None:
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
        if self._is_closed:
            raise ClosedError(f"{self!r}: closed")
        if self._is_over():
            raise StreamEnded(f"{self!r}: every publisher has completed")
        raise ReadTimeout(f"{self!r}: no job within {timeout_s} s")

    def _next(self, timeout_s: float | None) -> Job[T] | None:
        """The next job; None: the end, the time is over, or closed here."""
        current, self._current = self._current, None
        if current is not None and self._chosen.acknowledge == "next":
            current.ack()
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            while not self._is_closed:
                while self._ready:
                    job = self._open_job(*self._ready.popleft())
                    if job is not None:
                        self._current = job
                        return job
                if self._receive():
                    continue
                if self._unreported:
                    self._report()
                if self._is_over():
                    return None
                left_s = None if deadline_s is None else deadline_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return None
                self._source.wait(left_s)
        except ClosedError:
            if not self._is_closed:
                raise
        return None

    def _is_over(self) -> bool:
        return self._source.is_ended and not self._ready and not self._chosen.stays

    def _receive(self) -> bool:
        """Take over what has arrived."""
        payloads = self._source.poll()
        if not payloads:
            return False
        with self._lock:
            for payload in payloads:
                if len(payload) < HEAD.size:
                    self._refused += 1
                    continue
                lane, number, delivery = HEAD.unpack_from(payload)
                self._ledger.received(lane, number)
                self._ready.append((payload, lane, number, delivery))
            has_others = self._ledger.lanes > 1
        if has_others:  # they must know that there is less free demand
            self._report()
        return True

    def _open_job(self, payload: bytes, lane: int, number: int, delivery: int) -> Job[T] | None:
        with self._lock:
            self._ledger.started(lane, number)
            self._taken += 1
        try:
            (item,) = self._codec.decode_many([payload[HEAD.size :]])
        except Exception as error:
            text = error if isinstance(error, CodecError) else repr(error)
            log.error("%r: a job is given back, it cannot be decoded: %s", self, text)
            self._refused += 1
            self.settle(lane, number, is_done=False)
            return None
        return Job(self, item, delivery, lane, number)

    def settle(self, lane: int, number: int, *, is_done: bool) -> None:
        """For :class:`Job`: it is done, or given back."""
        with self._lock:
            ledger = self._ledger
            settled = ledger.done(lane, number) if is_done else ledger.give_back(lane, number)
            if not settled:
                return
            self._done += is_done
            self._unreported += 1
            is_due = (
                self._unreported * 2 >= self._chosen.prefetch
                or self._chosen.acknowledge == "explicit"
                or time.monotonic() - self._reported_s >= COALESCE_S
            )
        if is_due and not self._is_closed:
            self._report()

    # ---- reporting ----

    def _report(self, *, is_leaving: bool = False) -> bool:
        """Tell every publisher the state. False: one of them has no room for it now."""
        with self._lock:
            lanes = self._ledger.reports(is_leaving=is_leaving)
            self._unreported = 0
            self._reported_s = time.monotonic()
        is_sent = True
        for control in self._controls:
            report = Report(
                version=VERSION,
                reader=self._number,
                session=control.session_id,
                stream_id=self._source.stream_id,
                endpoint=self._endpoint,
                prefetch=self._chosen.prefetch,
                codec_id=self._codec.codec_id,
                is_leaving=is_leaving,
                lanes=lanes,
            )
            try:
                # Without a publisher there is nobody to tell: one that comes gets the next report.
                is_sent &= control.offer(report) > 0 or not control.is_connected
            except ClosedError:
                break
            except RStreamError as error:
                log.warning("%r: publishers could not be told: %s", self, error)
                is_sent = False
        if not is_sent and not self._is_unsent:
            self._is_unsent = True
            self._prompt()
        return is_sent

    def _prompt(self) -> None:
        """Wake the thread that reports."""
        if self._hello is None:
            self._stopped.set()
        else:
            with suppress(RStreamError):
                self._hello.wake()

    def _run(self) -> None:
        connected = [False] * len(self._controls)
        next_s = 0.0
        while not self._is_stopped:
            try:
                now_s = time.monotonic()
                before, connected = connected, [one.is_connected for one in self._controls]
                has_new = self._hello is not None and self._has_new_publisher(self._hello)
                if self._is_unsent or has_new or before != connected or now_s >= next_s:
                    self._is_unsent = False
                    self._is_unsent = not self._report()
                    next_s = now_s + REPORT_EVERY_S
                self._pause(RETRY_S if self._is_unsent else max(0.0, next_s - time.monotonic()))
            except ClosedError:
                return
            except RStreamError as error:
                log.warning("%r: %s; it tries again", self, error)
                time.sleep(0.1)
            except Exception:
                log.exception("%r: a report failed; it tries again", self)
                time.sleep(REPORT_EVERY_S)

    @staticmethod
    def _has_new_publisher(hello: stream.Reader[bytes]) -> bool:
        hello.poll()
        return any(isinstance(event, stream.Available) for event in hello.events())

    def _pause(self, seconds: float) -> None:
        if self._hello is not None:
            self._hello.wait(seconds)
        elif self._stopped.wait(min(seconds, LOOK_EVERY_S)):
            self._stopped.clear()

    # ---- the end ----

    def close(self) -> None:
        """Leave. Jobs that are not acknowledged go to other readers: marked, unless nobody has seen
        them. Idempotent; any thread.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self.stop()
        if self._thread is not threading.current_thread():
            self._thread.join()
        with suppress(RStreamError):
            self._report(is_leaving=True)
        self._close_streams()

    def _close_streams(self) -> None:
        ends: list[Any] = [*self._controls, self._hello, getattr(self, "_source", None)]
        for one in ends:
            if one is None:
                continue
            try:
                one.close()
            except RStreamError as error:
                log.warning("%r: not closed in good order: %s", one, error)

    def stop(self) -> None:
        """Stop the thread without waiting for anything; at the end of the program."""
        self._is_stopped = True
        self._prompt()

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
        current, self._current = self._current, None
        if current is not None and exc is None and self._chosen.acknowledge == "next":
            current.ack()
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


def _route_to(uri: str) -> str:
    """The local address from which datagrams to a channel's endpoint would leave."""
    host, _, port = (ChannelUri.parse(uri).get("endpoint") or "").rpartition(":")
    family, kind, protocol, _, address = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(address)  # sends nothing
        local = str(probe.getsockname()[0])
    return f"[{local}]" if ":" in local else local
