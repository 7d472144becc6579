"""Routing work: each message goes to the first reader that has room and demand.

Theory of operation. The readers are asked in turns. A reader that has failed, or that has been away
for as long as a reader that is opened anew may take, is left out: the task asks it no more. What it
got and has not consumed goes to the others. So the task fails only when no reader is left. Delivery
is at least once: rows that a reader had before it failed may come to another one too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rstream._waits import Deadline
from rstream.errors import DriverLost, MessagesLost, RemoteError, RStreamError
from rstream.spark._ends import publisher_of
from rstream.spark._held import HeldMessages
from rstream.stream._internal import sending_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rstream.spark._options import SinkConfig
    from rstream.stream import Publisher

log = logging.getLogger("rstream")

#: ``pyarrow.RecordBatch``; pyarrow has no types.
RecordBatch: TypeAlias = Any

#: Pauses while a reader does not take or consume something: the first, and the longest.
PAUSE_S, PAUSE_MOST_S = 0.002, 0.05
#: First pause while all readers are full: a reader takes what fits its window in a millisecond.
FULL_PAUSE_S: Final = 0.0002
#: How long one wait for consumption may take before all readers are looked at again.
LOOK_S: Final = 0.01


@dataclasses.dataclass(slots=True)
class _Reader:
    """A reader that gets messages.

    Attributes:
        held: what it got and is not known to have consumed.
        absent_since_s: since when it is not there, monotonic; None: it is.
    """

    publisher: Publisher[Any]
    held: HeldMessages
    absent_since_s: float | None = None


class Readers:
    """The readers that share the rows of one task.

    Args:
        config: names them.
        turn: who was asked last.
    """

    def __init__(self, config: SinkConfig, turn: int) -> None:
        self._config = config
        self._turn = turn
        self._readers: dict[int, _Reader] = {}  # without those that are left out
        self._left_out: dict[int, str] = {}  # why
        self._again: deque[RecordBatch] = deque()  # what readers that are left out had

    def unparted_length(self) -> int:
        """Longest message that the next reader takes in one part, in bytes."""
        for index in self._turns():
            return self._reader(index).publisher.max_unparted_length
        raise self._none_left()

    def send(self, message: RecordBatch) -> None:
        """Send to the first reader that has room and demand.

        Raises:
            RStreamError: none is left, or none takes it within the offer timeout.
        """
        self._again.append(message)
        self._send_again()

    def finish(self) -> None:
        """Wait until all is consumed.

        Raises:
            RStreamError: as for :meth:`send`; or a reader that is there does not consume.
        """
        timeout_s = self._config.offer_timeout_s
        deadline = Deadline(timeout_s)
        while (late := self._late()) or self._again:
            if self._again:
                self._send_again()
                deadline = Deadline(timeout_s)
                continue
            present = [one.publisher for one in late if one.absent_since_s is None]
            if present and deadline.is_over:
                raise not_consumed(present[0], timeout_s)
            # The next look handles them.
            with contextlib.suppress(RemoteError, DriverLost, MessagesLost):
                late[0].publisher.wait_consumed(timeout_s=LOOK_S)

    def _late(self) -> list[_Reader]:
        """Look at the readers that have not consumed all; returns them."""
        for index, reader in list(self._readers.items()):
            if reader.held:
                self._look(index, reader)
                self._again.extend(reader.held.take_lost())
        return [reader for reader in self._readers.values() if reader.held]

    # ---- one message ----

    def _send_again(self) -> None:
        while self._again:
            self._place(self._again.popleft())

    def _place(self, message: RecordBatch) -> None:
        timeout_s = self._config.offer_timeout_s
        began_s, pause_s = time.monotonic(), FULL_PAUSE_S
        while not any(self._offer(index, message) for index in self._turns()):
            if len(self._left_out) == len(self._config.handles):
                raise self._none_left()
            if time.monotonic() - began_s > timeout_s:
                raise RStreamError(
                    f"rstream sink: none of {len(self._readers)} readers has room or demand; "
                    f"waited {timeout_s:g} s (offerTimeout): they are dead or too slow"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MOST_S)

    def _turns(self) -> Iterator[int]:
        """Indexes of the readers that are not left out, from the one behind the last."""
        count, first = len(self._config.handles), self._turn + 1
        for number in range(first, first + count):
            if number % count not in self._left_out:
                yield number % count

    def _reader(self, index: int) -> _Reader:
        reader = self._readers.get(index)
        if reader is None:
            publisher = publisher_of(self._config, index)
            reader = self._readers[index] = _Reader(publisher, HeldMessages(publisher))
        return reader

    def _offer(self, index: int, message: RecordBatch) -> bool:
        reader = self._reader(index)
        position = reader.publisher.offer(message)
        if position <= 0:
            self._look(index, reader)
            return False
        reader.held.add(position, message)
        self._again.extend(reader.held.take_lost())
        reader.absent_since_s = None
        self._turn = index
        return True

    # ---- readers that are gone ----

    def _look(self, index: int, reader: _Reader) -> None:
        """Leave a reader out if it has failed, or has been away for too long."""
        publisher, now_s = reader.publisher, time.monotonic()
        publisher.revive()
        if publisher.is_connected:
            reader.absent_since_s = None
            return
        try:
            sending_of(publisher).check_accepted()
        except RemoteError as error:
            self._leave_out(index, reader, str(error))
            return
        if reader.absent_since_s is None:
            reader.absent_since_s = now_s
        limit_s = self._config.offer_timeout_s
        if publisher.connect_timeout_s is not None:
            limit_s = min(limit_s, publisher.connect_timeout_s)
        if now_s - reader.absent_since_s >= limit_s:
            where = f"stream {publisher.name!r} on {publisher.channel}"
            self._leave_out(index, reader, f"{where}: no reader for {limit_s:g} s")

    def _leave_out(self, index: int, reader: _Reader, why: str) -> None:
        log.warning("rstream sink: a reader is left out for the rest of the task: %s", why)
        self._left_out[index] = why
        del self._readers[index]
        self._again.extend(reader.held.take_lost())
        self._again.extend(reader.held.take_all())
        # If it is opened anew, only a new session reaches it at once.
        reader.publisher.close(linger_s=0)

    def _none_left(self) -> RStreamError:
        reasons = [self._left_out[index] for index in sorted(self._left_out)]
        return RStreamError(
            f"rstream sink: none of {len(reasons)} readers is left: "
            f"{'; '.join(reasons)}; the task fails and Spark may retry it"
        )


def not_consumed(publisher: Publisher[Any], timeout_s: float) -> RStreamError:
    """The error of a reader that is there and does not consume in time."""
    return RStreamError(
        f"rstream sink: the reader of {publisher.name!r} ({publisher.channel}) has "
        f"not consumed up to position {publisher.position} within {timeout_s:g} s: it is "
        "dead or too slow; the task fails and Spark may retry it"
    )
