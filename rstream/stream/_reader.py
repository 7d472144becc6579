"""The face of a reader of one stream; its engine is in _stream_reading.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, final, overload

from rstream.stream._reading._stream_reading import StreamReading
from rstream.stream._subscriber import Subscriber

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._reading._reading import Reading

__all__ = ("Reader", "face_of", "reading_of")

T = TypeVar("T")


@final
class Reader(Subscriber[T], Generic[T]):
    """Reads one stream from one or more channels; made by :func:`rstream.stream.reader`.

    When the media driver dies, ``poll`` starts it again, joins, and reports per publisher a
    :class:`Gap` from the last position handed out. A UDP port that was chosen by the system is
    kept.

    Attributes:
        name: of the stream.
        stream_id: of the stream.
    """

    def __init__(self, reading: StreamReading[T]) -> None:
        super().__init__(reading)
        self.name: str = reading.name
        self.stream_id: int = reading.stream_id

    @property
    def _stream(self) -> StreamReading[T]:
        return cast("StreamReading[T]", self._reading)

    @property
    def channel(self) -> str:
        """The channels, for people."""
        return self._stream.channel

    @property
    def subscriptions(self) -> list[_core.Subscription]:
        """The transport subscriptions, in the order of the channels."""
        return self._stream.subscriptions

    @property
    def demand(self) -> int:
        """Messages that publishers were asked for and that no poll has taken; of several channels
        the most.
        """
        return self._stream.demand

    def fail(self, error: BaseException | str) -> None:
        """Leave the stream with an error: its publishers get the text, cut to 1023 bytes.

        For a publisher without another reader ``send`` and ``wait_consumed`` raise
        :class:`RemoteError`. In shared memory a publisher's other readers lose it too, for ten
        seconds (Aeron's rejection), so this is for a reader with an address of its own.
        """
        self._stream.fail(error)


def face_of(reading: Reading[Any]) -> Subscriber[Any]:
    """A face for an engine."""
    return Reader(reading) if isinstance(reading, StreamReading) else Subscriber(reading)


@overload
def reading_of(face: Reader[T]) -> StreamReading[T]: ...
@overload
def reading_of(face: Subscriber[T]) -> Reading[T]: ...
def reading_of(face: Subscriber[T]) -> Reading[T]:
    """The engine of a face."""
    return face._reading  # pyright: ignore[reportPrivateUsage] - the one door to it
