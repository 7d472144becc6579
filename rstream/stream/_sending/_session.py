"""The stream of a publisher, its session of now, and what answers an offer."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from rstream import _core
from rstream._channel_uri import ChannelUri
from rstream._neighbours import TYPE_SUBSCRIBER_POSITION
from rstream._process import is_inherited
from rstream._session import Session
from rstream.errors import ClosedError
from rstream.flow.pacing import TokenBucket, bucket_of
from rstream.stream._names import with_default_rate, with_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from rstream._later_log import LaterLog
    from rstream._session import Link
    from rstream.rate import RateLimit
    from rstream.stream._sending._under_way import UnderWay

__all__ = ("SendLog", "SendSession", "SendSettings")

log = logging.getLogger("rstream")

#: Type of the counter with the number of receivers of a publication.
TYPE_RECEIVERS: Final = 17
#: Longest label of a counter.
LABEL_MAX: Final = 380


@dataclass(slots=True, kw_only=True)
class SendSettings:
    """What a publisher was opened with, and for whom it speaks.

    Attributes:
        channel: another one when the rate was changed.
        parted_length_max: longest message that may travel in parts, in bytes; 0: none may.
        owner: the face of which the publisher is a part, for people; empty: of none.
        log_level: with which it logs.
        why_gone: asked while no reader is there: why none will come any more; empty: one may. Any
            thread calls it; it must not wait.
        is_coming: asked while the publisher closes and no reader is there: whether one comes back;
            None: not known yet. Likewise.
    """

    name: str
    channel: str
    stream_id: int
    connect_timeout_s: float | None
    wait_for: int
    linger_s: float
    parted_length_max: int
    owner: str = ""
    log_level: int = logging.WARNING
    why_gone: Callable[[], str] = str
    is_coming: Callable[[], bool | None] = bool

    def where(self) -> str:
        """The stream, for people."""
        if self.owner:
            return self.owner
        name, number = self.name, self.stream_id
        stream = f"stream {name!r} ({number})" if name else f"stream {number}"
        return f"{stream} on {self.channel}"


@final
class SendLog:
    """How a publisher logs: at once, or when its lock is free."""

    def __init__(
        self, settings: SendSettings, state: _core.SendState, later: LaterLog | None
    ) -> None:
        self._settings = settings
        self._state = state
        self._later = later

    def log(self, text: str, *arguments: object) -> None:
        """Log, or keep the record until the publisher's lock is free."""
        if self._later is None:
            log.log(self._settings.log_level, text, *arguments)
            return
        self._later.add(self._settings.log_level, text, *arguments)
        self._state.direct = None  # the next send takes the long way, and says it

    @property
    def may_notice(self) -> bool:
        """Whether a wait may log that it waits: not while a handler of this log waits here."""
        return self._later is None or self._later.may_notice


@final
class SendSession:
    """The session of a publisher; joining again gives it another publication.

    Attributes:
        settings: of the publisher.
        state: what a send changes; C reads and writes it.
        joining: the hold on the client, and the next one.
        logs: of the publisher.
        core: the publication.
        left_count: how many readers of this session are known to have left.
        is_gated: no message goes out before ``wait_for`` readers were there at once.
        refusal: the reason with which every offer is answered; 0: the publication answers.
        is_closed: closed here.
        is_ending: closing has begun: only the end may still be sent.
        offer_one, offer_parts, offer_many: as those of a publication.
    """

    def __init__(
        self,
        link: Link,
        state: _core.SendState,
        settings: SendSettings,
        under_way: UnderWay,
        logs: SendLog,
    ) -> None:
        self.settings = settings
        self.state = state
        self.logs = logs
        self.joining = Session(link, tell=logs.log)
        self.is_closed = self.is_ending = False
        self._pid = os.getpid()
        self._under_way = under_way
        self.join(link)

    # ---- joining ----

    @property
    def link(self) -> Link:
        """The hold on the client."""
        return self.joining.link

    def join(self, link: Link) -> None:
        """Open a publication with a client.

        Raises:
            DriverError: the driver refused, did not answer, or has died.
        """
        channel = with_default_rate(self.settings.channel)
        add = link.client._add_publication  # pyright: ignore[reportPrivateUsage] - under a lock
        added = add(channel, self.settings.stream_id, True)
        self.left_count = 0
        self.core: _core.Publication = added.core
        # Sent, limit, consumed, and bytes that were not consumed, as they were seen last.
        self._positions = (0, 0, 0, 0)
        self.accept()
        self.is_gated = self.settings.wait_for > 1
        if self.is_gated:
            self.refuse(_core.NOT_CONNECTED)
        if link.client.is_aeron_driver:
            self.state.bucket = self.bucket_for(self.settings.channel)

    def accept(self) -> None:
        """From now on the publication answers offers."""
        core = self.core
        self.offer_one: Callable[[Buffer, int], int] = core.offer
        self.offer_parts: Callable[[list[Buffer], int], int] = core.offer_parts
        self.offer_many: Callable[[list[Buffer], int, int], tuple[int, int]] = core.offer_many
        # A message may fit and yet be longer than the user allows: each offer looks.
        self.is_limited = self.max_message_length < core.max_message_length
        is_long_way = self.is_limited or bool(self._under_way.untold)
        self.state.direct = None if is_long_way else core
        self.refusal = 0

    def refuse(self, reason: int) -> None:
        """From now on every offer is answered with the reason; costs an open publisher nothing."""
        self.state.direct = None
        self.refusal = reason
        self.offer_one = lambda _data, _header: reason
        self.offer_parts = lambda _data, _header: reason
        self.offer_many = lambda _messages, _start, _header: (0, reason)

    def forget_inherited(self) -> bool:
        """In a forked child: closed from now on, and nothing else. False: this process made it."""
        if not is_inherited(self._pid):
            return False
        self.is_closed = self.is_ending = True
        return True

    # ---- the rate that is kept on this side, beside Aeron's driver ----

    def bucket_for(self, channel: str) -> TokenBucket | None:
        """The bucket for ``rs-rate`` beside Aeron's driver, which does not read that key."""
        text = ChannelUri.parse(channel).get("rs-rate")
        return None if text is None else bucket_of(text, self.core.mtu, time.monotonic_ns())

    def prepare_rate(self, rate: RateLimit) -> tuple[str, TokenBucket | None]:
        """The channel with another rate, and the token bucket if the publisher limits the rate."""
        if self.is_closed:
            raise self.closed_error()
        channel = with_rate(self.settings.channel, rate)
        is_kept_here = self.link.client.is_aeron_driver
        return channel, self.bucket_for(channel) if is_kept_here else None

    def is_over_rate(self) -> bool:
        """Whether the rate kept on this side lets nothing through now."""
        bucket = self.state.bucket
        return bucket is not None and bucket.delay_ns(time.monotonic_ns()) > 0

    def spend(self, length_bytes: int) -> None:
        """Count bytes that were sent against the rate kept on this side."""
        if self.state.bucket is not None:
            self.state.bucket.spend(length_bytes)

    # ---- state ----

    @property
    def max_message_length(self) -> int:
        """Longest encoded object, in bytes."""
        return self.settings.parted_length_max or self.core.max_message_length

    @property
    def has_joined(self) -> bool:
        """Whether it has a driver: another thread may have joined during a wait."""
        return self.link.is_alive and not self.core.is_closed

    def see_positions(self) -> tuple[int, int, int, int]:
        """What was sent, the limit, what was consumed, and the bytes that were not; of a session
        that is over the last.
        """
        core = self.core
        now = (core.position, core.position_limit, core.consumed_position, core.unread_bytes)
        if not core.is_closed:  # nor was it while they were read
            self._positions = now
        return self._positions

    @property
    def position(self) -> int:
        """Bytes of the stream that were sent, with frame headers and padding; also when closed."""
        position = self.core.position
        return position if position >= 0 else max(self.state.reached, self._positions[0])

    def has_readers(self) -> bool:
        """Whether a reader is there, and as many as it waits for have been there once."""
        if not self.core.is_connected:
            return False
        is_last_moment = self.is_gated and not self.is_ending
        if is_last_moment and self.reader_count() >= self.settings.wait_for:
            self.is_gated = False
            self.accept()
        return not self.is_gated

    def reader_count(self) -> int:
        """The number of subscribers in shared memory, else of receivers; reads all counters."""
        number = self.core.registration_id
        counters = _core.read_counters(self.link.directory)
        if self.core.is_ipc:
            return sum(
                one.type_id == TYPE_SUBSCRIBER_POSITION and one.reference_id == number
                for one in counters
            )
        found = (
            one.value
            for one in counters
            if one.type_id == TYPE_RECEIVERS and one.registration_id == number
        )
        return next(found, 0)

    def add_counter(self, type_id: int, name: str) -> _core.Counter:
        """Add a counter on the stream, with the label that the driver's have.

        Raises:
            DriverError: the driver refused, or has died.
        """
        core, settings = self.core, self.settings
        stream = f"{core.session_id} {settings.stream_id} {settings.channel}"
        label = f"{name}: {core.registration_id} {stream}"
        return self.link.client.add_counter(type_id, label[:LABEL_MAX])

    # ---- texts ----

    def place(self) -> dict[str, Any]:
        """Where an error happened: the attributes of errors."""
        core, settings = self.core, self.settings
        return {
            "channel": settings.channel,
            "stream_id": settings.stream_id,
            "session_id": core.session_id,
            "position": core.position,
        }

    def check_open(self) -> None:
        """Refuse a call on a publisher that is closed or closing.

        Raises:
            ClosedError: it is.
        """
        if self.is_closed or self.is_ending:
            raise self.closed_error()

    def closed_error(self) -> ClosedError:
        """The error of a call on a publisher that is closed or closing."""
        settings = self.settings
        return ClosedError(
            f"{settings.where()}: this publisher is closed", channel=settings.channel
        )
