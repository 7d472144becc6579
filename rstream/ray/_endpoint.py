"""Reading ends inside Ray actors.

A blocking loop in an actor method would lock the actor, so an endpoint reads on a thread of its
own. :mod:`rstream.ray._open` opens it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from rstream.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.ray._handle import StreamHandle
    from rstream.stream import Reader, Subscriber

log = logging.getLogger("rstream")

#: How long the background thread sleeps at most before it looks whether it was closed.
CLOSE_CHECK_S = 0.1


class Endpoint:
    """A reading end with its handle, and a background thread after :meth:`start`.

    Thread rules: call ``start`` once; call ``close`` and the properties from any thread. Without
    ``start`` the owner polls ``source`` itself.

    Attributes:
        reader: reads the transport.
        source: the reader, or the queue that a policy puts in front of it.
        handle: the address of this reading end, for writers.
    """

    def __init__(
        self, reader: Reader[Any], handle: StreamHandle, source: Subscriber[Any] | None = None
    ) -> None:
        self.reader: Reader[Any] = reader
        self.source: Subscriber[Any] = reader if source is None else source
        self.handle: StreamHandle = handle
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._finishing = threading.Event()
        self._error: BaseException | None = None
        self._demand = reader.prefetch

    @property
    def demand(self) -> int:
        """Messages that may be read now: ``prefetch`` less those inside ``on_item``."""
        return self._demand

    @property
    def fill(self) -> tuple[int, int]:
        """(bytes received and not yet consumed, window in bytes) of the fullest channel."""
        fills = [subscription.fill for subscription in self.reader.subscriptions]
        return max(fills, key=lambda pair: pair[0] / pair[1] if pair[1] else 0.0, default=(0, 0))

    def start(
        self,
        on_item: Callable[[Any], None],
        *,
        on_end: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Read in the background, one item after the other; a slow ``on_item`` slows the writers.

        Args:
            on_item: is called for each item, on the endpoint's thread. An exception ends the
                endpoint and reaches ``on_end``.
            on_end: is called once at the end, with the exception or None.
        Raises:
            ConfigError: it was started before.
        """
        if self._thread is not None:
            raise ConfigError(f"stream {self.handle.name!r}: its endpoint is already started")
        self._thread = threading.Thread(
            target=self._run,
            args=(on_item, on_end),
            name=f"rstream-{self.handle.name}",
            daemon=True,
        )
        self._thread.start()

    def _run(
        self,
        on_item: Callable[[Any], None],
        on_end: Callable[[BaseException | None], None] | None,
    ) -> None:
        from rstream.stream._pump import batches

        try:
            for items in batches(
                self.source,
                self._closing.is_set,
                limit=lambda: self._demand,
                is_ended=self._is_finished,
                wait_s=CLOSE_CHECK_S,
            ):
                self._demand -= len(items)
                for item in items:
                    on_item(item)
                    self._demand += 1
        except BaseException as error:
            self._error = error
            log.error("stream %r: endpoint ended: %s", self.handle.name, error)
        if on_end is not None:
            on_end(self._error)

    def _is_finished(self) -> bool:
        """Whether :meth:`finish` was called, and all that was there by then has been read.

        Writers come and go (Spark's workers do not complete the stream), so only finish() ends it.
        """
        return self._finishing.is_set() and not self._is_filling()

    def _is_filling(self) -> bool:
        """Whether received messages still move into the queue of a policy."""
        return self.source is not self.reader and self.fill[0] > 0

    def finish(self, timeout_s: float = 60.0) -> None:
        """Read everything that has arrived, then end and call ``on_end``.

        Writers must have finished before.

        Raises:
            TimeoutError: it is still reading after ``timeout_s`` seconds.
            Exception: the exception of ``on_item``.
        """
        self._finishing.set()
        self.source.wake()
        self._join(timeout_s)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop reading and close; messages that were not read stay unread. Idempotent."""
        self._closing.set()
        self.source.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._join(10.0)
        self.source.close()

    def _join(self, timeout_s: float) -> None:
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise TimeoutError(
                f"stream {self.handle.name!r}: its endpoint is still busy after {timeout_s} s; "
                "on_item does not return"
            )

    def statistics(self) -> dict[str, Any]:
        """Counters of the reader and of its policy's queue; fill and window in bytes."""
        return self.source.statistics()
