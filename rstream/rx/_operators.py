"""Operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from rstream import rate as rates
from rstream import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.codecs import Codec
    from rstream.stream import Publisher


def to_stream(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = 10.0,
    linger_s: float = 5.0,
    rate: rates.RateLimit | None = None,
) -> Callable[[Observable[Any]], Observable[int]]:
    """Send every item into a stream.

    ``send`` waits for room in the thread that emits, and so slows the pipeline above down.
    Completion completes the stream, an error ends it with its text, dispose completes it.

    Args:
        name, type, codec, channel, stream_id, dir, client, connect_timeout_s, linger_s, rate: as
            for :func:`rstream.publisher`.
    Returns:
        An operator. Its Observable emits one item, how many were sent, when the source has
        completed and readers had ``linger_s`` to consume; then it completes. So ``.run()`` gives
        the count. A failure to send disposes the source and reaches ``on_error``.
    """

    def operator(source: Observable[Any]) -> Observable[int]:
        def subscribe(
            observer: abc.ObserverBase[int], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            try:
                publisher: Publisher[Any] = stream.publisher(
                    name,
                    codec=codec if codec is not None else _codec_for(type),
                    channel=channel,
                    stream_id=stream_id,
                    dir=dir,
                    client=client,
                    connect_timeout_s=connect_timeout_s,
                    linger_s=linger_s,
                    rate=rate,
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


def _codec_for(type: type[Any] | None) -> Codec[Any]:
    from rstream.codecs import codec_for

    return codec_for(type)


class _Sending:
    """Between one source and one publisher."""

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
