"""What publications and subscriptions of :mod:`rstream.client` share, and the reasons of ``offer``.

Both are thin classes over the objects of ``rstream._core``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Generic, NoReturn, Self, TypeVar

from rstream import _core
from rstream._channel_hints import explained
from rstream._checks import check_timeout
from rstream._facts import ChannelStatus
from rstream._greenlets import check_may_wait
from rstream._pickling import refuse_pickling
from rstream._process import quiet_at_exit

if TYPE_CHECKING:
    from types import TracebackType

    from rstream.channel import Channel

__all__ = (
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "ERROR",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "RATE_LIMITED",
    "Handle",
    "reason_name",
)

NOT_CONNECTED: Final = -1
BACK_PRESSURED: Final = -2
ADMIN_ACTION: Final = -3
CLOSED: Final = -4
MAX_POSITION_EXCEEDED: Final = -5
ERROR: Final = -6
#: ``Publisher.offer`` returns this instead of BACK_PRESSURED when its own rate holds it back.
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
    """A negative result of ``offer`` in words."""
    return _REASONS.get(reason, f"position {reason}")


def _seconds(timeout_s: float | None) -> float:
    check_timeout(timeout_s)
    return math.inf if timeout_s is None else timeout_s


_CoreT = TypeVar("_CoreT", _core.Publication, _core.Subscription)


class Handle(Generic[_CoreT]):
    """A publication or subscription of a client."""

    core: _CoreT
    _registration_timeout_s: float

    @property
    def channel_status(self) -> ChannelStatus | None:
        """State of the channel's endpoint; ACTIVE for IPC, which has none; None after close."""
        status = self.core.channel_status
        return None if status == CLOSED else ChannelStatus(status)

    @property
    def local_addresses(self) -> tuple[str, ...]:
        """Every bound ``ip:port``, with the real ports where 0 was asked for; empty for IPC."""
        return tuple(self.core.local_addresses)

    @property
    def channel(self) -> str:
        """The channel's URI as it was given."""
        return self.core.channel

    @property
    def stream_id(self) -> int:
        """The stream id, 32 bits with sign."""
        return self.core.stream_id

    @property
    def registration_id(self) -> int:
        """The driver's number of this handle."""
        return self.core.registration_id

    @property
    def is_connected(self) -> bool:
        """Whether at least one peer is connected."""
        return self.core.is_connected

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here, with its client, or because the driver ended."""
        return self.core.is_closed

    def _command_timeout_s(self, timeout_s: float | None) -> float:
        check_timeout(timeout_s)
        return self._registration_timeout_s if timeout_s is None else timeout_s

    @quiet_at_exit
    def add_destination(self, channel: str | Channel, *, timeout_s: float | None = None) -> int:
        """Add a destination to a channel with ``control-mode=manual``.

        A publication sends to it as well. A subscription receives there as well; the sessions of
        one stream that arrive over several destinations are one image.

        Args:
            channel: URI with the destination's endpoint.
            timeout_s: seconds to wait for the driver; None: as configured.
        Returns:
            The id of the destination, for :meth:`remove_destination`.
        Raises:
            RegistrationError, ChannelError: the driver refused; the text says why.
            DriverTimeout, ClosedError.
        """
        uri = str(channel)
        with explained(uri, is_reader=isinstance(self.core, _core.Subscription)):
            return self.core.add_destination(uri, self._command_timeout_s(timeout_s))

    @quiet_at_exit
    def remove_destination(
        self, destination: str | Channel | int, *, timeout_s: float | None = None
    ) -> None:
        """Remove a destination again.

        Args:
            destination: its channel, or the id that :meth:`add_destination` returned (a
                subscription beside an Aeron driver: only the channel).
            timeout_s: seconds to wait for the driver; None: as configured.
        Raises:
            RegistrationError, ChannelError, DriverTimeout, ClosedError: as for
            :meth:`add_destination`.
        """
        target = destination if isinstance(destination, int) else str(destination)
        self.core.remove_destination(target, self._command_timeout_s(timeout_s))

    @quiet_at_exit
    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until messages, image events, room or the connection may have changed.

        Args:
            timeout_s: most seconds to wait; None: no limit.
        Returns:
            False: nothing changed within ``timeout_s``. True may come early: look again.
        Raises:
            ClosedError: closed meanwhile.
            DriverLost: the driver died; messages that are in memory can still be polled.
            ConcurrentUseError: another thread waits here.
        """
        check_may_wait()
        return self.core.wait(_seconds(timeout_s))

    def close(self) -> None:
        """Close it. Idempotent."""
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

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "pass channel and stream id, and add one there")

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "connected" if self.is_connected else "waiting"
        return f"<{type(self).__name__} {self.channel} stream {self.stream_id} {state}>"
