"""Encoding and offering: what a publisher does at once, without a wait."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, final

from rstream import _core
from rstream._process import raise_of_handler
from rstream.errors import ClosedError, CodecError, MaxPositionExceeded, RStreamError
from rstream.stream._names import KIND_PART, KIND_PLAIN, header_of
from rstream.stream._unsendable import NO_BUFFER, add_index, buffer_error, encode_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Buffer

    from rstream.codecs import Codec, Encoded
    from rstream.stream._sending._errors import SendErrors
    from rstream.stream._sending._readers import KnownReaders
    from rstream.stream._sending._session import SendSession
    from rstream.stream._sending._under_way import UnderWay

__all__ = ("CHUNK", "Offers", "at_hand", "length_of")

log = logging.getLogger("rstream")

#: Messages that send_many encodes and offers at once.
CHUNK: Final = 256


@final
class Offers:
    """Encodes objects and offers them once. Under the publisher's lock.

    Attributes:
        part_header: the reserved value of a part of a message.
    """

    def __init__(
        self,
        session: SendSession,
        readers: KnownReaders,
        errors: SendErrors,
        under_way: UnderWay,
        codec: Codec[Any],
    ) -> None:
        self._session = session
        self._state = session.state
        self._readers = readers
        self._errors = errors
        self._under_way = under_way
        self._codec = codec
        self._encode = codec.encode
        self.part_header = header_of(KIND_PART, codec.codec_id, session.settings.name)
        self.use_quick_encoder()
        self._state.accepts = getattr(codec, "accepts", None)
        self._state.header = self.header(KIND_PLAIN)

    def header(self, kind: int) -> int:
        """The reserved value of a message of this kind."""
        return header_of(kind, self._codec.codec_id, self._session.settings.name)

    # ---- encoding ----

    def use_quick_encoder(self) -> None:
        """Have the short way encode without care for errors; None of codecs that change nothing."""
        self._state.quick_encode = getattr(self._codec, "quick_encode", self._encode)

    def encode(self, obj: Any) -> Encoded:
        """The message. Raises CodecError, which says what cannot be encoded, and where."""
        with self._state.lock:
            try:
                return self._encode(obj)
            except Exception as error:
                raise_of_handler(error)
                raise self._encode_error(obj, error) from error

    def encode_after(self, obj: Any, error: Exception) -> Encoded:
        """The message all the same, when the quick encoder has raised; or a better error."""
        raise_of_handler(error)
        if self._state.quick_encode == self._encode:
            raise self._encode_error(obj, error) from error
        data = self.encode(obj)  # the codec's own encode raises a better error
        self._state.quick_encode = self._encode  # the next objects may be like this one
        return data

    def encode_all(
        self, objects: Sequence[Any], first: int
    ) -> tuple[list[Encoded], Exception | None]:
        """The messages of the objects before the first one that fails, and the failure.

        Args:
            objects: what the codec takes.
            first: how many objects the call sent before these, for the failure.
        """
        messages: list[Encoded] = []
        encode = self._encode
        try:
            for obj in objects:
                messages.append(encode(obj))  # noqa: PERF401 - keeps those before a failure
        except Exception as error:
            raise_of_handler(error)
            failure = self._encode_error(objects[len(messages)], error)
            add_index(failure, first + len(messages))
            failure.__cause__ = error
            return messages, failure
        return messages, None

    def _encode_error(self, obj: object, error: Exception) -> CodecError:
        return encode_error(self._session.settings.where(), obj, error)

    def buffer_error(self, data: Encoded, error: Exception) -> CodecError:
        """The error of a codec that returned something without bytes."""
        return buffer_error(self._session.settings.where(), self._codec, data, error)

    # ---- offering ----

    def offer(self, data: Encoded, header: int | None = None, messages: int = 1) -> int:
        """Offer and, in the same step, count; then comes ``note_sent`` of the readers."""
        if self._under_way.untold and (reason := self.tell_given_up()) < 0:
            return reason
        session, state = self._session, self._state
        if session.is_limited:
            self.is_large(data)
        offer = session.offer_parts if type(data) is list else session.offer_one
        try:
            return state.take(messages, offer, data, state.header if header is None else header)
        except RStreamError:
            raise
        except NO_BUFFER as error:
            raise self.buffer_error(data, error) from error

    def offer_from(self, messages: list[Buffer], start: int) -> tuple[int, int]:
        """Offer as many as are taken; returns their number, and the position or a reason."""
        if self._under_way.untold and (reason := self.tell_given_up()) < 0:
            return 0, reason
        session, state = self._session, self._state
        if session.is_limited:
            position = self.offer(messages[start])
            return int(position > 0), position
        try:
            return state.take(0, session.offer_many, messages, start, state.header)
        except RStreamError:
            raise
        except NO_BUFFER as error:  # the first one: those before another one would be taken
            raise self.buffer_error(messages[start], error) from error

    def note_sent(self) -> None:
        """After something was sent and counted."""
        state = self._state
        if state.sent >= state.look_again:
            self.use_quick_encoder()
        self._readers.note_sent()

    def note_offered(self, position: int, data: Encoded) -> int:
        """Note the result of one offer; returns what ``offer()`` returns to its caller."""
        if position > 0:
            self.note_sent()
            self._session.spend(length_of(data))
        elif position == _core.NOT_CONNECTED:
            self._readers.look()
            self._session.has_readers()  # the next offer may find enough of them
        elif position == _core.BACK_PRESSURED and self._errors.is_rate_limited:
            return _core.RATE_LIMITED
        return position

    def is_large(self, data: Encoded) -> bool:
        """Whether a message travels in parts.

        Raises:
            MessageTooLarge: it is longer than this publisher may send.
        """
        length_bytes = length_of(data)
        if length_bytes > self._session.max_message_length:
            raise self._errors.too_large(length_bytes)
        return length_bytes > self._session.core.max_message_length

    def must_join_again(self, reason: int, length_bytes: int) -> bool:
        """Raise the error of a refused offer. True: the driver was lost. False: offer again."""
        session, where = self._session, self._session.settings.where
        session.check_open()
        if reason == _core.MAX_POSITION_EXCEEDED:
            raise MaxPositionExceeded(
                f"{where()}: all 2**31 terms are used",
                hint="open a new publisher, or one with longer terms",
                **session.place(),
            )
        if not session.link.is_alive or (session.core.is_closed and session.link.is_shared):
            return True
        if length_bytes > session.core.max_message_length:
            raise self._errors.too_large(length_bytes)
        if reason == _core.CLOSED:
            raise ClosedError(f"{where()}: its publication was closed", **session.place())
        if reason == _core.ERROR:
            raise RStreamError(f"{where()}: the message was refused: {_core.last_error()}")
        return False

    # ---- messages in parts that were given up ----

    def tell_given_up(self) -> int:
        """Tell the readers to drop what they have of a message; below 0: why it must be done later.

        It need not wait for room, unless the limit was lowered far below what was sent.
        """
        session, under_way = self._session, self._under_way
        while under_way.untold:
            message = under_way.untold[0]
            data = message.give_up()
            if message.is_begun and message.core is session.core and not session.is_ending:
                try:
                    reason = session.core.offer_control(data, self.part_header)
                except RStreamError as error:  # the end of the stream tells it
                    log.debug("%s: readers were not told: %s", session.settings.where(), error)
                else:
                    if _core.CLOSED < reason < 0:
                        return reason
            # An interrupt before this has it told twice, which readers leave out.
            under_way.untold = under_way.untold[1:]
        if session.refusal == 0:
            session.accept()
        return 0


def at_hand(objects: Iterable[Any]) -> Sequence[Any] | None:
    """The objects if all are there at once: a list, tuple or range.

    The next object of another iterable may take long.
    """
    if isinstance(objects, (list, tuple, range)):
        return objects  # pyright: ignore[reportReturnType, reportUnknownVariableType]
    return None


def length_of(data: Encoded) -> int:
    """Bytes of an encoded object; 0: it has none, and its offer will raise."""
    try:
        if type(data) is list:
            return sum(memoryview(part).nbytes for part in data)
        if isinstance(data, bytes):
            return len(data)
        return memoryview(data).nbytes  # pyright: ignore[reportArgumentType] - not a list
    except NO_BUFFER:
        return 0
