"""The thread of a publisher of shared work: it takes what readers tell, and sends again."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final, final

from rstream._process import holds
from rstream.driver import watch_loop
from rstream.errors import ClosedError, RStreamError
from rstream.work._dealer import IDLE_S
from rstream.work._held_jobs import HeldJobs

if TYPE_CHECKING:
    from rstream._later_log import LaterLog
    from rstream.work._changes import Changes
    from rstream.work._dealer import Dealer
    from rstream.work._desk import WorkDesk
    from rstream.work._seating import LanePublisher, Seating
    from rstream.work._unfinished import UnfinishedMessages

__all__ = ("LOOK_AGAIN_S", "LOOK_EVERY_S", "Caretaker")

log = logging.getLogger("rstream")

#: How long the thread waits for reports at most; then it looks whether every lane has its reader.
LOOK_EVERY_S: Final = 0.5
#: The same while a message waits for room on a lane, which no report tells.
LOOK_AGAIN_S: Final = 0.002
#: Pause after an error of the driver.
RETRY_S: Final = 0.1


@final
class Caretaker:
    """Takes what readers tell, acknowledges, opens and closes seats, and sends again what a dead
    reader had. It keeps its parts alive, and not its publisher.

    Args:
        name: of the work.
        title: the publisher, for people.
        changes: guards the desk.
        desk, dealer, seating, unfinished: of the publisher.
        later: logs when the lock is free.

    Attributes:
        failure: why it cannot go on; None: it does.
    """

    def __init__(
        self,
        name: str,
        title: str,
        *,
        changes: Changes,
        desk: WorkDesk[LanePublisher],
        dealer: Dealer,
        seating: Seating,
        unfinished: UnfinishedMessages,
        later: LaterLog,
    ) -> None:
        self._title = title
        self._changes = changes
        self._desk = desk
        self._dealer = dealer
        self._seating = seating
        self._unfinished = unfinished
        self._later = later
        self._held_jobs = HeldJobs()
        self.failure: Exception | None = None
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self._name = name

    def start(self) -> None:
        """Start the thread; once."""
        self._thread = threading.Thread(
            target=self._run, name=f"rstream-work-{self._name}", daemon=True
        )
        watch_loop(self)
        self._thread.start()

    def _run(self) -> None:
        wait_s = 0.0
        while wait_s >= 0:
            try:
                if (
                    wait_s > 0
                ):  # even a wait for nothing gives the interpreter's lock away, for 5 ms
                    self._seating.wait(wait_s)
            except RStreamError:  # the next step says what it is
                time.sleep(RETRY_S)
            wait_s = self._step()

    def _step(self) -> float:
        """Take what has come. Returns how many seconds the thread may wait; below 0: the end."""
        if self._is_stopped:
            return -1.0
        try:
            with self._changes.lock:
                self._dealer.settle_offered()
            has_news = self._seating.update()
            with self._changes.lock:
                self._dealer.send_again()
                self.tell()
                is_waiting = bool(self._desk.again_count) and self._dealer.is_clogged
                has_suspects = bool(self._desk.suspects)
            self._later.say()
            self._look_at_held()
            if has_news:
                return 0.0
            if is_waiting:
                return LOOK_AGAIN_S
            return IDLE_S if has_suspects else LOOK_EVERY_S
        except ClosedError:
            return -1.0
        except RStreamError as error:
            log.warning("%s: %s; it tries again", self._title, error)
            return RETRY_S
        except Exception as error:
            with self._changes.lock:
                self.failure = error
                self.tell()
            log.exception("%s: it cannot go on", self._title)
            return -1.0

    def _look_at_held(self) -> None:
        if self._held_jobs.is_due():
            with self._changes.lock:
                seats = [*self._desk.seats.values()]
                found = [(seat, next(iter(seat.given), 0)) for seat in seats]
            self._held_jobs.look(found)

    def tell(self) -> None:
        """Wake whoever waits, and say what is not sent again. Under the lock."""
        self._unfinished.say()
        self._changes.tell()

    # ---- the end ----

    def stop(self) -> None:
        """Stop the thread without waiting for anything; at the end of the program."""
        self._is_stopped = True
        self._seating.wake()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def end(self) -> None:
        """Stop the thread, and wait for it."""
        self.stop()
        thread = self._thread
        if thread is None or thread is threading.current_thread() or not thread.is_alive():
            return
        if not holds(self._changes.lock):
            thread.join()
            return
        # A signal handler in the middle of a call, which holds the lock: only a wait frees it.
        while thread.is_alive():
            self._changes.lock.wait(LOOK_AGAIN_S)

    def close(self) -> None:
        """Say that the work is complete, and leave. Under the lock, after :meth:`end`."""
        self._held_jobs.close()
        self._seating.close()
