"""Sending in steps of waiting (:mod:`rstream._waits`), which a thread or an event loop performs.

While the steps run, nothing else of the publisher does; during its waits other threads or tasks
may send. So the steps look anew at everything after each wait.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

from rstream import _core
from rstream._checks import check_timeout
from rstream._waits import NOTICE_AFTER_S, Deadline, Pause, Room, Steps
from rstream.errors import CodecError, DriverLost
from rstream.stream._sending._offers import length_of
from rstream.stream._unsendable import add_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from rstream.codecs import Encoded
    from rstream.stream._sending._errors import SendErrors
    from rstream.stream._sending._offers import Offers
    from rstream.stream._sending._readers import KnownReaders
    from rstream.stream._sending._rejoin import Rejoin
    from rstream.stream._sending._session import SendSession

__all__ = ("END_LINGER_S", "NOTICE_AFTER_S", "WAIT_SLICE_S", "Return", "SendWaits", "Waiting")

#: Seconds that close waits for the error of a reader that has just left; and for the readers to see
#: the end when they have consumed all data, and the driver belongs to this process.
END_LINGER_S: Final = 0.1
#: How long a closing publisher looks for the news that a reader that has left comes back, and after
#: that news for the reader.
RETURN_S: Final = 0.6
#: Seconds that send waits for storage in the driver directory, however long its timeout is.
STORAGE_PATIENCE_S: Final = 2.0
#: Seconds between two looks of a wait at the state of the client.
WAIT_SLICE_S: Final = 0.5
#: Most seconds of one pause while the rate is above the limit.
PACE_PAUSE_MAX_S: Final = 0.1


class Alone:
    """Since when a waiting publisher has no reader."""

    def __init__(self) -> None:
        self._since_ns = time.monotonic_ns()
        self.has_noticed = False

    @property
    def waited_s(self) -> float:
        return (time.monotonic_ns() - self._since_ns) / 1e9


class Return:
    """Whether a reader that has left a closing publisher comes back.

    Args:
        is_coming: whether one comes; None: not known yet. It never waits.
    """

    def __init__(self, is_coming: Callable[[], bool | None]) -> None:
        self._is_coming = is_coming
        self._until = Deadline(RETURN_S)
        self.is_promised = False

    def may_be(self) -> bool:
        """False: it does not come, as far as is known by now."""
        is_coming = self._is_coming()
        if is_coming:
            self.is_promised = True
            self._until = Deadline(RETURN_S)
        return is_coming is not False and not self._until.is_over


class Waiting:
    """How long a refused message has waited, and until when it may.

    Attributes:
        deadline: until then; of None it waits as long as readers are there.
        rounds: how often it has waited for room.
        storage_since_ns: since when storage has been missing; 0: it is not.
        has_noticed: whether it was logged that it waits long.
    """

    def __init__(self, timeout_s: float | None) -> None:
        self._since_ns = time.monotonic_ns()
        self.deadline = Deadline(timeout_s)
        self.rounds = self.storage_since_ns = 0
        self.has_noticed = False

    @property
    def waited_s(self) -> float:
        return (time.monotonic_ns() - self._since_ns) / 1e9


@final
class SendWaits:
    """The waits of a publisher that sends: for room, for a reader, for its rate, for consumption.

    Attributes:
        count: how many messages have waited.
        waited_ns: how long, all of them.
        waiting_count: messages that wait for room just now, parts apart.
    """

    def __init__(
        self,
        session: SendSession,
        readers: KnownReaders,
        errors: SendErrors,
        offers: Offers,
        rejoin: Rejoin,
    ) -> None:
        self._session = session
        self._readers = readers
        self._errors = errors
        self._offers = offers
        self._rejoin = rejoin
        self.count = self.waited_ns = self.waiting_count = 0

    # ---- sending ----

    def send_steps(
        self, data: Encoded, timeout_s: float | None, header: int | None = None, refusal: int = 0
    ) -> Steps[int]:
        """Send one message, within the publisher's own rate if it has one; returns the position.

        Args:
            data: the message.
            timeout_s: most seconds to wait.
            header: None: of a plain message.
            refusal: why it was refused a moment ago; 0: it was not offered.
        """
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        yield from self.pace_steps(timeout_s)
        position = refusal or self._offers.offer(data, header)
        if position <= 0:
            left_s = None if timeout_s is None else deadline.left_s()
            position = yield from self._offer_again_steps(data, position, left_s, header)
        self._session.spend(length_of(data))
        self._offers.note_sent()
        return position

    def send_many_steps(
        self, messages: list[Encoded], start: int, timeout_s: float | None, first: int
    ) -> Steps[int]:
        """Send messages in order, each time as many as there is room for.

        Args:
            messages: encoded objects.
            start: the first of them to send.
            timeout_s: most seconds to wait for room for one.
            first: how many objects the call sent before these, for an error.
        Returns:
            The index of the first one that is not sent, because it travels in parts; or their
            number.
        """
        check_timeout(timeout_s)
        has_buffers = any(type(message) is list for message in messages)
        whole: list[Buffer] = messages  # pyright: ignore[reportAssignmentType] - no list among them
        try:
            while start < len(messages):
                if has_buffers:
                    taken, position = 0, self._offers.offer(messages[start])
                else:
                    taken, position = self._offers.offer_from(whole, start)
                if position <= 0:
                    if self._offers.is_large(messages[start]):
                        return start
                    position = yield from self._offer_again_steps(
                        messages[start], position, timeout_s
                    )
                start += taken or 1
                self._offers.note_sent()
            return start
        except CodecError as error:
            add_index(error, first + start)
            raise

    def _offer_again_steps(
        self, data: Encoded, reason: int, timeout_s: float | None, header: int | None = None
    ) -> Steps[int]:
        """Offer a refused message again until it is taken; returns the position after it.

        Before each offer it waits until the cause of the last refusal is gone: no reader, no room,
        or a lost driver.
        """
        waiting = Waiting(timeout_s)
        self.count += 1
        self.waiting_count += 1
        try:
            while True:
                yield from self.cause_steps(waiting, reason, length_of(data))
                reason = self._offers.offer(data, header)
                if reason > 0:
                    return reason
        finally:
            self.waiting_count -= 1
            self.waited_ns += int(waiting.waited_s * 1e9)

    # ---- causes of a refusal ----

    def cause_steps(self, waiting: Waiting, reason: int, length_bytes: int) -> Steps[None]:
        """Wait until the cause of a refusal is gone: no reader, no room, or a lost driver."""
        if reason == _core.NOT_CONNECTED:
            yield from self.reader_steps(waiting.deadline)
        elif reason == _core.BACK_PRESSURED:
            waiting.storage_since_ns = self._check_storage(waiting.storage_since_ns)
            yield from self._room_steps(waiting.deadline, waiting.rounds)
            waiting.rounds += 1
        elif reason != _core.ADMIN_ACTION:
            yield from self.recover_steps(reason, length_bytes)

    def recover_steps(self, reason: int, length_bytes: int) -> Steps[None]:
        """Raise the error of a refused offer, or join again when the driver was lost."""
        if self._offers.must_join_again(reason, length_bytes):
            yield from self._rejoin.steps(None)

    def pace_steps(self, timeout_s: float | None) -> Steps[None]:
        """Wait until the rate kept on this side lets something through."""
        waited_s = 0.0
        # The bucket is read anew each time: another task may change the rate meanwhile.
        while (bucket := self._session.state.bucket) is not None:
            delay_ns = bucket.delay_ns(time.monotonic_ns())
            if delay_ns <= 0:
                return
            delay_s = min(delay_ns / 1e9, PACE_PAUSE_MAX_S)
            if timeout_s is not None and waited_s + delay_s > timeout_s:
                raise self._errors.over_rate()
            yield Pause(delay_s)
            waited_s += delay_s

    def _room_steps(self, deadline: Deadline, rounds: int) -> Steps[None]:
        left_s = deadline.left_s(WAIT_SLICE_S)
        if left_s <= 0:
            raise self._errors.held()
        yield from self._once_steps(left_s, rounds)

    def _check_storage(self, since_ns: int) -> int:
        """Raise when storage has been missing for too long; returns since when it is (0: not)."""
        if self._session.core.held_by != _core.HELD_BY_STORAGE:
            return 0
        now_ns = time.monotonic_ns()
        if since_ns and now_ns - since_ns >= STORAGE_PATIENCE_S * 1e9:
            raise self._errors.held()
        return since_ns or now_ns

    def _once_steps(self, timeout_s: float, rounds: int = 0) -> Steps[None]:
        session = self._session
        self._readers.note_consumed()
        try:
            is_ready = yield Room(timeout_s)
        except DriverLost as error:
            yield from self._rejoin.steps(error)
            return
        session.check_open()
        if is_ready and rounds > 1:
            yield Pause(0.0002)  # the room is too small for this message: do not spin
        elif not is_ready and not session.link.is_alive:
            yield from self.recover_steps(_core.CLOSED, 0)

    def reader_steps(self, deadline: Deadline) -> Steps[None]:
        """Wait until as many readers are there as the publisher waits for."""
        session, alone = self._session, Alone()
        self._readers.look()
        while not session.has_readers():
            self._check_alone(alone)
            if deadline.is_over:
                raise self._errors.alone(alone.waited_s)
            yield from self._once_steps(0.05)
            if not session.core.is_connected or session.is_gated:
                yield Pause(0.001)

    def _check_alone(self, alone: Alone) -> None:
        """Note that no reader is there: log it once, and do not wait for ever.

        Raises:
            NotConnected: none came within ``connect_timeout_s``, or none will.
            RemoteError: the last one left with an error.
        """
        self._readers.check_accepted()
        settings, waited_s = self._session.settings, alone.waited_s
        limit_s = settings.connect_timeout_s
        if settings.why_gone() or (limit_s is not None and waited_s >= limit_s):
            raise self._errors.alone(waited_s)
        if waited_s >= NOTICE_AFTER_S and not alone.has_noticed:
            alone.has_noticed = True
            self._readers.say_alone(
                "without a limit" if limit_s is None else f"up to {limit_s:g} s"
            )

    # ---- consumption ----

    def all_consumed_steps(self, position: int | None, timeout_s: float | None) -> Steps[bool]:
        """What ``wait_consumed`` of each face does.

        Raises:
            MessagesLost: something that was sent before may be lost; once.
        """
        losses = self._readers.losses
        if not self._readers.error:  # which says more, and is raised while no other reader comes
            losses.check()
        wanted = self._session.core.position if position is None else position
        is_consumed = yield from self.consumed_steps(wanted, Deadline(timeout_s))
        self._readers.look()  # a reader that came may stand behind what the last one missed
        losses.check()
        return is_consumed

    def consumed_steps(
        self, wanted: int, deadline: Deadline, *, give_up_alone: bool = False
    ) -> Steps[bool]:
        """Wait until every reader has consumed up to a position.

        Args:
            wanted: the position.
            deadline: until then; of None it waits as long as readers are there.
            give_up_alone: for a closing publisher: without a reader it waits only for one that
                comes back.
        Returns:
            False: not by the deadline, or no reader comes.
        """
        # Consumption wakes no thread, so this looks again after growing pauses of 50 µs to 2 ms.
        pause_s = 0.00005
        session, core = self._session, self._session.core
        alone: Alone | None = None
        awaited: Return | None = None
        while core.consumed_position < wanted:
            if session.is_closed:
                raise session.closed_error()
            self._readers.note_consumed()
            if deadline.is_over:
                return False
            if not session.link.is_alive or session.core is not core:
                where = session.settings.where()
                raise DriverLost(f"{where}: the driver was lost while waiting for readers")
            if core.is_connected:
                alone = awaited = None
            elif give_up_alone:
                awaited = awaited or Return(self._readers.may_come)
                if not self.may_return(awaited):
                    return False
            else:
                alone = alone or Alone()
                self._check_alone(alone)
                # The driver tells a reader's error, which says more, a moment after it has left.
                if not self._readers.error and alone.waited_s >= END_LINGER_S:
                    self._readers.losses.check()
            yield Pause(pause_s)
            pause_s = min(0.002, pause_s * 1.5)
        self._readers.note_consumed()
        return True

    def may_return(self, awaited: Return) -> bool:
        """For a closing publisher without a reader: whether to wait for one."""
        was_promised = awaited.is_promised
        if self._readers.error or not awaited.may_be():
            return False
        if awaited.is_promised and not was_promised:
            self._session.logs.log(
                "%s: closes, and no reader is there for what is unread: waits for one, "
                "linger_s at most",
                self._session.settings.where(),
            )
        return True
