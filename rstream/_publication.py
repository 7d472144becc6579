"""Publications of :mod:`rstream.client`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream import _core
from rstream._facts import ReceiverError
from rstream._handles import Handle
from rstream._held_by import HeldBy
from rstream._process import quiet_at_exit
from rstream.abc import UNBOUNDED
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Buffer

    from rstream._core import Claim
    from rstream.rate import RateLimit

__all__ = ("Publication",)


def wanted_elements(directory: str, registration_id: int) -> int | None:
    """Elements that the readers of a publication want beyond what they have consumed.

    Cost: about a millisecond. It does not mark the demand as seen.

    Returns:
        None: they have no limit or do not tell, or the publication was closed a moment ago.
    """
    try:
        wanted = _core.read_demand(directory, registration_id)
    except RStreamError:
        return None
    return None if wanted >= UNBOUNDED else wanted


class Publication(Handle[_core.Publication]):
    """The sending side of a stream.

    Any thread may use a shared publication; an exclusive one belongs to one thread.

    Attributes:
        core: the extension's object, for layers above.

    Example::

        with client.add_publication("aeron:udp?endpoint=localhost:40123", 1001) as publication:
            while publication.offer(b"hello") < 0:
                publication.wait(0.1)
    """

    def __init__(self, core: _core.Publication, *, registration_timeout_s: float = 10.0) -> None:
        self.core = core
        self._registration_timeout_s = registration_timeout_s
        # These replace the methods of the same names below, which describe them: one call less.
        vars(self).update(
            offer=core.offer,
            offer_parts=core.offer_parts,
            offer_many=core.offer_many,
            offer_block=core.offer_block,
            try_claim=core.try_claim,
        )

    @property
    def session_id(self) -> int:
        """The session id: it tells this publisher from others of the stream."""
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
        """Whether it has a session of its own, and belongs to one thread."""
        return self.core.is_exclusive

    @property
    def is_ipc(self) -> bool:
        """Whether it sends through shared memory."""
        return self.core.is_ipc

    @property
    def position(self) -> int:
        """Position after the last message, in bytes of the stream; CLOSED after the end."""
        return self.core.position

    @property
    def position_limit(self) -> int:
        """Messages may be offered up to this position now."""
        return self.core.position_limit

    @property
    def consumed_position(self) -> int:
        """Every reader has consumed at least up to this position.

        Without readers, the position where the last one stopped. NOT_CONNECTED: not known.
        """
        return self.core.consumed_position

    @property
    def available_window(self) -> int:
        """Bytes that may be offered now; 0 at the limit, CLOSED after the end."""
        return self.core.available_window

    @property
    def held_by(self) -> HeldBy:
        """What an offer waits for when :attr:`position_limit` is reached.

        This explains BACK_PRESSURED: window, rate, budget or storage. Beside an Aeron driver it is
        always the window.
        """
        return HeldBy.from_core(self.core.held_by)

    @property
    def initial_term_id(self) -> int:
        """Term id at position 0."""
        return self.core.initial_term_id

    @property
    def position_bits(self) -> int:
        """``position >> position_bits`` is the number of terms since the first."""
        return self.core.position_bits

    @property
    def max_position(self) -> int:
        """Every message ends before this position: 2**31 terms."""
        return self.core.max_position

    @property
    def next_frame(self) -> tuple[int, int] | None:
        """(term id, term offset) of the next frame; None after the end.

        Other threads may move that of a shared publication at any time.
        """
        return self.core.next_frame

    def offer(self, data: Buffer, reserved_value: int = 0, /) -> int:
        """Append one message; never waits.

        Args:
            data: any contiguous buffer, up to ``max_message_length`` bytes.
            reserved_value: 64 bits that travel with it.
        Returns:
            The position after it, or NOT_CONNECTED (-1), BACK_PRESSURED (-2), ADMIN_ACTION (-3, try
            again), CLOSED (-4), MAX_POSITION_EXCEEDED (-5), ERROR (-6: see ``_core.last_error()``).
        Cost: about 0.1 µs for small messages.
        """
        return self.core.offer(data, reserved_value)

    def offer_parts(self, parts: Sequence[Buffer], reserved_value: int = 0, /) -> int:
        """Append one message whose bytes are in several buffers; otherwise as :meth:`offer`."""
        return self.core.offer_parts(parts, reserved_value)

    def offer_many(
        self, messages: Sequence[Buffer], start: int = 0, reserved_value: int = 0, /
    ) -> tuple[int, int]:
        """Append ``messages[start:]`` in order until one is refused; never waits.

        Returns:
            (number of messages appended, position after the last one). When none was appended, the
            second number is the negative reason.
        Raises:
            TypeError, ValueError, BufferError: ``messages[start]`` is no contiguous buffer. Another
                one of them ends the call before it.
        Cost: about 25 ns for each small ``bytes``; readers are woken once.
        """
        return self.core.offer_many(messages, start, reserved_value)

    def offer_block(
        self, data: Buffer, size: int, start: int = 0, reserved_value: int = 0, /
    ) -> tuple[int, int]:
        """As :meth:`offer_many`, for messages of ``size`` bytes back to back in one buffer.

        ``start`` counts messages. :meth:`offer_frames` is Aeron's ``offerBlock``, which takes
        finished frames.
        """
        return self.core.offer_block(data, size, start, reserved_value)

    def try_claim(self, length: int, reserved_value: int = 0, /) -> Claim | int:
        """Reserve ``length`` bytes of the log to write a message into.

        ``with claim as view:`` commits at the end of the block, and aborts after an exception.

        Returns:
            The claim, or a negative reason as :meth:`offer`.
        """
        return self.core.try_claim(length, reserved_value)

    def offer_frames(self, frames: Buffer, /) -> int:
        """Append finished frames unchanged; never waits. Exclusive publications only.

        Args:
            frames: frames of this session and stream with their headers, as
                :meth:`Subscription.poll_block` returns them. Each header must name the frame's real
                place: the first is at :attr:`next_frame`, and all are within the rest of the term.
        Returns:
            As :meth:`offer`; ERROR when they do not fit (``_core.last_error()`` says why).
        Source: Aeron ``ExclusivePublication.offerBlock``.
        """
        return self.core.offer_frames(frames)

    def append_padding(self, length: int, /) -> int:
        """Append a frame of ``length`` bytes that readers skip. Exclusive publications only.

        Returns:
            As :meth:`offer`.
        Source: Aeron ``ExclusivePublication.appendPadding``.
        """
        return self.core.append_padding(length)

    @quiet_at_exit
    def set_rate(self, rate: RateLimit, *, timeout_s: float | None = None) -> None:
        """Change the rate.

        All users of a shared publication have one rate: the last call counts. A client that opens
        it later must still name the rate that it was first opened with.

        Args:
            rate: the law; it starts afresh.
            timeout_s: seconds to wait for the driver; None: as configured.
        Raises:
            RegistrationError: the driver refused; the text says why.
            NotSupported: the driver is Aeron's.
            DriverTimeout, ClosedError.
        """
        self.core.set_rate(rate.to_text(), self._command_timeout_s(timeout_s))

    def revoke(self) -> None:
        """Close it, and end the stream of an exclusive publication at once. Idempotent.

        Messages that are not sent or not read yet are lost, and readers see their images revoked.
        A shared publication is only closed, as in Aeron.
        """
        self.core.revoke()

    def errors(self) -> Iterator[ReceiverError]:
        """Errors that receivers reported since the last call: they rejected this session's image.

        At most 16 are kept.
        """
        while (error := self.core.next_error()) is not None:
            yield ReceiverError(
                code=error.code,
                session_id=error.session_id,
                receiver_id=error.receiver_id,
                group_tag=error.group_tag,
                destination_id=error.destination_id,
                source=error.source,
                text=error.text,
            )
