"""What the publishers for threads and for event loops tell of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from rstream import _core
from rstream._pickling import refuse_pickling
from rstream._process import quiet_when_torn_down
from rstream._unclosed import warn_unclosed

if TYPE_CHECKING:
    from rstream._held_by import HeldBy
    from rstream.stream._demand import ReadersDemand
    from rstream.stream._sending import Progress, Sending

__all__ = ("PublisherFacts", "sending_of")

T = TypeVar("T")


class PublisherFacts(_core.SendPath, Generic[T]):
    """The facts of a publisher; any thread may ask. The base gives it the short way of ``send``.

    Attributes:
        _sending: the engine, which knows them.
        _made_at: where it was opened, for the warning about one that was not closed.
    """

    _sending: Sending
    _made_at: str

    def _bind(self, sending: Sending, made_at: str) -> None:
        """The last step of opening: from now on it is to be closed."""
        self._state = sending.state
        self._made_at = made_at
        self._sending = sending

    def __reduce__(self) -> NoReturn:
        refuse_pickling(
            self,
            "pass the stream's name and open a publisher there, or pass a handle "
            "(rstream.ray.reader(name).handle), whose publisher() opens one anywhere",
        )

    def __repr__(self) -> str:
        return f"<rstream.Publisher {self.name or self.stream_id!r} on {self.channel}>"

    # ---- as it was opened ----

    @property
    def name(self) -> str:
        """The name of the stream; empty: it has none."""
        return self._sending.settings.name

    @property
    def channel(self) -> str:
        """The channel, as a URI."""
        return self._sending.settings.channel

    @property
    def stream_id(self) -> int:
        """The number of the stream on its channel."""
        return self._sending.settings.stream_id

    @property
    def wait_for(self) -> int:
        """How many subscribers it waits for before it sends the first message."""
        return self._sending.settings.wait_for

    @property
    def connect_timeout_s(self) -> float | None:
        """Seconds that ``send`` waits for a subscriber; None: without a limit. May be set."""
        return self._sending.settings.connect_timeout_s

    @connect_timeout_s.setter
    def connect_timeout_s(self, seconds: float | None) -> None:
        self._sending.settings.connect_timeout_s = seconds

    @property
    def linger_s(self) -> float:
        """Seconds that closing waits for the readers to consume what was sent. May be set."""
        return self._sending.settings.linger_s

    @linger_s.setter
    def linger_s(self, seconds: float) -> None:
        self._sending.settings.linger_s = seconds

    # ---- state ----

    @property
    def session_id(self) -> int:
        """The session id; it changes when the publisher joins again."""
        return self._sending.session.core.session_id

    @property
    def position(self) -> int:
        """Bytes of the stream that were sent, with frame headers and padding; also when closed."""
        return self._sending.session.position

    @property
    def max_message_length(self) -> int:
        """Longest encoded object, in bytes. Without a name: :attr:`max_unparted_length`."""
        return self._sending.session.max_message_length

    @property
    def max_unparted_length(self) -> int:
        """Longest encoded object that travels as one message, in bytes: an eighth of a term, and 16
        MiB at most. A longer one travels in parts.
        """
        return self._sending.session.core.max_message_length

    @property
    def progress(self) -> Progress | None:
        """How far the message is that travels in parts just now; None: there is none. Any thread.

        Longer messages than :attr:`max_unparted_length` travel in parts.
        """
        return self._sending.under_way.progress

    @property
    def is_connected(self) -> bool:
        """Whether a subscriber is connected."""
        session = self._sending.session
        return not session.is_closed and session.core.is_connected

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._sending.session.is_closed

    @property
    def has_session(self) -> bool:
        """Whether it has a session now: it is not closed, and its driver is alive."""
        return self._sending.has_session

    @property
    def is_lost(self) -> bool:
        """Whether it lost its driver and cannot join again, because the caller owns the client."""
        link = self._sending.session.link
        return not link.is_alive and not link.is_shared

    @property
    def is_rate_limited(self) -> bool:
        """Whether its own rate holds it back, and not its readers."""
        return self._sending.errors.is_rate_limited

    @property
    def held_by(self) -> HeldBy | None:
        """What a send would wait for now; None: nothing, or this publisher is closed.

        Cost: about a millisecond when its readers hold it, to read their demand.
        """
        return self._sending.held_by

    def demand(self) -> ReadersDemand | None:
        """The demand of its readers: messages requested beyond what they have consumed.

        Readers without ``request(n)`` tell as much as their ``prefetch`` says; those of
        ``rstream.Client`` without it, with ``Evict`` or untethered count as ``UNBOUNDED``. Groups
        and raw Aeron peers do not report demand. It holds pipelines back (:func:`sink`), never
        :meth:`send`.

        Reading the demand marks it as seen, for :attr:`has_new_demand` and for waiting threads. A
        pipeline that sleeps may then notice new demand up to half a second late.

        Returns:
            None: the publisher is closed, or has lost its driver.
        """
        return self._sending.demand()

    @property
    def has_new_demand(self) -> bool:
        """Whether the demand changed since :meth:`demand` was called last; a tenth of its cost."""
        return self._sending.session.core.has_new_demand

    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start; positions in bytes of the stream, the last ones when closed.

        ``unread_bytes`` were sent, and the slowest reader has not consumed them. Large messages in
        shared memory count with their bytes there, and with 64 bytes in positions.
        ``segment_bytes``: the memory that this publisher has for them.
        """
        return self._sending.statistics()

    # ---- what the short way in C leaves to Python, for both ----

    def _note_sent(self) -> None:
        self._sending.offers.note_sent()

    def _on_unencodable(self, obj: T, error: Exception) -> object:
        return self._sending.offers.encode_after(obj, error)

    @quiet_when_torn_down
    def __del__(self) -> None:
        sending = getattr(self, "_sending", None)
        if sending is None or sending.session.is_closed or sending.session.forget_inherited():
            return
        warn_unclosed(self, self._made_at)


def sending_of(publisher: PublisherFacts[Any]) -> Sending:
    """The engine of a publisher, for the rooms of rstream."""
    return publisher._sending  # pyright: ignore[reportPrivateUsage] - same file
