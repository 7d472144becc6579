"""A caller's line to one server: a publisher for requests, a reader for answers.

A line serves one life of a server. When the server closes or dies, or the driver does, every
outstanding request fails at once, and the next request opens another line to the next server.

Nothing here waits, but for :meth:`Line.send_large`: who asks waits for :attr:`Line.news`, and then
calls :meth:`Line.take`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream._addresses import local_address_towards
from rstream._neighbours import hint_for_publisher, why_refused
from rstream._other_drivers import tell_others
from rstream._session import opened, release
from rstream._waits import News
from rstream.errors import (
    BackPressured,
    ClosedError,
    DriverError,
    NoServer,
    NotConnected,
    RStreamError,
    ServerLost,
    TransportError,
)
from rstream.service._calls import Call, Calls
from rstream.service._wire import HEAD, MessageKind
from rstream.stream import (
    Completed,
    Disconnected,
    Failed,
    Gap,
    Lost,
    Publisher,
    Unavailable,
    publisher,
    reader,
)
from rstream.stream._internal import inner_publisher, inner_reader, new_stream_id, uri_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._session import Link
    from rstream.codecs import Encoded
    from rstream.service._place import ServicePlace
    from rstream.stream._internal import StreamReading

#: A caller looks so long for its answer before it sleeps. A server that sleeps takes 50 µs to wake,
#: and the look outlasts that: otherwise both would sleep in each round trip.
EXPECT_S: Final = 100e-6
#: Most answers taken at once.
BATCH = 256
#: Seconds between two looks at whether the server lives, while a caller waits.
LOOK_S = 0.05
#: Seconds without an answer after which a caller looks at the server before it asks. Less than any
#: server takes to close and another one to open: some 0.8 ms.
QUIET_S = 0.0002
#: Seconds without a server after which a request in parts fails.
AWAY_S = 1.0
#: Seconds that closing waits until the server has read the last requests.
LINGER_S = 0.2


class Line:
    """Opened by the constructor, which takes some milliseconds, more when it starts a driver.

    Args:
        place: the service.
        dir: driver directory; None: the default.
        outstanding: most requests without an answer.
    Raises:
        ConfigError, DriverError: it cannot be opened.
    """

    def __init__(self, place: ServicePlace, dir: str | None, outstanding: int) -> None:
        self.place: ServicePlace = place
        self.where: str = f"service {place.name!r} on {place.channel}"
        self.calls: Calls = Calls(self.where, place.channel, outstanding)
        self.is_dead: bool = False
        self._is_closed = False
        self._make_failure: Callable[[Call], Exception] = lambda _: self.closed_error()
        self._was_connected = False
        self._messages: list[bytes] = []  # of the last poll; those from _next on are not noted
        self._next = 0
        self._heard_s = time.monotonic()
        self.stream_id: int = new_stream_id()
        self._port = 0
        self._before = b""
        self._link: Link
        self.directory: str
        self.answers: StreamReading[bytes]
        self._asks: Publisher[bytes]
        host = opened(dir, None, self._open)
        self._unparted_max = self._asks.max_unparted_length
        #: The wait for an answer or an event, until the next look.
        self.news: News = News(self.answers, LOOK_S)
        if host:
            self._before = bytes([len(host)]) + host.encode()

    def _open(self, link: Link) -> str:
        """Open both streams; returns the host where it listens, empty in shared memory."""
        self._link = link
        self.directory = link.directory
        host = self._open_answers()
        try:
            asks: Publisher[bytes] = publisher(
                self.place.ask_name,
                bytes,
                channel=self.place.channel,
                client=link.client,
                linger_s=LINGER_S,
                connect_timeout_s=AWAY_S,
            )
        except BaseException:
            self.answers.close()
            raise
        self._asks = inner_publisher(asks, self.where)
        return host

    def _open_answers(self) -> str:
        """Open the reader; returns the host where it listens, empty in shared memory."""
        place, host = self.place, ""
        if place.is_udp:
            host = local_address_towards(uri_keys(place.channel)["endpoint"])
        answers = reader(
            place.answer_name,
            bytes,
            channels=[place.answer_channel(host, 0)],
            stream_id=self.stream_id,
            prefetch=BATCH,
            on_gap="resume",
            client=self._link.client,
        )
        self.answers = inner_reader(answers, self.where)
        self.answers.look_s = EXPECT_S
        if place.is_udp:
            bound = self.answers.subscriptions[0].local_address or ""
            self._port = int(bound.rpartition(":")[2] or 0)
        return host

    # ---- asking ----

    def message(self, kind: int, codec_id: int, call_id: int, number: int, body: bytes) -> bytes:
        """The bytes of a message to the server."""
        head = HEAD.pack(kind, codec_id, self._port, self.stream_id, call_id, number)
        return head + self._before + body

    def offer(self, message: bytes) -> int:
        """Try to send; returns what ``Publisher.offer`` returns.

        Raises:
            ServerLost: the driver died.
            MessageTooLarge: it does not fit.
        """
        try:
            return self._asks.offer(message)
        except DriverError as error:
            raise self.on_driver_lost(error) from error

    def is_large(self, message: bytes) -> bool:
        """Whether a message travels in parts: :meth:`send_large` must send it, in a thread."""
        return len(message) > self._unparted_max

    @property
    def is_connected(self) -> bool:
        """Whether a server reads what is sent."""
        return self._asks.is_connected

    def send_large(self, message: bytes, timeout_s: float) -> None:
        """Send a message in parts; waits.

        Args:
            message: the bytes.
            timeout_s: most seconds to wait for room for one part.
        Raises:
            ServerLost: the driver or the server died.
            BackPressured, MessageTooLarge, ClosedError: as for :meth:`Publisher.send`.
        """
        try:
            self._asks.send(message, timeout_s=max(0.0, timeout_s))
        except NotConnected as error:
            text = "its server has gone"
            self.die(text)
            raise self._lost(text) from error
        except DriverError as error:
            raise self.on_driver_lost(error) from error

    def refused(self, reason: int, waited_s: float) -> Exception:
        """The error of a request that could not be sent in time."""
        if reason == _core.NOT_CONNECTED:
            address = self.place.ask_name, self.place.channel
            hint = hint_for_publisher(self.directory, *address)
            told = (*why_refused(self.directory), hint, tell_others(self.directory))
            return NoServer(
                f"{self.where}: nobody serves it in {self.directory}; waited {waited_s:.3g} s"
                + "".join(f"; {one}" for one in told if one),
                hint="start the server: same name, channel and driver directory; `rstream stat` "
                "lists the readers",
                channel=self.place.channel,
            )
        return BackPressured(
            f"{self.where}: no room for a request within {waited_s:.3g} s",
            hint="the server is slower than its callers, or stands still: raise timeout_s, or "
            "ask for less at a time",
            channel=self.place.channel,
        )

    def tell(self, kind: int, call_id: int, number: int = 0) -> bool:
        """Send a message that the server can do without, such as a cancellation; never waits."""
        if self.is_dead:
            return False
        try:
            return self._asks.offer(self.message(kind, 0, call_id, number, b"")) > 0
        except RStreamError:
            return False

    def forget(self, call: Call) -> None:
        """Give a request up, and tell the server."""
        self.calls.by_id.pop(call.call_id, None)
        if not call.is_over:
            self.tell(MessageKind.CANCEL, call.call_id)

    # ---- answers ----

    def take(self) -> int:
        """Take the answers that are here; returns how many messages there were.

        Raises:
            ClosedError: the line was closed here.
        """
        if self._next >= len(self._messages):  # else the last call was interrupted
            try:
                self._messages = self.answers.poll(BATCH)
                self._next = 0
            except DriverError as error:
                self.on_driver_lost(error)
                return 0
        messages, on_message = self._messages, self.calls.on_message
        for data in messages[self._next :]:
            on_message(data)
            self._next += 1
        if messages:
            self._heard_s = time.monotonic()
        else:
            self.look()
        return len(messages)

    @property
    def is_quiet(self) -> bool:
        """Whether the last sign of the server is so old that another one may be there by now."""
        return time.monotonic() - self._heard_s > QUIET_S

    def look(self) -> None:
        """See whether the server is still there."""
        if self.is_dead:
            return
        for event in self.answers.taken_events():
            if isinstance(event, (Completed, Failed, Lost, Unavailable)):
                how = "closed" if isinstance(event, (Completed, Failed)) else "died"
                self.die(f"its server has {how}")
                return
            if isinstance(event, Gap):
                self.die("answers were lost")
                return
        if self._asks.is_connected:
            self._was_connected = True
        if self._was_connected and any(isinstance(e, Disconnected) for e in self._asks.events()):
            self.die("its server has gone")

    def on_driver_lost(self, error: DriverError) -> ServerLost:
        """Fail every outstanding request; returns the error of a next one."""
        text = f"the driver in {self.directory} was lost: {error}"
        self.die(text)
        return self._lost(text)

    def _lost(self, why: str, call: Call | None = None) -> ServerLost:
        count = 0 if call is None else call.count
        when = f"after {count} answers of the stream" if count else "before it answered"
        return ServerLost(
            f"{self.where}: {why} {when}",
            hint="it may have carried the request out or not; ask again only if that does no harm",
            channel=self.place.channel,
        )

    def die(self, why: str) -> None:
        """Fail every outstanding request. The line is of no use any more."""
        if not self.is_dead:
            self._make_failure = lambda call: self._lost(why, call)
            self.is_dead = True
        self.fail_rest()

    def fail_rest(self) -> None:
        """Fail the requests of a dead line that have not failed yet: :meth:`die` may have been
        interrupted, or a request may have come since.
        """
        self.calls.fail_all(self._make_failure)

    # ---- life ----

    def closed_error(self) -> ClosedError:
        """The error of requests that wait while the line is closed."""
        return ClosedError(f"{self.where}: closed here", channel=self.place.channel)

    def give_up(self, error: TransportError) -> None:
        """Fail what is outstanding, and tell the server. The line is of no use any more."""
        for call_id in list(self.calls.by_id):
            self.tell(MessageKind.CANCEL, call_id)
        self._make_failure = lambda _: error
        self.is_dead = True
        self.fail_rest()

    def statistics(self) -> dict[str, int]:
        """Counts of this line."""
        calls = self.calls
        return {
            "outstanding": len(calls.by_id),
            "answered": calls.answered,
            "late": calls.late,
        }

    def close(self, error: TransportError | None = None) -> None:
        """Fail what is outstanding, and close both streams. Idempotent; at most ``LINGER_S``."""
        if self._is_closed:
            return
        self.give_up(error or self.closed_error())
        self.answers.close()
        self._asks.close()
        self._is_closed = True  # here: a call that was interrupted is made again
        release(self._link)


def joined(encoded: Encoded) -> bytes:
    """One buffer of the parts that a codec may return."""
    if isinstance(encoded, bytes):
        return encoded
    return b"".join(encoded) if isinstance(encoded, list) else bytes(encoded)
