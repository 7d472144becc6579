"""The publisher for threads: its waits block the calling thread."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

from rstream import _core
from rstream.stream import _steps
from rstream.stream._names import KIND_COMPLETE, KIND_ERROR
from rstream.stream._sender import CHUNK, SET_RATE_TIMEOUT_S, Sender, error_text, length_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rstream.rate import RateLimit
    from rstream.stream._events import StreamEvent
    from rstream.stream._steps import Step, Steps

T = TypeVar("T")
R = TypeVar("R")


class Publisher(Sender[T]):
    """Sends objects into a stream; made by :func:`rstream.publisher`.

    Thread rule: one thread at a time. Each publisher is a session of its own, so several of one
    name may live in one process or in many. When the media driver dies, the next call starts it
    again and joins with a new session. Bytes that may not have been consumed are reported as a
    :class:`Gap` in :meth:`events`; so they are when the last reader goes.
    """

    def _run(self, steps: Steps[R]) -> R:
        return _steps.run(steps, self._perform)

    def _perform(self, step: Step) -> object:
        if isinstance(step, _steps.Room):
            return self._core.wait(step.seconds)
        if isinstance(step, _steps.Pause):
            return time.sleep(step.seconds)
        return step.function()

    def set_rate(self, rate: RateLimit, *, timeout_s: float = SET_RATE_TIMEOUT_S) -> None:
        """Another rate from now on, such as ``rate.Fixed("50MB/s")``.

        Args:
            rate: the law, which begins anew; it also holds after a driver was lost.
            timeout_s: how long to wait for the driver.
        Raises:
            DriverError: it refused, or did not answer. ClosedError: closed here.
            NotSupported: an Aeron driver, and the law is neither fixed nor unlimited.
        """
        channel, bucket = self._prepare_rate(rate)
        if not self._link.client.is_aeron_driver:
            self._core.set_rate(rate.to_text(), timeout_s)
        self._bucket = bucket
        self.channel = channel

    def make_waiter(self) -> _core.Waiter:
        """A waiter that wakes when the readers' demand changes, or a reader comes or goes.

        It serves the present session; after a rejoin another one is needed.
        """
        waiter = self._link.client.core.waiter()
        waiter.attach_demand(self._core)
        return waiter

    def revive(self) -> None:
        """Join again if the driver was lost: for a publisher that has nothing to send."""
        if not self._closed:
            if self._link.is_alive:
                self._look()
            elif self._link.is_shared:
                self._run(self._rejoin_steps(None))

    def events(self) -> list[StreamEvent]:
        """The events since the last call, oldest first: readers come and gone, session changes,
        gaps. Joins again if the driver was lost (:meth:`revive`).
        """
        self.revive()
        return self._take_events()

    # ---- sending ----

    def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Send one object; wait for room, and for a first subscriber.

        Args:
            obj: what the codec takes.
            timeout_s: most seconds to wait for room; None: as long as readers are there.
        Returns:
            The position after it, in bytes of the stream.
        Raises:
            CodecError: ``obj`` cannot be encoded.
            MessageTooLarge: longer than :attr:`max_message_length`.
            NotConnected: no subscriber for ``connect_timeout_s`` (a notice is logged after 2 s).
            BackPressured: no room within ``timeout_s``.
            StorageError: the driver directory has had no room for two seconds, or for
                ``timeout_s``; the text says how much is missing.
            ClosedError: closed here.
        """
        data = self._encode(obj)
        if self._bucket is not None:
            return self._run(self._send_steps(data, timeout_s))
        position = self._offer(data)
        if position <= 0:
            position = self._run(self._offer_again_steps(data, position, timeout_s))
        self._note_sent(position)
        return position

    def offer(self, obj: T) -> int:
        """Try to send one object at once.

        Returns:
            The position after it, or below 0 when it was not taken: Aeron's reason
            (:data:`rstream.NOT_CONNECTED` -1, BACK_PRESSURED -2: the readers have no room,
            ADMIN_ACTION -3), or RATE_LIMITED -7: it is held back by its own rate.
        Raises:
            CodecError, MessageTooLarge, ClosedError: as for :meth:`send`.
        """
        data = self._encode(obj)
        if self._is_over_rate():
            return _core.RATE_LIMITED
        position = self._offer(data)
        if position <= _core.CLOSED:
            self._run(self._recover_steps(position, length_of(data)))
            position = self._offer(data)
        return self._note_offered(position, data)

    def send_many(self, objects: Iterable[T], *, timeout_s: float | None = None) -> int:
        """Send all objects in order, in chunks of 256: the fastest way to send.

        A chunk is sent when its 256 objects are there; for a slow iterable use :meth:`send`.

        Args:
            objects: what the codec takes.
            timeout_s: most seconds to wait for room for one object.
        Returns:
            How many were sent: all. On an exception, those before the one that failed were sent,
            as far as whole chunks go.
        Raises:
            RStreamError: as for :meth:`send`.
        """
        count = 0
        iterator = iter(objects)
        while chunk := list(islice(iterator, CHUNK)):
            if self._bucket is None:
                self._run(self._send_many_steps([self._encode(obj) for obj in chunk], timeout_s))
            else:
                for obj in chunk:
                    self.send(obj, timeout_s=timeout_s)
            count += len(chunk)
        return count

    def flush(self) -> None:
        """Does nothing: a message that was sent is in the log already."""

    # ---- the end ----

    def wait_consumed(self, position: int | None = None, *, timeout_s: float | None = None) -> bool:
        """Wait until every reader has consumed up to ``position`` (UDP: as status messages say).

        Args:
            position: bytes of the stream; None: what was sent so far.
            timeout_s: None waits for ever.
        Returns:
            False: not within ``timeout_s``.
        """
        wanted = self._core.position if position is None else position
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        return self._run(self._wait_consumed_steps(wanted, deadline_s, give_up_alone=False))

    def fail(self, error: BaseException | str) -> None:
        """End the stream with an error: readers raise :class:`RemoteError` with the text."""
        self._end(KIND_ERROR, error_text(error), self.linger_s)

    def close(self, *, linger_s: float | None = None) -> None:
        """Say that the stream is complete, and wait until readers have consumed it. Idempotent.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with. What is left then
                is still delivered while the driver lives.
        """
        self._end(
            KIND_COMPLETE, self.name.encode(), self.linger_s if linger_s is None else linger_s
        )

    def _end(self, kind: int, text: bytes, linger_s: float) -> None:
        if self._closed:
            return
        try:
            self._run(self._end_steps(kind, text, linger_s))
        finally:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is None:
            self.close()
        else:
            self.fail(exc)
