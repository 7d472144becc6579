"""What the callers in threads and in event loops share: codecs, and the texts of errors."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

from rstream._checks import is_whole, short
from rstream._pickling import refuse_pickling
from rstream._process import is_inherited, quiet_when_torn_down, raise_interrupt
from rstream._unclosed import call_site, warn_unclosed
from rstream.errors import BackPressured, ClosedError, CodecError, ConfigError, RequestTimeout
from rstream.service._line import joined

if TYPE_CHECKING:
    from rstream.codecs import Codec
    from rstream.service._line import Line
    from rstream.service._place import ServicePlace

A = TypeVar("A")

#: Most requests of one caller without an answer.
OUTSTANDING: Final = 256
#: Answers of a stream that the server may be ahead of its caller.
PREFETCH: Final = 64
TIMEOUT_S: Final = 10.0


class RequesterBase(Generic[A]):
    """The part of a caller that never waits."""

    def __init__(
        self,
        place: ServicePlace,
        *,
        query_codec: Codec[Any],
        codec: Codec[A],
        outstanding: int,
        dir: str | None,
    ) -> None:
        if not is_whole(outstanding) or outstanding < 1:
            raise ConfigError(
                f"outstanding={outstanding!r}: must be a number of requests, 1 or more"
            )
        self.place: ServicePlace = place
        self.outstanding: int = outstanding
        self._dir = dir
        self._query_codec = query_codec
        self._codec = codec
        self._codec_lock = threading.Lock()  # a codec serves one thread at a time
        self._line: Line | None = None
        self._closed = False
        self._pid = os.getpid()
        self._made_at = call_site()

    @property
    def name(self) -> str:
        """The name of the service."""
        return self.place.name

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed

    def _forget_inherited(self) -> bool:
        """In a forked child: closed from now on, and nothing else. False: this process made it."""
        if not is_inherited(self._pid):
            return False
        self._closed = True
        return True

    def statistics(self) -> dict[str, int]:
        """``outstanding`` requests, requests ``answered``, and answers that came too ``late``, on
        the line to the server of now.
        """
        line = self._line
        return {"outstanding": 0, "answered": 0, "late": 0} if line is None else line.statistics()

    def _encoded(self, query: Any) -> bytes:
        try:
            return self._encode(query)
        except Exception as error:
            raise_interrupt(error, lambda: self._encode(query))
            if isinstance(error, CodecError):
                raise CodecError(
                    f"{self._where}: the query: {error.args[0]}", hint=error.hint
                ) from error
            raise CodecError(f"{self._where}: the query {short(query)}: {error}") from error

    def _encode(self, query: Any) -> bytes:
        with self._codec_lock:
            return joined(self._query_codec.encode(query))

    def _decode(self, body: bytes) -> A:
        with self._codec_lock:
            return self._codec.decode_many([body])[0]

    def _decoded(self, codec_id: int, body: bytes) -> A:
        wanted = self._codec.codec_id
        if codec_id != wanted:
            from rstream.codecs import describe_codec

            raise CodecError(
                f"{self._where}: the answer was written with codec {describe_codec(codec_id)}, "
                f"this caller has {describe_codec(wanted)}; use the same codec= at both ends"
            )
        try:
            return self._decode(body)
        except CodecError as error:
            raise_interrupt(error, lambda: self._decode(body))
            raise CodecError(
                f"{self._where}: the answer: {error.args[0]}",
                hint=error.hint or "use the same type= and codec= at both ends",
            ) from error

    @property
    def _where(self) -> str:
        return f"service {self.name!r} on {self.place.channel}"

    def _timeout(self, timeout_s: float | None, what: str = "no answer") -> RequestTimeout:
        return RequestTimeout(
            f"{self._where}: {what} within {timeout_s:g} s",
            hint="the server was told to give it up; allow more time, or look why it is slow",
            channel=self.place.channel,
        )

    def _full(self, timeout_s: float | None) -> BackPressured:
        return BackPressured(
            f"service {self.name!r}: {self.outstanding} requests have no answer, and none came "
            f"within {timeout_s:g} s",
            hint="ask for less at a time, or raise outstanding=",
            channel=self.place.channel,
        )

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"requester of {self.name!r}: closed here", channel=self.place.channel)

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "pass the name of the service, and make a requester there")

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r}>"

    @quiet_when_torn_down
    def __del__(self) -> None:
        if getattr(self, "_closed", True) or self._forget_inherited():
            return
        if self._line is not None:
            warn_unclosed(self, self._made_at)


def check_prefetch(prefetch: object) -> None:
    """Refuse what is no number of answers.

    Raises:
        ConfigError: says what it must be.
    """
    _check_count("prefetch", prefetch, 0)


def check_demand(n: object) -> None:
    """Refuse what ``request(n)`` of a stream cannot take.

    Raises:
        ConfigError: says what it must be.
    """
    _check_count("n", n, 1)


def _check_count(name: str, value: Any, least: int) -> None:
    if not is_whole(value) or value < least:
        raise ConfigError(f"{name}={value!r}: must be a number of answers, {least} or more")
