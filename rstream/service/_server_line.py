"""The server's side without the user's function: who asks, what is wanted, and what goes back.

Nothing here waits, except where it is opened and closed. The function is called by the steps of
:mod:`rstream.service._serving`.

A caller that is slow holds nobody up. What it has no room for waits here: at most one answer for
each of its requests, because the next answer of a stream is made when the one before was sent.
"""

from __future__ import annotations

import logging
import struct
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from rstream._addresses import split_endpoint
from rstream._session import release
from rstream._waits import Deadline
from rstream.errors import (
    BackPressured,
    CodecError,
    DriverError,
    MessageTooLarge,
    RegistrationError,
    RStreamError,
)
from rstream.service._asked import CONNECT_S, Asked, Caller
from rstream.service._wire import (
    FAILURE_BYTES_MAX,
    HEAD,
    MessageKind,
    host_of,
    write_answer,
)
from rstream.stream import Available, Publisher, Unavailable, publisher, reader
from rstream.stream._internal import encode_failure, inner_publisher, inner_reader

if TYPE_CHECKING:
    from rstream._session import Link
    from rstream.service._place import ServicePlace
    from rstream.stream._internal import StreamReading

log = logging.getLogger("rstream")

#: The part of a head that says where the answers go: port and stream id.
KEY = struct.Struct("<Hi")
#: Most messages of callers taken at once.
BATCH = 256
#: Most callers at one time, and of one address. Each has a publication for its answers.
CALLERS_MAX = 1024
CALLERS_PER_HOST: Final = 128
#: A server looks so long for the next request before it sleeps: a caller that has just got its
#: answer often asks again at once.
EXPECT_S: Final = 50e-6
#: Seconds between two looks at callers that may have gone, and at deadlines.
LOOK_S = 0.1
#: Seconds between two attempts to send to callers without room.
RETRY_S = 0.001
#: Seconds that a new server waits for the place of one that has just died.
LOCK_S = 1.0


class ServerLine:
    """One thread at a time.

    Args:
        place: the service.
        outstanding: most requests of one caller without a full answer.
        callers_per_host: most callers of one address over UDP.
    """

    def __init__(
        self,
        place: ServicePlace,
        outstanding: int,
        callers_per_host: int = CALLERS_PER_HOST,
    ) -> None:
        self.place: ServicePlace = place
        self._title = f"service {place.name!r} on {place.channel}"
        self.new: deque[Asked] = deque()
        self.callers: dict[bytes, Caller] = {}
        self.cancelled: int = 0
        self.refused: int = 0
        self.answered: int = 0
        self._outstanding = outstanding
        self._callers_per_host = callers_per_host
        self._refused_hosts: set[str] = set()  # that a log line has named
        self._sources: dict[int, str] = {}
        self._blocked: set[Caller] = set()
        self._looked_s = 0.0
        self._is_open = False
        self._link: Link
        self.directory: str
        self._lock: Publisher[bytes]
        self.asks: StreamReading[bytes]

    def open(self, link: Link) -> Self:
        """Take the place. Its owner has it by then, and closes it: an interrupt may come between a
        constructor and the assignment.

        Args:
            link: a hold on a client; it is let go when this fails, or is closed.
        Raises:
            RegistrationError: another server of the name is alive.
            ConfigError, DriverError: it cannot be opened.
        """
        self._link = link
        self.directory = link.directory
        try:
            self._take_place()
            asks = reader(
                self.place.ask_name,
                bytes,
                channels=[self.place.channel],
                prefetch=BATCH,
                on_gap="resume",
                client=link.client,
            )
            self.asks = inner_reader(asks, self._title)
            self.asks.look_s = EXPECT_S
            self._is_open = True
        except BaseException:
            self._close_streams()
            release(link)
            raise
        return self

    def _close_streams(self) -> None:
        asks, lock = getattr(self, "asks", None), getattr(self, "_lock", None)
        if asks is not None:
            asks.close()
        if lock is not None:
            with suppress(RStreamError):
                lock.close(linger_s=0)

    def _take_place(self) -> None:
        deadline = Deadline(LOCK_S)
        while True:
            try:
                self._lock = publisher(
                    self.place.lock_name,
                    bytes,
                    channel=self.place.lock_channel,
                    client=self._link.client,
                )
                inner_publisher(self._lock, self._title)
                return
            except RegistrationError as error:
                if "clash" not in str(error):
                    raise
                if deadline.is_over:
                    raise RegistrationError(
                        f"service {self.place.name!r} on {self.place.channel}: another server of "
                        f"this name is alive in {self.directory}",
                        hint="end it, or give this one another name or channel; one server can "
                        "share its work among threads (threads=)",
                        detail=error.detail,
                    ) from error
                time.sleep(0.05)

    # ---- what callers want ----

    def take(self) -> int:
        """Read what callers have sent into :attr:`new`; returns the number of messages.

        Raises:
            DriverError: the driver was lost.
        """
        messages = self.asks.poll(BATCH)
        now_s = time.monotonic()
        for data in messages:
            if len(data) < HEAD.size:
                self.refused += 1
            else:
                self._on_message(data, now_s)
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            self._look(now_s)
        return len(messages)

    def _on_message(self, data: bytes, now_s: float) -> None:
        kind, codec_id, port, _, call_id, number = HEAD.unpack_from(data)
        key, begin = data[2:8], HEAD.size
        if port:
            host = host_of(data)
            if host is None:
                self.refused += 1
                return
            key, begin = key + host[0], host[1]
        caller = self.callers.get(key)
        if kind == MessageKind.ASK:
            deadline_s = now_s + number / 1e6 if number else None
            self._on_request(caller, key, call_id, codec_id, data[begin:], deadline_s, None)
        elif kind == MessageKind.ASK_STREAM:
            self._on_request(caller, key, call_id, codec_id, data[begin:], None, number)
        elif caller is not None and (asked := caller.calls.get(call_id)) is not None:
            self._on_change(asked, kind, number)

    def _on_change(self, asked: Asked, kind: int, number: int) -> None:
        if kind == MessageKind.MORE:
            asked.granted = max(asked.granted, number)
            asked.changed()
        elif kind == MessageKind.CANCEL:
            self.cancelled += 1
            self._end(asked)
            asked.cancel()

    def _on_request(
        self,
        caller: Caller | None,
        key: bytes,
        call_id: int,
        codec_id: int,
        body: bytes,
        deadline_s: float | None,
        granted: int | None,
    ) -> None:
        caller = caller or self._new_caller(key)
        if caller is None or call_id in caller.calls:
            self.refused += 1
            return
        asked = Asked(caller, call_id, codec_id, body, deadline_s)
        if granted is not None:
            asked.is_stream, asked.granted = True, granted
        if len(caller.calls) >= self._outstanding:
            self.refused += 1
            error = BackPressured(
                f"{self._outstanding} requests of this caller have no answer",
                hint="ask for less at a time, or raise the server's outstanding=",
            )
            self.fail(asked, error)
            return
        caller.calls[call_id] = asked
        self.new.append(asked)

    def _new_caller(self, key: bytes) -> Caller | None:
        port, stream_id = KEY.unpack_from(key)
        host = key[KEY.size + 1 :].decode("ascii", "replace")
        self._note_sources()
        why = self._why_refused(key, host, port)
        if why:
            if host not in self._refused_hosts and len(self._refused_hosts) < CALLERS_MAX:
                self._refused_hosts.add(host)
                log.warning(
                    "service %r: refused a caller at %r: %s",
                    self.place.name,
                    host or "shared memory",
                    why,
                )
            return None
        try:
            answers = publisher(
                self.place.answer_name,
                bytes,
                channel=self.place.answer_channel(host, port),
                stream_id=stream_id,
                client=self._link.client,
                connect_timeout_s=CONNECT_S,
            )
        except (RegistrationError, ValueError) as error:
            log.warning("service %r: a caller cannot be answered: %s", self.place.name, error)
            return None
        owner = f"{self._title}, answers to a caller at {host or 'shared memory'}"
        caller = self.callers[key] = Caller(key, inner_publisher(answers, owner))
        return caller

    def _why_refused(self, key: bytes, host: str, port: int) -> str:
        """Why a new caller is not served; empty: it is."""
        if len(self.callers) >= CALLERS_MAX:
            return f"{CALLERS_MAX} callers are served already"
        if not self.place.is_udp:
            return ""
        # Answers go only to a host that has just proved that it reads what we send.
        if port == 0 or host not in self._sources.values():
            return "its messages do not come from that address"
        count = sum(other[KEY.size :] == key[KEY.size :] for other in self.callers)
        if count >= self._callers_per_host:
            return f"{count} callers of that address are served already (callers_per_host=)"
        return ""

    def _note_sources(self) -> None:
        for event in self.asks.events():
            if isinstance(event, Available):
                if event.source and event.source != "aeron:ipc":
                    with suppress(ValueError):
                        self._sources[event.session_id] = split_endpoint(event.source)[0]
            elif isinstance(event, Unavailable):
                self._sources.pop(event.session_id, None)

    # ---- answers ----

    def answer(self, asked: Asked, codec_id: int, body: bytes) -> None:
        """Send the one answer of a request."""
        self.answered += 1
        self._end(asked)
        self._send(asked, MessageKind.ANSWER, codec_id, body)

    def item(self, asked: Asked, codec_id: int, body: bytes) -> None:
        """Send the next answer of a stream."""
        asked.made += 1
        self._send(asked, MessageKind.ITEM, codec_id, body)

    def end(self, asked: Asked) -> None:
        """Say that a stream of answers is complete."""
        self.answered += 1
        self._end(asked)
        self._send(asked, MessageKind.END, 0, b"")

    def fail(self, asked: Asked, error: BaseException) -> None:
        """Answer with an error."""
        self._end(asked)
        room = asked.caller.unparted_max - HEAD.size
        body = encode_failure(error, min(FAILURE_BYTES_MAX, room))
        self._send(asked, MessageKind.FAIL, 0, body)

    def _end(self, asked: Asked) -> None:
        asked.caller.calls.pop(asked.call_id, None)

    def _send(self, asked: Asked, kind: int, codec_id: int, body: bytes) -> None:
        caller = asked.caller
        if asked.is_cancelled:
            return
        message = write_answer(kind, codec_id, asked.call_id, body)
        if caller in self._blocked:
            caller.unsent.append(message)
            return
        try:
            if len(message) <= caller.unparted_max and caller.answers.offer(message) > 0:
                caller.was_connected = True
                return
            if len(message) > caller.answers.max_message_length:
                raise MessageTooLarge(
                    f"an answer of {len(message)} bytes; at most "
                    f"{caller.answers.max_message_length} fit"
                )
            caller.unsent.append(message)
            self._blocked.add(caller)
        except (MessageTooLarge, CodecError) as error:
            self._end(asked)
            text = encode_failure(error, min(FAILURE_BYTES_MAX, 1024))
            if kind != MessageKind.FAIL:
                self._send(asked, MessageKind.FAIL, 0, text)
            asked.cancel()  # a stream is not asked for more

    @property
    def has_unsent(self) -> bool:
        """Whether a caller has had no room for an answer."""
        return bool(self._blocked)

    def flush(self) -> bool:
        """Send what callers had no room for. True: nothing is left."""
        for caller in list(self._blocked):
            if caller.try_send():
                self._blocked.discard(caller)
                for asked in list(caller.calls.values()):
                    asked.changed()
            elif caller.is_gone:
                self._drop(caller)
        return not self._blocked

    def _look(self, now_s: float) -> None:
        for caller in list(self.callers.values()):
            if caller.is_gone:
                self._drop(caller)
                continue
            for asked in list(caller.calls.values()):
                if asked.deadline_s is not None and asked.deadline_s <= now_s:
                    self.cancelled += 1
                    self._end(asked)
                    asked.cancel()
        self._note_sources()

    def _drop(self, caller: Caller) -> None:
        """A caller has gone: nobody wants its answers."""
        self.callers.pop(caller.key, None)
        caller.unsent.clear()
        self._blocked.discard(caller)
        if caller.calls:
            log.info("%s: a caller has gone; %d requests end", self._title, len(caller.calls))
        for asked in list(caller.calls.values()):
            self.cancelled += 1
            asked.cancel()
        caller.calls.clear()
        with suppress(RStreamError):
            caller.answers.close(linger_s=0)

    # ---- waking and closing ----

    def wake(self) -> None:
        """End a wait; any thread."""
        if self._is_open:
            self.asks.wake()

    def statistics(self) -> dict[str, int]:
        """Counts since it was opened."""
        return {
            "callers": len(self.callers),
            "outstanding": sum(len(caller.calls) for caller in self.callers.values()),
            "answered": self.answered,
            "cancelled": self.cancelled,
            "refused": self.refused,
        }

    def close(self, linger_s: float) -> None:
        """Cancel what runs, send what is ready within ``linger_s``, and leave. Idempotent; a call
        that was interrupted is made again.
        """
        if not self._is_open:
            self._close_streams()
            return
        deadline = Deadline(linger_s)
        with suppress(DriverError):
            while not (self.flush() or deadline.is_over):
                time.sleep(RETRY_S)
        self.asks.close()
        for caller in list(self.callers.values()):
            self._drop(caller)
        self._close_streams()
        self._is_open = False
        release(self._link)
