"""The operator that sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from rstream import codecs, stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.codecs import CodecLike
    from rstream.stream import Publisher, PublisherOptions


def to_stream(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[PublisherOptions],
) -> Callable[[Observable[Any]], Observable[int]]:
    """An operator that sends every item into a stream.

    ``send`` waits for room in the thread that emits, and so slows the pipeline above it down.
    Completion completes the stream, an error ends it with the error's text, and dispose completes
    it.

    Args:
        name, type, codec, options: as for :func:`rstream.publisher`.
    Returns:
        The operator. Its Observable emits one item, the number of items sent, when the source has
        completed and the readers had ``linger_s`` seconds to consume; then it completes. So
        ``.run()`` returns the count. A failure to send disposes the source and reaches
        ``on_error``.
    """

    def operator(source: Observable[Any]) -> Observable[int]:
        def subscribe(
            observer: abc.ObserverBase[int], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            try:
                publisher: Publisher[Any] = stream.publisher(
                    name, codec=codecs.choose(type, codec), **options
                )
            except Exception as error:
                observer.on_error(error)
                return Disposable()
            sending = _Sending(publisher, observer)
            sending.upstream.add(
                source.subscribe(
                    sending.on_next, sending.on_error, sending.on_completed, scheduler=scheduler
                )
            )
            return Disposable(sending.dispose)

        return Observable(subscribe)

    return operator


class _Sending:
    """The connection of one source to one publisher."""

    def __init__(self, publisher: Publisher[Any], observer: abc.ObserverBase[int]) -> None:
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
        self._observer.on_next(self._count)
        self._observer.on_completed()

    def dispose(self) -> None:
        self.upstream.dispose()
        if not self._is_done:
            self._is_done = True
            self._publisher.close()
