"""Subscriptions of :mod:`rstream.client`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream import _core
from rstream._facts import Image, ImageEvent
from rstream._handles import Handle
from rstream._process import quiet_at_exit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rstream._core import Batch

__all__ = ("Subscription",)


class Subscription(Handle[_core.Subscription]):
    """The receiving side of a stream: one thread polls or waits at a time.

    Attributes:
        core: the extension's object, for layers above.

    Example::

        with client.add_subscription("aeron:udp?endpoint=localhost:40123", 1001) as subscription:
            while subscription.wait():
                with subscription.poll(100) as batch:
                    for data in batch: ...
    """

    def __init__(self, core: _core.Subscription, *, registration_timeout_s: float = 10.0) -> None:
        self.core = core
        self._registration_timeout_s = registration_timeout_s
        # These replace the methods of the same names below, which describe them: one call less.
        vars(self).update(poll=core.poll, poll_demanded=core.poll_demanded, request=core.request)

    @property
    def image_count(self) -> int:
        """Number of images: publishers' sessions that are received now."""
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
        """(bytes received and not yet consumed, window in bytes) of the fullest image."""
        return self.core.fill

    def poll(self, limit: int, bytes_max: int = 0, /) -> Batch:
        """Return up to ``limit`` whole messages that are already here; never waits.

        Args:
            limit: most messages, at least 1 (more than 65536 counts as 65536).
            bytes_max: about the most bytes; the first message always fits. 0: no bound.
        Returns:
            A leased :class:`Batch`, empty when nothing is ready. Its memory stays valid until
            :meth:`Batch.release`, the end of its ``with`` block or the next poll; the subscriber
            position moves then.
        Raises:
            ClosedError: closed here.
            ConcurrentUseError: another thread waits or polls here.
            BufferError: views of the last batch are still in use.
            DriverLost: the driver died, and all messages in memory have been handed out.
        Cost: about 0.2 µs, and about 30 ns for each small message copied to ``bytes``.
        """
        return self.core.poll(limit, bytes_max)

    def poll_demanded(self, limit: int, bytes_max: int = 0, /) -> Batch:
        """As :meth:`poll`, but never more than was requested and not yet delivered."""
        return self.core.poll_demanded(limit, bytes_max)

    @quiet_at_exit
    def poll_bounded(self, image: Image | int, limit_position: int, limit: int) -> Batch:
        """As :meth:`poll`, but from one image and only messages that begin before a position.

        Args:
            image: the image or its correlation id.
            limit_position: the position, in bytes of the stream.
            limit: most messages, at least 1.
        """
        return self.core.poll_bounded(_image_id(image), limit_position, limit)

    @quiet_at_exit
    def poll_block(self, bytes_max: int) -> Batch:
        """Return raw frames with their headers, for recording a stream; never waits.

        Args:
            bytes_max: most bytes of the block, at least 32. A longer frame is never returned.
        Returns:
            A leased batch of at most one entry: contiguous frames of one image within one term.
            Padding is an entry of its own. Images take turns.
        Source: Aeron ``Image.blockPoll``.
        """
        return self.core.poll_block(bytes_max)

    def images(self) -> tuple[Image, ...]:
        """The images of now, in no order."""
        return tuple(_image(facts) for facts in self.core.images())

    @quiet_at_exit
    def reject(
        self, image: Image | ImageEvent | int, reason: str = "", *, timeout_s: float | None = None
    ) -> None:
        """Refuse a publisher's session: its messages are no longer received.

        The publisher gets the reason.

        Args:
            image: the image, its event or its correlation id.
            reason: at most 1023 bytes of UTF-8; see :meth:`Publication.errors`.
            timeout_s: seconds to wait for the driver; None: as configured.
        Raises:
            ConfigError: this subscription has no such image.
            MessageTooLarge: the reason is too long.
            RegistrationError, DriverTimeout, ClosedError.
        """
        self.core.reject(_image_id(image), reason, self._command_timeout_s(timeout_s))

    def request(self, n: int, /) -> None:
        """Add ``n`` messages to the demand, which saturates at 2**63-1. Any thread."""
        self.core.request(n)

    def next_event(self) -> ImageEvent | None:
        """The next image event in order, or None."""
        event = self.core.next_event()
        if event is None:
            return None
        return ImageEvent(
            kind=event.kind,
            session_id=event.session_id,
            correlation_id=event.correlation_id,
            position=event.position,
            end_position=event.end_position,
            received_position=event.received_position,
            source=event.source,
            evicted_ms=event.evicted_ms,
            goes_on_at=event.goes_on_at,
            message_length=event.message_length,
            skip_reason=event.skip_reason,
            segment=event.segment,
        )

    def events(self) -> Iterator[ImageEvent]:
        """The image events that happened since the last call, in order."""
        while (event := self.next_event()) is not None:
            yield event


def _image_id(image: Image | ImageEvent | int) -> int:
    return image if isinstance(image, int) else image.correlation_id


def _image(facts: _core.ImageFacts) -> Image:
    return Image(
        correlation_id=facts.correlation_id,
        session_id=facts.session_id,
        initial_term_id=facts.initial_term_id,
        term_length=facts.term_length,
        mtu=facts.mtu,
        active_transports=facts.active_transports,
        join_position=facts.join_position,
        position=facts.position,
        end_position=facts.end_position,
        is_revoked=facts.is_revoked,
        source=facts.source,
    )
