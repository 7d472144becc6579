"""The sending face of a stream, for event loops: what waits, is awaited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
import anyio.lowlevel

from rstream import _core
from rstream.aio._errand import Errand
from rstream.errors import ClosedError, DriverLost
from rstream.stream import _steps
from rstream.stream._names import KIND_COMPLETE, KIND_ERROR
from rstream.stream._sender import SET_RATE_TIMEOUT_S, Sender, error_text, length_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from rstream._facts import SlowestReader
    from rstream.codecs import Encoded
    from rstream.rate import RateLimit
    from rstream.stream._events import StreamEvent
    from rstream.stream._session import Link
    from rstream.stream._steps import Step, Steps

T = TypeVar("T")
R = TypeVar("R")

#: What is sent between two turns of the loop, at most: messages, and one more for each 16 KiB (a turn costs 4 µs,
#: a message from 0.3 µs on).
TURN = 64
TURN_SHIFT = 14


class Publisher(Sender[T]):
    """Sends objects into a stream without ever blocking the event loop; made by :func:`rstream.aio.publisher`.

    Any number of tasks of one loop may send: each message goes out whole, in the order in which ``send`` was
    called. A ``send`` that is cancelled has sent nothing. Thread rule: the loop's thread.

    When the media driver dies, the next ``send`` starts it again, joins with a new session, and reports what was
    not known to be consumed as a :class:`rstream.stream.Gap` in :meth:`events`.
    """

    def __init__(self, link: Link, *, turn: anyio.Lock, **address: Any) -> None:
        self._turn = turn  # whose steps are under way
        self._left = 0  # of a turn; 0 as well while others send, and when it has to wait first
        self._is_ending = False
        self._ended: anyio.Event | None = None  # of the first close
        self._errand: Errand[object] | None = None  # joins again, perhaps for nobody any more
        self._rate_errand: Errand[None] | None = None  # gives it another rate, likewise
        self._is_in_room = False
        self._waiter: _core.Waiter | None = None
        self._waiter_for: _core.Publication | None = None
        super().__init__(link, **address)

    # ---- sending ----

    async def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Send one object; wait for room, and for a first subscriber.

        It gives the loop a turn at least every 64 messages. Cancelled, it has not sent the object.

        Args:
            obj: what the codec takes.
            timeout_s: most seconds to wait for room, behind other tasks as well; None: as long as readers are there.
        Returns:
            The position after it, in bytes of the stream.
        Raises:
            CodecError: ``obj`` cannot be encoded.
            MessageTooLarge: longer than :attr:`max_message_length`.
            NotConnected: no subscriber for ``connect_timeout_s`` (a notice is logged after 2 s).
            BackPressured: no room within ``timeout_s``; its ``held_by`` says what held it.
            ClosedError: closed here, perhaps while it waited.
        """
        data = self._encode(obj)
        if self._left > 0:
            position = self._offer(data)
            if position > 0:
                self._left -= 1 + ((position - self._reached) >> TURN_SHIFT)
                self._note_sent(position)
                return position
        return await self._in_turn(lambda left_s: self._send_steps(data, left_s), timeout_s)

    async def send_many(
        self, objects: Iterable[T] | AsyncIterable[T], *, timeout_s: float | None = None
    ) -> int:
        """Send all objects in order; of an iterable in chunks of 64 or 1 MiB, the fastest way.

        An async iterable is asked for the next object when the last one was sent: readers that have no room slow it
        down.

        Args:
            objects: what the codec takes.
            timeout_s: most seconds to wait for room for one object, and behind other tasks.
        Returns:
            How many were sent: all. On an exception those before the one that failed were sent, as far as whole
            chunks go; of a chunk that was cancelled, a part.
        Raises:
            RStreamError: as for :meth:`send`.
        """
        count = 0
        if isinstance(objects, AsyncIterable):
            async for obj in objects:
                await self.send(obj, timeout_s=timeout_s)
                count += 1
            return count
        for chunk in self._chunks(objects):
            await self._send_chunk(chunk, timeout_s)
            count += len(chunk)
        return count

    def _chunks(self, objects: Iterable[T]) -> Iterator[list[Encoded]]:
        chunk: list[Encoded] = []
        left = TURN
        for obj in objects:
            data = self._encode(obj)
            chunk.append(data)
            left -= 1 + (length_of(data) >> TURN_SHIFT)
            if left <= 0:
                yield chunk
                chunk, left = [], TURN
        if chunk:
            yield chunk

    async def _send_chunk(self, messages: list[Encoded], timeout_s: float | None) -> None:
        if self._bucket is None:
            await self._in_turn(lambda _: self._send_many_steps(messages, timeout_s), timeout_s)
            return
        for data in messages:
            await self._in_turn(lambda left_s, data=data: self._send_steps(data, left_s), timeout_s)

    def offer(self, obj: T) -> int:
        """Try to send one object at once; never waits, gives the loop no turn, overtakes no ``send`` that waits.

        Returns:
            The position after it, or below 0 when it was not taken: Aeron's reason
            (:data:`rstream.NOT_CONNECTED` -1, BACK_PRESSURED -2: the readers have no room,
            ADMIN_ACTION -3), or RATE_LIMITED -7: it is held back by its own rate.
        Raises:
            CodecError, MessageTooLarge, ClosedError: as for :meth:`send`.
            DriverLost: the driver died; ``send`` or :meth:`revive` joins again.
        """
        data = self._encode(obj)
        self._check_open()
        if self._turn.locked() or self._is_away():
            return self._reason_now()
        if self._is_over_rate():
            return _core.RATE_LIMITED
        position = self._offer(data)
        if position <= _core.CLOSED and self._must_join_again(position, length_of(data)):
            raise DriverLost(
                f"{self._where()}: the driver was lost",
                hint="`await` its send() or revive(), which start one and join again",
            )
        return self._note_offered(position, data)

    def _reason_now(self) -> int:
        if self._is_away():
            return _core.ADMIN_ACTION
        if not self._core.is_connected:
            return _core.NOT_CONNECTED
        return _core.RATE_LIMITED if self.is_rate_limited else _core.BACK_PRESSURED

    # ---- facts that take a moment, and what changes them ----

    def events(self) -> list[StreamEvent]:
        """What happened since the last call, oldest first: readers come and gone, session changes, gaps.

        Never waits. That the driver was lost is told when a ``send`` or :meth:`revive` has joined again.
        """
        if not self._closed and not self._is_away() and self._link.is_alive:
            self._look()
        return self._take_events()

    async def revive(self) -> None:
        """Join again if the driver was lost, so that a publisher with nothing to send learns it too."""
        await anyio.lowlevel.checkpoint()
        if not self._closed and not self._link.is_alive and self._link.is_shared:
            await self._in_turn(lambda _: self._revive_steps(), None)

    def _revive_steps(self) -> Steps[None]:
        if not self._link.is_alive:  # nobody else has, meanwhile
            yield from self._rejoin_steps(None)

    async def slowest_reader(self) -> SlowestReader | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Which reader has consumed least, and since when; see :meth:`rstream.stream.Publisher.slowest_reader`."""
        return await Errand(super().slowest_reader).result()

    async def set_rate(self, rate: RateLimit, *, timeout_s: float = SET_RATE_TIMEOUT_S) -> None:
        """Another rate from now on, also for a ``send`` that waits; see :meth:`rstream.stream.Publisher.set_rate`.

        The last call counts. A scope of anyio or trio that cancels it ends when the driver has answered, or after
        ``timeout_s``.
        """
        await self._settle()
        while (earlier := self._rate_errand) is not None and earlier.is_under_way:
            await earlier.ended()
        self._check_open()
        channel, bucket = self._prepare_rate(rate)
        core, is_ours = self._core, not self._link.client.is_aeron_driver

        def change() -> None:  # with its accounts: whoever waits for it may have gone meanwhile
            if is_ours:
                core.set_rate(rate.to_text(), timeout_s)
            self._bucket = bucket
            self._left = 0
            self.channel = channel

        self._rate_errand = Errand(change)
        await self._rate_errand.result()

    # ---- the end ----

    async def wait_consumed(
        self, position: int | None = None, *, timeout_s: float | None = None
    ) -> bool:
        """Wait until every reader has consumed up to ``position`` (UDP: as status messages say).

        Args:
            position: bytes of the stream; None: what was sent so far.
            timeout_s: None waits for ever.
        Returns:
            False: not within ``timeout_s``.
        Raises:
            DriverLost: it died meanwhile. ClosedError: closed here.
        """
        await anyio.lowlevel.checkpoint()
        await self._settle()
        wanted = self._core.position if position is None else position
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        return await self._run(self._wait_consumed_steps(wanted, deadline_s, give_up_alone=False))

    async def fail(self, error: BaseException | str) -> None:
        """End the stream with an error: readers raise :class:`RemoteError` with the text."""
        await self._end(KIND_ERROR, error_text(error), self.linger_s)

    async def close(self, *, linger_s: float | None = None) -> None:
        """Say that the stream is complete, and wait until readers have consumed it. Idempotent.

        A ``send`` that waits meanwhile raises ClosedError. Cancelled, it does not linger, and says so all the same
        if there is room for the word at once; else readers see a publisher that was lost.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with. What is left then
                is still delivered while the driver lives.
        """
        await self._end(
            KIND_COMPLETE, self.name.encode(), self.linger_s if linger_s is None else linger_s
        )

    async def _end(self, kind: int, text: bytes, linger_s: float) -> None:
        if self._is_ending:
            if self._ended is not None:
                await self._ended.wait()
            return
        self._is_ending = True
        self._ended = anyio.Event()
        self._left = 0
        if self._waiter is not None:
            self._waiter.wake()
        try:
            try:
                self._turn.acquire_nowait()
            except anyio.WouldBlock:  # who waits was woken, and leaves
                with anyio.CancelScope(shield=True):
                    await self._turn.acquire()
            try:
                for errand in (self._errand, self._rate_errand):
                    if errand is not None:
                        await errand.ended()
                await self._run(self._end_steps(kind, text, linger_s), is_end=True)
            finally:
                self._turn.release()
        finally:
            self.abandon()
            self._ended.set()

    def abandon(self) -> None:
        """Leave without a word: readers see a publisher that was lost. For one that nobody will close."""
        if not self._closed:
            self._closed = self._is_ending = True
            self._left = 0
            if self._waiter is not None and self._is_in_room:
                self._waiter.wake()  # who watches it leaves; only then may its descriptor be closed
            else:
                self._leave()

    def _leave(self) -> None:
        self._drop_waiter()
        # A thread that joins again may hold a new session when it is through: then it lets go of that one.
        for errand in (self._errand, self._rate_errand):
            if errand is not None and errand.leave_with(self._let_go):
                return
        self._let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is None:
            await self.close()
        else:
            await self.fail(exc)

    # ---- one at a time ----

    async def _in_turn(
        self, steps: Callable[[float | None], Steps[R]], timeout_s: float | None
    ) -> R:
        """Go through the steps when those of earlier calls are through; they are told what time is left."""
        self._check_open()
        left_s = timeout_s
        try:
            self._turn.acquire_nowait()
        except anyio.WouldBlock:
            left_s = await self._await_turn(timeout_s)
        self._left = 0  # until these are through, and the next ones that wait
        try:
            await anyio.lowlevel.checkpoint()
            await self._settle()
            bytes_before, count_before = self._reached, self._sent
            answer = await self._run(steps(left_s))
            self._refill(self._reached - bytes_before, self._sent - count_before)
            return answer
        finally:
            self._turn.release()
            if self._turn.locked():
                self._left = 0  # the next one's

    async def _await_turn(self, timeout_s: float | None) -> float | None:
        """Wait behind other tasks; what is left of the time."""
        if timeout_s is None:
            await self._turn.acquire()
            return None
        began_s = time.monotonic()
        with anyio.move_on_after(timeout_s) as waiting:
            await self._turn.acquire()
        if waiting.cancelled_caught:
            self._check_open()
            raise self._late_error(timeout_s)
        return timeout_s - (time.monotonic() - began_s)

    def _refill(self, sent_bytes: int, sent_count: int) -> None:
        if self._bucket is None and self._errand is None and not self._is_ending:
            self._left = max(0, TURN - sent_count - (max(0, sent_bytes) >> TURN_SHIFT))

    async def _settle(self) -> None:
        """Wait for a thread that a cancelled call left behind."""
        errand = self._errand
        if errand is not None:
            await errand.ended()
            if self._errand is errand:
                self._errand = None
        self._check_open()

    def _check_open(self) -> None:
        if self._closed or self._is_ending:
            raise ClosedError(f"{self._where()}: this publisher is closed", channel=self.channel)

    def _is_away(self) -> bool:
        return self._errand is not None and self._errand.is_under_way

    async def _run(self, steps: Steps[R], *, is_end: bool = False) -> R:
        """As :func:`rstream.stream._steps.run`. Nothing is awaited after the last step: what was sent is never
        reported as cancelled.
        """
        try:
            step = next(steps)
            while True:
                try:
                    answer = await self._perform(step)
                    if not is_end:
                        self._check_open()
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return end.value

    async def _perform(self, step: Step) -> object:
        if isinstance(step, _steps.Room):
            return await self._await_room(step.seconds)
        if isinstance(step, _steps.Pause):
            return await anyio.sleep(step.seconds)
        self._errand = errand = Errand(step.function)
        answer = await errand.result()
        self._errand = None
        return answer

    async def _await_room(self, timeout_s: float) -> bool:
        waiter = self._attached_waiter()
        if waiter.arm():
            await anyio.lowlevel.checkpoint()
            return True
        self._is_in_room = True
        try:
            with anyio.move_on_after(timeout_s) as scope:
                await anyio.wait_readable(waiter.fileno())
            return not scope.cancelled_caught
        finally:
            self._is_in_room = False
            waiter.disarm()
            if self._closed:  # abandoned meanwhile
                self._leave()

    def _attached_waiter(self) -> _core.Waiter:
        """The waiter on the publication of now: a rejoin makes another one."""
        if self._waiter is None or self._waiter_for is not self._core:
            self._drop_waiter()
            self._waiter = self._link.client.core.waiter()
            self._waiter.attach(self._core)
            self._waiter_for = self._core
        return self._waiter

    def _drop_waiter(self) -> None:
        """Close it; one that is watched is woken, and closed by whoever watches."""
        if self._waiter is None:
            return
        if self._is_in_room:
            self._waiter.wake()
            return
        waiter, self._waiter, self._waiter_for = self._waiter, None, None
        waiter.close()
