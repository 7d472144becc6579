"""Streams as Observables."""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rstream import policy, stream
from rstream.errors import ClosedError
from rstream.stream._pump import batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.codecs import Codec
    from rstream.stream import Subscriber

log = logging.getLogger("rstream")

T = TypeVar("T")

WAIT_S = 0.5
#: How long the end of the process waits for an item that is under way in a thread of run().
EXIT_S = 2.0


def from_stream(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    prefetch: int = 256,
    on_slow: policy.SlowPolicy = policy.Block(),
    dir: str | None = None,
    client: Client | None = None,
) -> Observable[Any]:
    """An Observable of a stream's items.

    Each ``subscribe`` opens the stream and reads it on a thread of its own, which keeps the
    program alive until the stream ends or the subscription is disposed; under ``run()`` the caller
    waits itself, so the thread does not, and Ctrl-C ends the program. Delivery is synchronous in
    that thread.

    Args:
        name, type, codec, channel, stream_id, on_slow, dir, client: as for
            :func:`rstream.subscriber`.
        prefetch: most items read at once; the room they took is given back to the publisher
            together.
    Returns:
        A cold Observable. It completes when every publisher seen has completed; ``PublisherLost``,
        ``RemoteError`` and all other failures, those of opening too, reach ``on_error``.
        Dispose stops it within 100 ms, from any thread; an item under way is finished.
    """

    def open_subscriber() -> Subscriber[Any]:
        return stream.subscriber(
            name,
            type,
            codec=codec,
            channel=channel,
            stream_id=stream_id,
            prefetch=prefetch,
            on_slow=on_slow,
            dir=dir,
            client=client,
        )

    return _observable(open_subscriber, f"rstream-rx-{name}")


def from_reader(reader: Subscriber[T]) -> Observable[T]:
    """An Observable of a reader that is open already (such as a Ray endpoint's).

    It may be subscribed once; the reader is closed when the stream ends or the subscription is
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
    """Whether ``Observable.run()`` of RxPY is among the callers: it waits for the end itself, and a
    thread that kept the program alive would make Ctrl-C there seem to do nothing.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_globals.get("__name__") == "reactivex.run":
            return True
        frame = frame.f_back
    return False


_readings: weakref.WeakSet[_Reading] = weakref.WeakSet()


def _stop_readings() -> None:
    """At exit, before the clients are closed: nobody reads any more."""
    for reading in list(_readings):
        reading.stop()
    for reading in list(_readings):
        reading.thread.join(EXIT_S)


class _Reading:
    """The thread between one subscriber and one observer."""

    def __init__(self, source: Subscriber[Any], observer: abc.ObserverBase[Any], name: str) -> None:
        self._source = source
        self._observer = observer
        self._is_stopped = False
        # None: as the thread that subscribes, so that RxPY's own threads count as run() does.
        daemon = True if _is_under_run() else None
        self.thread = threading.Thread(target=self._run, name=name, daemon=daemon)
        if not _readings:
            # Here and not at import: what is registered last runs first, before the clients close.
            atexit.unregister(_stop_readings)
            atexit.register(_stop_readings)
        _readings.add(self)
        self.thread.start()

    def stop(self) -> None:
        """Dispose: nothing is emitted after the item under way."""
        self._is_stopped = True
        self._source.wake()

    def _run(self) -> None:
        error: Exception | None = None
        try:
            self._read()
        except Exception as raised:
            error = raised
        finally:
            # Closed before the end is told: who waits for the end may want the stream's name again.
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
        for items in batches(self._source, lambda: self._is_stopped, wait_s=WAIT_S):
            for item in items:
                on_next(item)
                if self._is_stopped:
                    return
