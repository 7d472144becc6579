"""The transport for those who know Aeron: clients, publications, subscriptions. Thin coats over ``rstream._core``.

    with Client() as client:
        publication = client.add_publication("aeron:udp?endpoint=localhost:40123", 1001)
        subscription = client.add_subscription("aeron:udp?endpoint=localhost:40123", 1001)
        while publication.offer(b"hello") < 0: ...
        with subscription.poll(10) as batch:
            for data in batch: ...

Everything here is raw: a message is bytes, its 64-bit reserved value is 0 unless given, so any Aeron peer can be at
the other end. Names, codecs, demand and rejoining are in :mod:`rstream.stream`.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, Self, TypeVar

from rstream import _core
from rstream._core import Batch, Claim, Message
from rstream.config import ClientConfig
from rstream.driver import (
    call_site,
    ensure_driver,
    resolve_dir,
    unwatch,
    watch_exit,
)
from rstream.errors import ConfigError, DriverNotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from typing_extensions import Buffer

    from rstream.channel import Channel
    from rstream.config import DriverConfig

__all__ = (
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "ERROR",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "Batch",
    "Claim",
    "Client",
    "ImageEvent",
    "Message",
    "Publication",
    "Subscription",
    "reason_name",
)

NOT_CONNECTED: Final = -1
BACK_PRESSURED: Final = -2
ADMIN_ACTION: Final = -3
CLOSED: Final = -4
MAX_POSITION_EXCEEDED: Final = -5
ERROR: Final = -6

_REASONS: Final[dict[int, str]] = {
    NOT_CONNECTED: "not connected",
    BACK_PRESSURED: "back pressured",
    ADMIN_ACTION: "admin action",
    CLOSED: "closed",
    MAX_POSITION_EXCEEDED: "max position exceeded",
    ERROR: "error",
}
_ALIVE: Final = 2


def reason_name(reason: int) -> str:
    """The words for a negative result of ``offer``."""
    return _REASONS.get(reason, f"position {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEvent:
    """A publisher's session came into or went out of sight of a subscription.

    Attributes:
        kind: ``"available"`` or ``"unavailable"``; the latter comes after the last message.
        session_id: the publisher instance.
        correlation_id: the driver's number of the image.
        position: where reading starts; unavailable: up to where it was consumed.
        end_position: unavailable: where the stream ended in good order; None when it did not.
        received_position: unavailable: everything below was received.
        source: ``"ip:port"`` of the sender, or ``"aeron:ipc"``.
    """

    kind: Literal["available", "unavailable"]
    session_id: int
    correlation_id: int
    position: int
    end_position: int | None
    received_position: int
    source: str

    @property
    def is_available(self) -> bool:
        return self.kind == "available"

    @property
    def ended_in_order(self) -> bool:
        """Whether the publisher ended the stream and all of it was consumed."""
        return self.end_position is not None and self.position >= self.end_position


def _timeout(timeout_s: float | None) -> float:
    return math.inf if timeout_s is None else timeout_s


_CoreT = TypeVar("_CoreT", _core.Publication, _core.Subscription)


class _Handle(Generic[_CoreT]):
    """What publications and subscriptions share."""

    core: _CoreT

    @property
    def channel(self) -> str:
        """The channel as it was given."""
        return self.core.channel

    @property
    def stream_id(self) -> int:
        return self.core.stream_id

    @property
    def registration_id(self) -> int:
        """The driver's number of this handle."""
        return self.core.registration_id

    @property
    def is_connected(self) -> bool:
        """Whether the other side is there."""
        return self.core.is_connected

    @property
    def is_closed(self) -> bool:
        """Closed here, with the client, or because the driver went."""
        return self.core.is_closed

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until something may have changed: messages, image events, room, connection.

        Returns:
            False after ``timeout_s`` (None: no limit). True may come early: look again.
        Raises:
            ClosedError: closed meanwhile. DriverLost: the driver died; messages that are in memory
            can still be polled. ConcurrentUseError: another thread waits here.
        """
        return self.core.wait(_timeout(timeout_s))

    def close(self) -> None:
        """Close; idempotent."""
        self.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "connected" if self.is_connected else "waiting"
        return f"<{type(self).__name__} {self.channel} stream {self.stream_id} {state}>"


class Publication(_Handle[_core.Publication]):
    """The sending side of a stream. Safe for threads, but an exclusive one belongs to one thread.

    Attributes:
        core: the extension's object, for layers above.
    """

    def __init__(self, core: _core.Publication) -> None:
        self.core = core
        # The methods below with the same names say what they do; these cost no Python call.
        vars(self).update(
            offer=core.offer,
            offer_parts=core.offer_parts,
            offer_many=core.offer_many,
            offer_block=core.offer_block,
            try_claim=core.try_claim,
        )

    @property
    def session_id(self) -> int:
        """This publisher instance."""
        return self.core.session_id

    @property
    def term_length(self) -> int:
        """Bytes of a term."""
        return self.core.term_length

    @property
    def mtu(self) -> int:
        """Largest datagram in bytes."""
        return self.core.mtu

    @property
    def max_payload_length(self) -> int:
        """Largest message in bytes that fits one frame; ``try_claim`` takes no more."""
        return self.core.max_payload_length

    @property
    def max_message_length(self) -> int:
        """Largest message in bytes."""
        return self.core.max_message_length

    @property
    def is_exclusive(self) -> bool:
        return self.core.is_exclusive

    @property
    def is_ipc(self) -> bool:
        return self.core.is_ipc

    @property
    def position(self) -> int:
        """Position after the last message, in bytes; CLOSED after the end."""
        return self.core.position

    @property
    def position_limit(self) -> int:
        """Up to here may be offered now."""
        return self.core.position_limit

    @property
    def consumed_position(self) -> int:
        """Every reader is known to have consumed up to here; without readers, where the last one
        stopped. NOT_CONNECTED where it is not known.
        """
        return self.core.consumed_position

    def offer(self, data: Buffer, reserved_value: int = 0, /) -> int:
        """Append one message; never waits.

        Args:
            data: any contiguous buffer, up to ``max_message_length`` bytes.
            reserved_value: 64 bits that travel with it.
        Returns:
            The position after it, or NOT_CONNECTED (-1), BACK_PRESSURED (-2), ADMIN_ACTION (-3, try again),
            CLOSED (-4), MAX_POSITION_EXCEEDED (-5), ERROR (-6: see ``_core.last_error()``).
        Cost: about 0.1 µs for small messages.
        """
        return self.core.offer(data, reserved_value)

    def offer_parts(self, parts: Sequence[Buffer], reserved_value: int = 0, /) -> int:
        """Append one message that lies in several buffers."""
        return self.core.offer_parts(parts, reserved_value)

    def offer_many(
        self, messages: Sequence[Buffer], start: int = 0, reserved_value: int = 0, /
    ) -> tuple[int, int]:
        """Append ``messages[start:]`` in order until one is not taken.

        Returns:
            (how many were taken, position after the last one or, when none was, the reason).
        Cost: about 25 ns for each small ``bytes``; readers are woken once.
        """
        return self.core.offer_many(messages, start, reserved_value)

    def offer_block(
        self, data: Buffer, size: int, start: int = 0, reserved_value: int = 0, /
    ) -> tuple[int, int]:
        """The same for messages of ``size`` bytes back to back; ``start`` counts messages."""
        return self.core.offer_block(data, size, start, reserved_value)

    def try_claim(self, length: int, reserved_value: int = 0, /) -> Claim | int:
        """Reserve ``length`` bytes of the log to write into, or a negative reason.

        ``with claim as view:`` commits at the end of the block, and aborts after an exception.
        """
        return self.core.try_claim(length, reserved_value)


class Subscription(_Handle[_core.Subscription]):
    """The receiving side of a stream: one consumer at a time.

    Attributes:
        core: the extension's object, for layers above.
    """

    def __init__(self, core: _core.Subscription) -> None:
        self.core = core
        vars(self).update(poll=core.poll, poll_demanded=core.poll_demanded, request=core.request)

    @property
    def image_count(self) -> int:
        """How many publishers' sessions are in sight."""
        return self.core.image_count

    @property
    def local_address(self) -> str | None:
        """Bound ``ip:port`` of a UDP subscription, with the real port where 0 was asked for."""
        return self.core.local_address

    @property
    def demand(self) -> int:
        """Messages requested and not yet delivered."""
        return self.core.demand

    @property
    def fill(self) -> tuple[int, int]:
        """(bytes received and not consumed, window in bytes) of the fullest image."""
        return self.core.fill

    def poll(self, limit: int, bytes_max: int = 0, /) -> Batch:
        """Up to ``limit`` whole messages that are already here; never waits.

        Args:
            limit: most messages, at least 1 (more than 65536 counts as 65536).
            bytes_max: about how many bytes at most, the first message always fits; 0: no bound.
        Returns:
            A leased :class:`Batch`, empty when nothing is ready. Its memory stays valid until
            :meth:`Batch.release`, the end of its ``with`` block or the next poll; the subscriber
            position moves then.
        Raises:
            ClosedError: closed here. ConcurrentUseError: another thread waits or polls here.
            BufferError: views of the last batch are alive. DriverLost: the driver died, and
            everything that was in memory has been handed out.
        Cost: about 0.2 µs, and about 30 ns for each small message copied to ``bytes``.
        """
        return self.core.poll(limit, bytes_max)

    def poll_demanded(self, limit: int, bytes_max: int = 0, /) -> Batch:
        """The same, but never more than was requested and not yet delivered."""
        return self.core.poll_demanded(limit, bytes_max)

    def request(self, n: int, /) -> None:
        """Add to the demand; saturates at 2**63-1. Any thread."""
        self.core.request(n)

    def next_event(self) -> ImageEvent | None:
        """The next image event in order, or None."""
        event = self.core.next_event()
        if event is None:
            return None
        kind, session_id, correlation_id, position, end_position, received_position, source = event
        return ImageEvent(
            kind="available" if kind == "available" else "unavailable",
            session_id=session_id,
            correlation_id=correlation_id,
            position=position,
            end_position=end_position,
            received_position=received_position,
            source=source,
        )

    def events(self) -> Iterator[ImageEvent]:
        """The image events that are there."""
        while (event := self.next_event()) is not None:
            yield event


class Client:
    """A client of the driver in a directory; makes publications and subscriptions.

    Args:
        dir: driver directory; None: the default one (``$RSTREAM_DIR``, ``/dev/shm/rstream-<user>``).
        config: settings.
        name: shown in the driver's counters; overrides ``config``.
        start_driver: start the shared driver when nobody lives there; overrides ``config``.
        driver_config: settings for a driver started here.
    Raises:
        DriverNotFound: nobody lives there, and none was to be started.
        DriverError: none could be started. VersionMismatch, DriverAccess.

    Any thread may use it. A context manager; ``close()`` closes all that it made. Not usable after ``fork``:
    make clients in the child.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,
        *,
        config: ClientConfig | None = None,
        name: str | None = None,
        start_driver: bool | None = None,
        driver_config: DriverConfig | None = None,
    ) -> None:
        self._where = call_site()
        self.config: ClientConfig = config or ClientConfig()
        path = resolve_dir(dir)
        timeout_s = self.config.driver_timeout_s
        if self.config.start_driver if start_driver is None else start_driver:
            ensure_driver(path, config=driver_config, timeout_s=max(timeout_s, 1.0))
        else:
            _await_driver(path, timeout_s)
        self.core: _core.Client = _core.Client(
            path,
            self.config.name if name is None else name,
            max(1, round(timeout_s * 1e3)),
            round(self.config.keepalive_interval_s * 1e9),
        )
        self._open_pid = os.getpid()
        watch_exit(self)

    @property
    def dir(self) -> str:
        """The driver directory."""
        return self.core.dir

    @property
    def client_id(self) -> int:
        """Unique in the driver directory."""
        return self.core.client_id

    @property
    def state(self) -> int:
        """0 open, 1 closed, 2 driver lost, 3 given up by the driver."""
        return self.core.state

    @property
    def is_closed(self) -> bool:
        """Closed here, or without its driver."""
        return self.core.state != 0

    @property
    def is_aeron_driver(self) -> bool:
        """Whether the driver is Aeron's own."""
        return self.core.is_aeron_driver

    def add_publication(
        self,
        channel: str | Channel,
        stream_id: int,
        *,
        exclusive: bool = False,
        timeout_s: float | None = None,
    ) -> Publication:
        """Ask the driver for a publication, and wait for its answer.

        Args:
            channel: Aeron URI or :class:`rstream.channel.Channel`.
            stream_id: 32 bits with sign.
            exclusive: its own session, for one thread, a little faster.
            timeout_s: how long to wait; None: as configured.
        Raises:
            RegistrationError, ChannelError: the driver refused; the text says why.
            DriverTimeout: no answer in time. DriverLost: the driver died.
        """
        return Publication(
            self.core.add_publication(
                str(channel), _stream_id(stream_id), exclusive, self._timeout_s(timeout_s)
            )
        )

    def add_subscription(
        self, channel: str | Channel, stream_id: int, *, timeout_s: float | None = None
    ) -> Subscription:
        """Ask the driver for a subscription, and wait for its answer; as :meth:`add_publication`."""
        return Subscription(
            self.core.add_subscription(
                str(channel), _stream_id(stream_id), self._timeout_s(timeout_s)
            )
        )

    def _timeout_s(self, timeout_s: float | None) -> float:
        return self.config.registration_timeout_s if timeout_s is None else timeout_s

    def close(self) -> None:
        """Close all that it made, then the client; idempotent."""
        self._open_pid = 0
        unwatch(self)
        self.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # In a forked child this is the parent's client.
        if getattr(self, "_open_pid", 0) == os.getpid():
            warnings.warn(
                f"unclosed rstream client {self.client_id} in {self.dir}, made at {self._where}",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
            self._open_pid = 0

    def __repr__(self) -> str:
        return f"<rstream.Client {self.client_id} in {self.dir}>"


def _stream_id(stream_id: int) -> int:
    if not -(2**31) <= stream_id < 2**31:
        raise ConfigError(f"stream_id={stream_id}: must fit 32 bits with sign")
    return stream_id


def _await_driver(path: str, timeout_s: float) -> None:
    """Waits here rather than in C, so that Ctrl-C ends it."""
    deadline_s = time.monotonic() + timeout_s
    while _core.probe(path) < _ALIVE:
        if time.monotonic() >= deadline_s:
            raise DriverNotFound(
                f"no living media driver in {path}: start `rstream driver --dir {path}`, or let the "
                "client start one (start_driver=True)"
            )
        time.sleep(0.01)
