"""Streams as Observables."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rstream import codecs, stream
from rstream.driver import watch_loop
from rstream.errors import ClosedError
from rstream.stream._options import SubscriberSettings, settings
from rstream.stream._pump import items

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeForm

    from rstream.codecs import Codec, CodecLike
    from rstream.stream import Subscriber, SubscriberOptions

log = logging.getLogger("rstream")

T = TypeVar("T")

WAIT_S = 0.5


@overload
def from_stream(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    **options: Unpack[SubscriberOptions],
) -> Observable[Any]: ...
@overload
def from_stream(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    **options: Unpack[SubscriberOptions],
) -> Observable[T]: ...
@overload
def from_stream(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[SubscriberOptions],
) -> Observable[T]: ...
def from_stream(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[SubscriberOptions],
) -> Observable[Any]:
    """An Observable of a stream's items.

    Each ``subscribe`` opens the stream and reads it on a thread of its own. That thread keeps the
    program alive until the stream ends or the subscription is disposed. Under ``run()`` the caller
    waits itself: then the thread is a daemon, and Ctrl-C ends the program. Items are delivered
    synchronously in that thread.

    Args:
        name, type, codec, options: as for :func:`rstream.subscriber`.
    Returns:
        A cold Observable. It completes when every publisher seen has completed. ``PublisherLost``,
        ``RemoteError`` and all other failures, those of opening too, reach ``on_error``.
        Dispose stops it within 100 ms, from any thread; an item being delivered is finished.
    Raises:
        ConfigError, TypeError: an option has a name or a ``prefetch`` that cannot be used.
    """
    settings(SubscriberSettings, "from_stream", options)

    def open_subscriber() -> Subscriber[Any]:
        return stream.subscriber(name, codec=codecs.choose(type, codec), **options)

    return _observable(open_subscriber, f"rstream-rx-{name}")


def from_reader(reader: Subscriber[T]) -> Observable[T]:
    """An Observable of a reader that is open already, such as that of a Ray endpoint.

    It can be subscribed once. The reader is closed when the stream ends or the subscription is
    disposed.
    """

    def take() -> Subscriber[T]:
        if reader.is_closed:
            raise ClosedError(
                f"{reader!r} is closed: an Observable of a reader can be subscribed once"
            )
        return reader

    return _observable(take, "rstream-rx-reader")


def _observable(open_subscriber: Callable[[], Subscriber[T]], name: str) -> Observable[T]:
    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        try:
            source = open_subscriber()
        except Exception as error:
            observer.on_error(error)
            return Disposable()
        reading = _Reading(source, observer, name)
        return Disposable(reading.stop)

    return Observable(subscribe)


def _is_under_run() -> bool:
    """Whether ``Observable.run()`` of RxPY is among the callers.

    It waits for the end itself. If the reading thread kept the program alive, Ctrl-C would seem to
    do nothing there.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_globals.get("__name__") == "reactivex.run":
            return True
        frame = frame.f_back
    return False


class _Reading:
    """The thread that reads one subscriber for one observer."""

    def __init__(self, source: Subscriber[Any], observer: abc.ObserverBase[Any], name: str) -> None:
        self._source = source
        self._observer = observer
        self._is_stopped = False
        # None: as the subscribing thread is; so RxPY's own daemon threads make this one a daemon.
        daemon = True if _is_under_run() else None
        self.thread = threading.Thread(target=self._run, name=name, daemon=daemon)
        watch_loop(self)
        self.thread.start()

    def stop(self) -> None:
        """Dispose: the item being delivered is the last one."""
        self._is_stopped = True
        self._source.wake()

    def join(self, timeout_s: float) -> None:
        """Wait until the reader is closed."""
        self.thread.join(timeout_s)

    def _run(self) -> None:
        error: Exception | None = None
        try:
            self._read()
        except Exception as raised:
            error = raised
        finally:
            # Closed before the observer learns of the end: it may open the stream again at once.
            self._source.close()
        if self._is_stopped:
            if error is not None:
                log.error("%r: failed while it was being disposed: %s", self._source, error)
        elif error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)

    def _read(self) -> None:
        on_next = self._observer.on_next
        for item in items(self._source, lambda: self._is_stopped, wait_s=WAIT_S):
            on_next(item)
            if self._is_stopped:
                return
