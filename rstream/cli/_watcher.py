"""The reading thread of ``rstream watch``: it reads every session while the printer keeps up.

A reader that is slower than the others holds the window, however little it copies: a window of a
fast stream fills in less than a millisecond. So when :data:`WAITING_MAX` messages wait for the
printer, the thread leaves all sessions, and joins again when they are printed, :data:`PAUSE_S`
later at the earliest. It knows from the positions how many bytes it has missed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from rstream.cli._watch_looker import Looker
from rstream.cli._watch_targets import TARGETS_MAX, WatchTarget
from rstream.client import Client
from rstream.errors import ClientTimedOut, DriverLost, RStreamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream import _core
    from rstream.client import Subscription

__all__ = ("SeenMessage", "Watcher")

#: Most messages that wait for the printer.
WAITING_MAX: Final = 1000
#: From so many bytes on no further batch is read before they are printed.
BYTES_MAX: Final = 16 << 20
#: Longest message that is put together from its parts.
LARGE_MAX: Final = 4 << 20
#: Most notes that wait beside them.
NOTES_MAX: Final = 100
#: Most messages of one batch.
BATCH_MAX: Final = 256
#: Least time without a subscription when the printer is behind.
PAUSE_S: Final = 0.1
#: How often the thread looks whether the printer is done.
PAUSE_LOOK_S: Final = 0.02
WAIT_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """One message as it was read.

    Attributes:
        time_s: when, in seconds since 1970.
        stream_id, session_id: whose it is.
        position: where it ends, in bytes of the stream.
        header: its reserved value.
        payload: its bytes.
        skipped_bytes: bytes of the session that were left out right before it, about.
    """

    time_s: float
    stream_id: int
    session_id: int
    position: int
    header: int
    payload: bytes
    skipped_bytes: int


class Watcher(threading.Thread):
    """Reads until :meth:`stop`, or until the driver has ended.

    Args:
        driver_dir: where.
        is_wanted: which channels and stream ids.
        alone: also sessions that nobody else reads.
    """

    def __init__(
        self, driver_dir: str, is_wanted: Callable[[str, int], bool], *, alone: bool
    ) -> None:
        super().__init__(name="rstream-watch", daemon=True)
        self.driver_dir: str = driver_dir
        self._is_wanted = is_wanted
        self._alone = alone
        self._queue: SimpleQueue[SeenMessage | str | None] = SimpleQueue()
        self._reading: dict[WatchTarget, Subscription] = {}
        self._last: dict[tuple[int, int], int] = {}  # position of the last message of a session
        self._resume_s: float | None = None  # None: not pausing
        self._put_bytes = 0  # written by the thread; the other one by the printer
        self._taken_bytes = 0
        self._is_stopping = False
        self._waiter: _core.Waiter | None = None
        self._was_unread = False
        #: Sessions that the driver does not hand out; asked for once.
        self._refused: deque[tuple[int, int]] = deque(maxlen=TARGETS_MAX)

    # ---- for the printer ----

    def next(self, timeout_s: float) -> SeenMessage | str | None:
        """The next message or note; None: nothing came, or it has ended (``is_over``)."""
        try:
            taken = self._queue.get(timeout=timeout_s)
        except Empty:
            return None
        if isinstance(taken, SeenMessage):
            self._taken_bytes += len(taken.payload)
        return taken

    @property
    def is_over(self) -> bool:
        """Whether nothing is left, and nothing will come."""
        return not self.is_alive() and self._queue.empty()

    def stop(self) -> None:
        """End the thread, and leave every session."""
        self._is_stopping = True
        waiter = self._waiter
        if waiter is not None:
            with contextlib.suppress(RStreamError):  # it has just closed it
                waiter.wake()
        self.join()

    # ---- the thread ----

    def run(self) -> None:
        while not self._is_stopping:
            try:
                with Client(self.driver_dir, name="rstream watch", start_driver=False) as client:
                    self._watch(client)
            except ClientTimedOut:
                self._note("stopped for so long that the driver gave it up; watching again")
            except (DriverLost, RStreamError) as error:
                return self._note(f"ended: {error}")
            finally:
                self._reading.clear()

    def _watch(self, client: Client) -> None:
        looker = Looker(
            self.driver_dir, self._is_wanted, own_client=client.client_id, alone=self._alone
        )
        looker.start()
        self._waiter = waiter = client.core.waiter()
        try:
            self._read(client, waiter, looker)
        finally:
            looker.stop()
            self._waiter = None
            waiter.close()

    def _read(self, client: Client, waiter: _core.Waiter, looker: Looker) -> None:
        followed: tuple[list[WatchTarget], int] | None = None
        while not self._is_stopping:
            if self._resume_s is not None:
                if time.monotonic() < self._resume_s or not self._queue.empty():
                    waiter.wait(PAUSE_LOOK_S)
                    continue
                self._resume_s = followed = None
            if looker.error is not None:
                raise looker.error
            if looker.latest is not followed:
                followed = looker.latest
                self._follow(client, waiter, *(followed or ([], 0)))
            counts = [self._take(target, waiter) for target in list(self._reading)]
            if self._is_full():
                self._pause(waiter)
            elif not sum(counts):
                waiter.wait(WAIT_S)

    def _is_full(self) -> bool:
        waiting_bytes = self._put_bytes - self._taken_bytes
        return self._queue.qsize() >= WAITING_MAX or waiting_bytes >= BYTES_MAX

    def _pause(self, waiter: _core.Waiter) -> None:
        for target in list(self._reading):
            self._leave(target, waiter)
        self._resume_s = time.monotonic() + PAUSE_S

    def _follow(
        self, client: Client, waiter: _core.Waiter, found: list[WatchTarget], unread: int
    ) -> None:
        """Begin with sessions that are new, and leave those that nobody else reads any more."""
        for target in [one for one in self._reading if one not in found]:
            self._leave(target, waiter)
            self._last.pop(target.key, None)
            self._note(f"session {target.session_id}: left")
        for target in found:
            if target not in self._reading and target.key not in self._refused:
                self._join(client, waiter, target)
        is_unread = unread > 0 and not self._reading
        if is_unread and not self._was_unread:
            self._note(
                "its publisher has no reader: this command does not count as one, unless you give "
                "--alone"
            )
        self._was_unread = is_unread

    def _join(self, client: Client, waiter: _core.Waiter, target: WatchTarget) -> None:
        try:
            made = client.add_subscription(target.channel, target.stream_id)
        except DriverLost:
            raise
        except RStreamError as error:
            self._refused.append(target.key)
            return self._note(f"session {target.session_id} cannot be read: {error}")
        made.core.take_parts(0, LARGE_MAX)
        self._reading[target] = made
        waiter.attach(made.core)
        if target.key not in self._last:
            self._last[target.key] = -1
            self._note(f"session {target.session_id}: reading {target.channel}")

    def _leave(self, target: WatchTarget, waiter: _core.Waiter) -> None:
        left = self._reading.pop(target)
        waiter.detach(left.core)
        left.close()

    def _take(self, target: WatchTarget, waiter: _core.Waiter) -> int:
        """Read one batch; returns its number of messages."""
        subscription = self._reading[target].core
        room = min(BATCH_MAX, WAITING_MAX - self._queue.qsize())
        if room <= 0 or self._is_full():
            return 0
        with subscription.poll(room, BYTES_MAX // 4) as batch:
            count = len(batch)
            if count:
                self._keep(target, batch)
        while (event := subscription.next_event()) is not None:
            if event.kind == "skipped":
                self._note(
                    f"session {target.session_id}: a message of {event.message_length:,} bytes "
                    "not shown"
                )
            elif event.evicted_ms:
                self._note(f"session {target.session_id}: stood still, and was left behind")
                self._leave(target, waiter)  # the next look joins again
                break
        return count

    def _keep(self, target: WatchTarget, batch: _core.Batch) -> None:
        rows = list(zip(batch.positions(), batch.headers(), batch.to_list(), strict=True))
        if not batch.is_intact:
            return  # it stood still: the driver may have changed the bytes
        last = self._last[target.key]
        skipped = rows[0][0] - last - _framed(len(rows[0][2])) if last >= 0 else 0
        now_s = time.time()
        for position, header, payload in rows:
            if position <= last:
                continue  # seen before a pause: a reader joins where the slowest one is
            self._queue.put(
                SeenMessage(
                    now_s,
                    target.stream_id,
                    target.session_id,
                    position,
                    header,
                    payload,
                    max(0, skipped),
                )
            )
            skipped = 0
            self._put_bytes += len(payload)
        self._last[target.key] = max(last, rows[-1][0])

    def _note(self, text: str) -> None:
        if self._queue.qsize() < WAITING_MAX + NOTES_MAX:
            self._queue.put(text)


def _framed(length: int) -> int:
    """Bytes that a message of one frame takes in its stream."""
    return (length + 32 + 31) & ~31
