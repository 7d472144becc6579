"""The operators that send."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from rstream import codecs, stream
from rstream.driver import watch_loop
from rstream.errors import RStreamError
from rstream.stream._internal import PublisherSettings, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.codecs import CodecLike
    from rstream.stream import Publisher, PublisherOptions

T = TypeVar("T")


class HandleLike(Protocol):
    """What opens a publisher of one reader, such as :class:`rstream.ray.StreamHandle`."""

    def publisher(
        self, type: Any = None, *, codec: CodecLike = None, **options: Any
    ) -> Publisher[Any]:
        """Open the writing end."""
        ...


def to_stream(
    name: str | int | HandleLike,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[PublisherOptions],
) -> Callable[[Observable[Any]], Observable[int]]:
    """An operator that sends every item into a stream.

    ``send`` waits for room in the thread that emits, and so slows the pipeline above it down.
    Completion completes the stream, an error ends it with the error's text, and dispose completes
    it::

        source     -1-2-3-|
                   to_stream("copy")
        "copy"     -1-2-3-|
        observer   -------3|

    Args:
        name: a stream's name or id, or the handle of a reader (:mod:`rstream.ray`).
        type, codec, options: as for :func:`rstream.publisher`, or ``publisher`` of the handle.
    Returns:
        The operator. Its Observable emits one item, the number of items sent, when the source has
        completed and the readers had ``linger_s`` seconds to consume; then it completes. So
        ``.run()`` returns the count. A failure to send disposes the source and reaches
        ``on_error``.
    Raises:
        ConfigError, TypeError: an option of a named stream has a name that does not exist.
    """
    return _sending("to_stream", _Sending, name, type, codec, options)


def tee_stream(
    name: str | int | HandleLike,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[PublisherOptions],
) -> Callable[[Observable[T]], Observable[T]]:
    """An operator that sends every item into a stream, and passes it on.

    ::

        source     -1-2-3-|
                   tee_stream("copy")
        "copy"     -1-2-3-|
        observer   -1-2-3-|

    An item is sent first, in the thread that emits: the slower one of the stream's readers and the
    observer slows the source down. Completion, an error and dispose end the stream as by
    :func:`to_stream`; the observer completes when the readers had ``linger_s`` seconds to consume.

    Args:
        name, type, codec, options: as for :func:`to_stream`.
    Returns:
        The operator. A failure to send disposes the source and reaches ``on_error``.
    Raises:
        ConfigError, TypeError: as for :func:`to_stream`.

    Example::

        rx.from_stream("ticks").pipe(ops.map(score), rx.tee_stream("scores")).subscribe(print)
    """
    return _sending("tee_stream", _Teeing, name, type, codec, options)


def _sending(
    what: str,
    kind: Callable[[Publisher[Any], abc.ObserverBase[Any]], _Sending],
    name: str | int | HandleLike,
    type: Any,
    codec: CodecLike,
    options: PublisherOptions,
) -> Callable[[Observable[Any]], Observable[Any]]:
    if isinstance(name, str | int):
        settings(PublisherSettings, what, options, "type", "codec")
    elif not callable(getattr(name, "publisher", None)):
        raise TypeError(f"{what}({name!r}): must be a stream's name or id, or a handle")

    def operator(source: Observable[Any]) -> Observable[Any]:
        def subscribe(
            observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            try:
                publisher = _open(name, type, codec, options)
            except Exception as error:
                observer.on_error(error)
                return Disposable()
            sending = kind(publisher, observer)
            watch_loop(sending)
            sending.upstream.add(
                source.subscribe(
                    sending.on_next, sending.on_error, sending.on_completed, scheduler=scheduler
                )
            )
            return Disposable(sending.dispose)

        return Observable(subscribe)

    return operator


def _open(
    name: str | int | HandleLike, type: Any, codec: CodecLike, options: PublisherOptions
) -> Publisher[Any]:
    if isinstance(name, str | int):
        return stream.publisher(name, codec=codecs.choose(type, codec), **options)
    return name.publisher(type, codec=codec, **options)


class _Sending:
    """The connection of one source to one publisher."""

    def __init__(self, publisher: Publisher[Any], observer: abc.ObserverBase[Any]) -> None:
        self.upstream = CompositeDisposable()
        self._publisher = publisher
        self._observer = observer
        self._count = 0
        self._is_done = False

    def on_next(self, item: Any) -> None:
        if self._is_done:
            return
        try:
            self._publisher.send(item)
        except Exception as error:
            if self._is_done:  # the program ends
                return
            self._is_done = True
            self.upstream.dispose()
            self._publisher.fail(error)
            self._observer.on_error(error)
            return
        self._count += 1

    def on_error(self, error: Exception) -> None:
        if self._is_done:
            return
        self._is_done = True
        self._publisher.fail(error)
        self._observer.on_error(error)

    def on_completed(self) -> None:
        if self._is_done:
            return
        self._is_done = True
        try:
            self._publisher.close()
        except Exception as error:
            self._observer.on_error(error)
            return
        self._complete()

    def _complete(self) -> None:
        self._observer.on_next(self._count)
        self._observer.on_completed()

    def dispose(self) -> None:
        self.upstream.dispose()
        if not self._is_done:
            self._is_done = True
            self._publisher.close()

    def stop(self) -> None:
        """At the end of the program: end a ``send`` that waits. The stream is not complete."""
        self.upstream.dispose()  # first, or the reader goes through all that it has
        if not self._is_done:
            self._is_done = True
            with suppress(RStreamError):
                self._publisher.fail("the program has ended", linger_s=0.0)

    def join(self, timeout_s: float) -> None:
        """Nothing to wait for."""


class _Teeing(_Sending):
    """The same, with each item passed on after it was sent."""

    def on_next(self, item: Any) -> None:
        super().on_next(item)
        if not self._is_done:
            self._observer.on_next(item)

    def _complete(self) -> None:
        self._observer.on_completed()
