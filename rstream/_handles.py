"""Publications and subscriptions of :mod:`rstream.client`: thin coats over ``rstream._core``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from rstream import _core
from rstream._facts import ChannelStatus, Image, ImageEvent, ReceiverError
from rstream._held_by import HeldBy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from typing_extensions import Buffer

    from rstream._core import Batch, Claim
    from rstream.channel import Channel
    from rstream.rate import RateLimit

__all__ = (
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "ERROR",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "RATE_LIMITED",
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
#: Of ``Publisher.offer``: BACK_PRESSURED by the publisher's own rate.
RATE_LIMITED: Final = -7

_REASONS: Final[dict[int, str]] = {
    NOT_CONNECTED: "not connected",
    BACK_PRESSURED: "back pressured",
    ADMIN_ACTION: "admin action",
    CLOSED: "closed",
    MAX_POSITION_EXCEEDED: "max position exceeded",
    ERROR: "error",
    RATE_LIMITED: "rate limited",
}


def reason_name(reason: int) -> str:
    """The words for a negative result of ``offer``."""
    return _REASONS.get(reason, f"position {reason}")


def _timeout(timeout_s: float | None) -> float:
    return math.inf if timeout_s is None else timeout_s


_CoreT = TypeVar("_CoreT", _core.Publication, _core.Subscription)


class _Handle(Generic[_CoreT]):
    """What publications and subscriptions share."""

    core: _CoreT
    _registration_timeout_s: float

    @property
    def channel_status(self) -> ChannelStatus | None:
        """State of the channel's endpoint; ACTIVE where it needs none (IPC); None after close."""
        status = self.core.channel_status
        return None if status == CLOSED else ChannelStatus(status)

    @property
    def local_addresses(self) -> tuple[str, ...]:
        """Every bound ``ip:port``, with the real ports; empty for IPC."""
        return tuple(self.core.local_addresses)

    def _command_timeout_s(self, timeout_s: float | None) -> float:
        return self._registration_timeout_s if timeout_s is None else timeout_s

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

    def __init__(self, core: _core.Publication, *, registration_timeout_s: float = 10.0) -> None:
        self.core = core
        self._registration_timeout_s = registration_timeout_s
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

    @property
    def available_window(self) -> int:
        """Bytes that may be offered now; 0 at the limit, CLOSED after the end."""
        return self.core.available_window

    @property
    def held_by(self) -> HeldBy:
        """What an offer waits for when :attr:`position_limit` is reached.

        This explains BACK_PRESSURED: window, rate or budget. Beside an Aeron driver it is always
        the window.
        """
        return HeldBy.from_core(self.core.held_by)

    @property
    def initial_term_id(self) -> int:
        """Term id at position 0."""
        return self.core.initial_term_id

    @property
    def position_bits(self) -> int:
        """``position >> position_bits`` counts the terms since the first."""
        return self.core.position_bits

    @property
    def max_position(self) -> int:
        """No message ends there or behind it: 2**31 terms."""
        return self.core.max_position

    @property
    def next_frame(self) -> tuple[int, int] | None:
        """(term id, term offset) where the next frame goes: exact for an exclusive publication, a
        moment's view of a shared one; None after the end.
        """
        return self.core.next_frame

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
        """The same for messages of ``size`` bytes back to back; ``start`` counts messages.

        Aeron's ``offerBlock``, which takes finished frames, is :meth:`offer_frames`.
        """
        return self.core.offer_block(data, size, start, reserved_value)

    def try_claim(self, length: int, reserved_value: int = 0, /) -> Claim | int:
        """Reserve ``length`` bytes of the log to write into, or a negative reason.

        ``with claim as view:`` commits at the end of the block, and aborts after an exception.
        """
        return self.core.try_claim(length, reserved_value)

    def offer_frames(self, frames: Buffer, /) -> int:
        """Append whole frames that were made elsewhere, as they are; never waits. Exclusive only.

        Args:
            frames: frames of this session and stream with their headers, as
                :meth:`Subscription.poll_block` gives them. Each must lie where it says: the first at
                :attr:`next_frame`, all within the rest of the term.
        Returns:
            As :meth:`offer`; ERROR with a text at ``_core.last_error()`` when they do not fit.
        Source: Aeron ``ExclusivePublication.offerBlock``.
        """
        return self.core.offer_frames(frames)

    def append_padding(self, length: int, /) -> int:
        """Move the position by a frame of ``length`` bytes that no reader sees. Exclusive only.

        Returns:
            As :meth:`offer`.
        Source: Aeron ``ExclusivePublication.appendPadding``.
        """
        return self.core.append_padding(length)

    def set_rate(self, rate: RateLimit, *, timeout_s: float | None = None) -> None:
        """Another rate from now on. A shared publication has one for all who share it: the last
        one counts; who opens it later is compared with the rate that it was opened with.

        Args:
            rate: the law, which begins anew.
            timeout_s: how long to wait for the driver; None: as configured.
        Raises:
            RegistrationError: the driver refused; the text says why. NotSupported: an Aeron driver.
            DriverTimeout, ClosedError.
        """
        self.core.set_rate(rate.to_text(), self._command_timeout_s(timeout_s))

    def add_destination(self, channel: str | Channel, *, timeout_s: float | None = None) -> int:
        """Send to one more receiver: for channels with ``control-mode=manual``.

        Args:
            channel: URI with the receiver's endpoint.
            timeout_s: how long to wait for the driver; None: as configured.
        Returns:
            The id of the destination, for :meth:`remove_destination`.
        Raises:
            ChannelError: malformed. RegistrationError: the driver refused; the text says why.
            DriverTimeout: no answer in time. ClosedError: closed.
        """
        return self.core.add_destination(str(channel), self._command_timeout_s(timeout_s))

    def remove_destination(
        self, destination: str | Channel | int, *, timeout_s: float | None = None
    ) -> None:
        """The reverse of :meth:`add_destination`, by the same channel or by id; errors as there."""
        what = destination if isinstance(destination, int) else str(destination)
        self.core.remove_destination(what, self._command_timeout_s(timeout_s))

    def revoke(self) -> None:
        """Close, and end the stream of an exclusive publication at once: what was not sent or read
        yet is given up, and readers see their images revoked. A shared publication is only closed,
        as by Aeron. Idempotent.
        """
        self.core.revoke()

    def errors(self) -> Iterator[ReceiverError]:
        """What receivers told since the last look (they rejected this session's image); a bounded
        queue of 16.
        """
        while (error := self.core.next_error()) is not None:
            code, session_id, receiver_id, group_tag, destination_id, source, text = error
            yield ReceiverError(
                code=code,
                session_id=session_id,
                receiver_id=receiver_id,
                group_tag=group_tag,
                destination_id=destination_id,
                source=source,
                text=text,
            )


class Subscription(_Handle[_core.Subscription]):
    """The receiving side of a stream: one consumer at a time.

    Attributes:
        core: the extension's object, for layers above.
    """

    def __init__(self, core: _core.Subscription, *, registration_timeout_s: float = 10.0) -> None:
        self.core = core
        self._registration_timeout_s = registration_timeout_s
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

    def poll_bounded(self, image: Image | int, limit_position: int, limit: int) -> Batch:
        """As :meth:`poll`, from one image and only what begins below ``limit_position``: for readers
        that may not run ahead of something else.

        Args:
            image: the image or its correlation id.
            limit_position: in bytes of the stream.
            limit: most messages, at least 1.
        """
        return self.core.poll_bounded(_image_id(image), limit_position, limit)

    def poll_block(self, bytes_max: int) -> Batch:
        """Raw frames with their headers, for recording a stream; never waits.

        Args:
            bytes_max: of the block, at least 32; a longer frame does not come at all.
        Returns:
            A leased batch of one entry, or of none: contiguous frames of one image that never cross
            the end of a term. Padding comes alone. Images take turns.
        Source: Aeron ``Image.blockPoll``.
        """
        return self.core.poll_block(bytes_max)

    def images(self) -> tuple[Image, ...]:
        """The publishers' sessions in sight now, in no order."""
        return tuple(_image(facts) for facts in self.core.images())

    def reject(
        self, image: Image | ImageEvent | int, reason: str = "", *, timeout_s: float | None = None
    ) -> None:
        """Refuse a publisher's session: its messages are no longer received, and it is told why.

        Args:
            image: the image, its event or its correlation id.
            reason: at most 1023 bytes of UTF-8; see :meth:`Publication.errors`.
            timeout_s: how long to wait for the driver; None: as configured.
        Raises:
            ConfigError: no such image here. MessageTooLarge: the reason.
            RegistrationError, DriverTimeout, ClosedError.
        """
        self.core.reject(_image_id(image), reason, self._command_timeout_s(timeout_s))

    def add_destination(self, channel: str | Channel, *, timeout_s: float | None = None) -> int:
        """Receive at one more address: for channels with ``control-mode=manual``. Streams of equal
        session that come over several destinations are one image.

        Returns and raises as :meth:`Publication.add_destination`.
        """
        return self.core.add_destination(str(channel), self._command_timeout_s(timeout_s))

    def remove_destination(
        self, destination: str | Channel | int, *, timeout_s: float | None = None
    ) -> None:
        """The reverse of :meth:`add_destination`, by the same channel or by id (Aeron's driver: by
        channel only).
        """
        what = destination if isinstance(destination, int) else str(destination)
        self.core.remove_destination(what, self._command_timeout_s(timeout_s))

    def request(self, n: int, /) -> None:
        """Add to the demand; saturates at 2**63-1. Any thread."""
        self.core.request(n)

    def next_event(self) -> ImageEvent | None:
        """The next image event in order, or None."""
        event = self.core.next_event()
        if event is None:
            return None
        kind, session_id, correlation_id, position, end_position, received_position = event[:6]
        return ImageEvent(
            kind="available" if kind == "available" else "unavailable",
            session_id=session_id,
            correlation_id=correlation_id,
            position=position,
            end_position=end_position,
            received_position=received_position,
            source=event[6],
            evicted_ms=event[7],
        )

    def events(self) -> Iterator[ImageEvent]:
        """The image events that are there."""
        while (event := self.next_event()) is not None:
            yield event


def _image_id(image: Image | ImageEvent | int) -> int:
    return image if isinstance(image, int) else image.correlation_id


def _image(
    facts: tuple[int, int, int, int, int, int, int, int, int | None, bool, str],
) -> Image:
    return Image(
        correlation_id=facts[0],
        session_id=facts[1],
        initial_term_id=facts[2],
        term_length=facts[3],
        mtu=facts[4],
        active_transports=facts[5],
        join_position=facts[6],
        position=facts[7],
        end_position=facts[8],
        is_revoked=facts[9],
        source=facts[10],
    )
