"""The publisher for event loops: its waits are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterable
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar, final

import anyio
import anyio.lowlevel

from rstream import _core
from rstream._checks import check_seconds, check_timeout
from rstream._with_hints import refuses_with
from rstream.aio._loop_turns import LoopTurns
from rstream.aio._run import run
from rstream.aio._thread_call import ThreadCall
from rstream.aio._turns import Parts
from rstream.errors import CodecError, DriverLost
from rstream.stream._internal import (
    CHUNK,
    KIND_COMPLETE,
    KIND_ERROR,
    SET_RATE_TIMEOUT_S,
    PublisherFacts,
    Sending,
    Waiting,
    add_index,
    at_hand,
    is_failure,
    length_of,
    linger_after,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from rstream._facts import SlowestReader
    from rstream._waits import Steps
    from rstream.aio._turns import Turns
    from rstream.codecs import Codec, Encoded
    from rstream.rate import RateLimit
    from rstream.stream._internal import Link, PartedMessage, SendSettings, StreamEvent

T = TypeVar("T")
R = TypeVar("R")

#: Most bytes that send_many offers at once.
CHUNK_BYTES = 1 << 20


@final
@refuses_with("`async with rstream.aio.publisher(...) as pub:`")
class Publisher(PublisherFacts[T]):
    """Sends objects into a stream without blocking the event loop.

    :func:`rstream.aio.publisher` makes it::

        async with rstream.aio.publisher("ticks") as pub:
            await pub.send(b"101.5")

    Any number of tasks of one loop may send: messages go out whole, in the order of the calls of
    ``send``. A cancelled ``send`` has sent nothing. Only the loop's thread may use it.

    A message longer than :attr:`max_unparted_length` travels in parts of 64 KiB; messages of other
    tasks pass between them. Of two such long messages the second one waits for the first.

    When the media driver dies, the next ``send`` starts it again and joins with a new session. A
    :class:`rstream.stream.Gap` in :meth:`events` reports data not known to be consumed.
    """

    def __init__(
        self,
        link: Link,
        settings: SendSettings,
        codec: Codec[T],
        *,
        send_lock: anyio.Lock,
        large_lock: anyio.Lock,
        turns: Turns,
        made_at: str,
    ) -> None:
        self._chunks = Parts(CHUNK)  # of what send_many encodes and sends, in objects
        self._ended: anyio.Event | None = None  # set at the end of the first close
        sending = Sending(link, settings, codec)
        # The end of the part; 0: the next send looks at the clock, or must wait.
        sending.state.short_way_end = 0
        self._turns = LoopTurns(sending, send_lock, large_lock, turns)
        self._bind(sending, made_at)

    # ---- sending ----

    async def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Send one object; wait for room, and for a first subscriber.

        While there is room, other tasks get a turn every 0.2 ms. A cancelled ``send`` has not sent
        the object.

        Args:
            obj: an object that the codec takes.
            timeout_s: most seconds to wait for room and for other tasks; None: no limit while
                readers are connected. Of a message in parts, for each part.
        Returns:
            The position after it, in bytes of the stream.
        Raises:
            CodecError: ``obj`` cannot be encoded.
            MessageTooLarge: longer than :attr:`max_message_length`.
            NotConnected: no subscriber for ``connect_timeout_s`` (a notice is logged after 2 s).
            RemoteError: the last reader left with an error.
            BackPressured: no room within ``timeout_s``; its ``held_by`` says why.
            StorageError: the driver directory has had no room for two seconds, or for
                ``timeout_s``; the text says how much is missing.
            ClosedError: closed here, perhaps during the wait.
        """
        if timeout_s is not None:
            check_timeout(timeout_s)
        sent = self._send(obj)
        if sent.__class__ is int:  # a tenth of the time of isinstance
            return sent
        return await self._send_on(obj, sent, timeout_s)

    # What the short way in C leaves to Python: the message if it is encoded already.

    def _send_slowly(self, obj: T) -> int | tuple[Encoded, ...]:
        state = self._sending.state
        if state.reached >= state.short_way_end and self._turns.may_go_on():
            return self._send(obj)
        return ()

    def _send_encoded(self, data: Encoded, _refusal: int) -> tuple[Encoded]:
        return (data,)

    async def _send_on(self, obj: T, encoded: tuple[Encoded, ...], timeout_s: float | None) -> int:
        """The rest of :meth:`send`."""
        sending, state = self._sending, self._sending.state
        data = encoded[0] if encoded else sending.offers.encode(obj)
        if state.reached < state.short_way_end:
            position = sending.offers.offer(data)
            if position > 0:
                sending.offers.note_sent()
                return position
        if sending.offers.is_large(data):
            return await self._send_large(data, timeout_s)
        return await self._turns.run(
            lambda left_s: sending.waits.send_steps(data, left_s), timeout_s
        )

    async def _send_large(self, data: Encoded, timeout_s: float | None) -> int:
        """Send a message in parts; the tasks that wait for their turn get it between them."""
        check_timeout(timeout_s)
        self._turns.check_open()
        await self._turns.enter(self._turns.large, timeout_s)
        sending, large = self._sending, self._sending.under_way
        try:
            message = sending.parted.take_up(data)
            position = await self._send_in_segment(message, timeout_s)
            while not message.is_sent:
                position = await self._turns.run(
                    lambda left_s: sending.parted.part_steps(message, left_s), timeout_s
                )
            return position
        finally:
            try:
                if large.message is not None:  # at once, without a call: an interrupt may follow
                    large.untold += (large.message,)
                    sending.state.direct = large.message = None
                    sending.parted.put_down()
            finally:
                self._turns.large.release()

    async def _send_in_segment(self, message: PartedMessage, timeout_s: float | None) -> int:
        """Send a message in a shared segment; 0: it must go in parts. A thread copies it."""
        session, segments = self._sending.session, self._sending.segments
        waiting = Waiting(timeout_s)
        while segments.may_use(message):
            core = session.core
            fill = partial(core.fill_segment, message.buffers)
            number = await ThreadCall(fill, undo=core.drop_segment).result()
            if number >= 0:
                try:
                    steps = segments.steps(core, number, message, waiting)
                    position = await self._turns.run(lambda _, steps=steps: steps, timeout_s)
                    if position > 0:
                        return position
                finally:
                    core.drop_segment(number)
            elif number == _core.BACK_PRESSURED:
                await self._turns.run(lambda _: segments.free_steps(waiting), timeout_s)
            else:
                break
        return 0

    async def send_many(
        self, objects: Iterable[T] | AsyncIterable[T], *, timeout_s: float | None = None
    ) -> int:
        """Send all objects in order; the fastest call for many.

        A list, tuple or range is sent in chunks of up to 256 objects or 1 MiB. Any other iterable,
        also an async one, is asked for the next object when the last one is sent, so readers
        without room slow it down.

        Args:
            objects: objects that the codec takes.
            timeout_s: most seconds to wait for room for one object, and for other tasks.
        Returns:
            The number of objects sent: all of them. After an exception, also one of the iterable,
            the objects before it were sent; of a chunk that was cancelled, perhaps a part.
        Raises:
            RStreamError: as for :meth:`send`; a CodecError says which object it is.
        """
        count = 0
        if isinstance(objects, AsyncIterable):
            async for obj in objects:
                try:
                    await self.send(obj, timeout_s=timeout_s)
                except CodecError as error:
                    add_index(error, count)
                    raise
                count += 1
            return count
        ready = at_hand(objects)
        if ready is None:
            for obj in objects:
                try:
                    await self.send(obj, timeout_s=timeout_s)
                except CodecError as error:
                    add_index(error, count)
                    raise
                count += 1
            return count
        while count < len(ready):
            size = self._chunks.begin()
            messages, failure = self._sending.offers.encode_all(ready[count : count + size], count)
            for chunk in _chunks_of(messages):
                await self._send_chunk(chunk, timeout_s, count)
                count += len(chunk)
            if failure is not None:
                raise failure
            self._chunks.end()
        return count

    async def _send_chunk(
        self, messages: list[Encoded], timeout_s: float | None, first: int
    ) -> None:
        waits, is_large = self._sending.waits, self._sending.offers.is_large
        if self._sending.state.bucket is None:
            start = 0
            while start < len(messages):
                start = await self._turns.run(
                    lambda _, start=start: waits.send_many_steps(messages, start, timeout_s, first),
                    timeout_s,
                )
                if start < len(messages):
                    await self._send_large(messages[start], timeout_s)
                    start += 1
            return
        for index, data in enumerate(messages, first):
            try:
                if is_large(data):
                    await self._send_large(data, timeout_s)
                    continue
                await self._turns.run(
                    lambda left_s, data=data: waits.send_steps(data, left_s), timeout_s
                )
            except CodecError as error:
                add_index(error, index)
                raise

    def offer(self, obj: T) -> int:
        """Try to send one object at once.

        It never waits, gives the loop no turn, and never overtakes a ``send`` that waits. So it
        takes no message that travels in parts: ``await send``.

        Returns:
            The position after it, or a negative reason: :data:`rstream.NOT_CONNECTED` (-1),
            BACK_PRESSURED (-2: the readers have no room), ADMIN_ACTION (-3, try again), or
            RATE_LIMITED (-7: its own rate holds it back).
        Raises:
            CodecError, MessageTooLarge, ClosedError: as for :meth:`send`.
            DriverLost: the driver died; ``send`` and :meth:`revive` join again.
        """
        offers, session = self._sending.offers, self._sending.session
        data = offers.encode(obj)
        self._turns.check_open()
        if self._turns.send.locked() or self._turns.is_joining:
            return self._reason_now()
        if session.is_over_rate():
            return _core.RATE_LIMITED
        position = offers.offer(data)
        if position <= _core.CLOSED and offers.is_large(data):
            error = self._sending.errors.too_large(length_of(data), self.max_unparted_length)
            error.hint = "offer() sends it whole or not at all: `await` send()"
            raise error
        if position <= _core.CLOSED and offers.must_join_again(position, length_of(data)):
            raise DriverLost(
                f"{session.settings.where()}: the driver was lost",
                hint="`await` its send() or revive(), which start one and join again",
            )
        return offers.note_offered(position, data)

    def _reason_now(self) -> int:
        if self._turns.is_joining:
            return _core.ADMIN_ACTION
        if not self._sending.session.core.is_connected:
            return _core.NOT_CONNECTED
        return _core.RATE_LIMITED if self.is_rate_limited else _core.BACK_PRESSURED

    # ---- state, and what changes it ----

    def events(self) -> list[StreamEvent]:
        """Events since the last call, oldest first: readers, session changes, gaps. Never waits.

        The loss of the driver appears after a ``send`` or :meth:`revive` has joined again.
        """
        session = self._sending.session
        if not session.is_closed and not self._turns.is_joining and session.link.is_alive:
            self._sending.readers.look()
        return self._sending.losses.take_events()

    async def revive(self) -> None:
        """Join again if the driver was lost; for a publisher that has nothing to send."""
        await anyio.lowlevel.checkpoint()
        link = self._sending.session.link
        if not self.is_closed and not link.is_alive and link.is_shared:
            await self._turns.run(lambda _: self._revive_steps(), None)

    def _revive_steps(self) -> Steps[None]:
        if not self._sending.session.link.is_alive:  # another task may have joined meanwhile
            yield from self._sending.rejoin.steps(None)

    async def slowest_reader(self) -> SlowestReader | None:
        """The reader that has consumed least, as :meth:`rstream.stream.Publisher.slowest_reader`.

        A thread reads the driver's counters.
        """
        if self.is_closed:
            return None
        return await ThreadCall(self._sending.readers.slowest).result()

    async def set_rate(self, rate: RateLimit, *, timeout_s: float = SET_RATE_TIMEOUT_S) -> None:
        """Change the rate, also for a ``send`` that waits.

        As :meth:`rstream.stream.Publisher.set_rate`. When calls overlap, the last one
        decides. A cancelled call still waits for the driver's answer, at most ``timeout_s``
        seconds.
        """
        check_timeout(timeout_s)
        await self._turns.settle()
        while (earlier := self._turns.rate_call) is not None and earlier.is_running:
            await earlier.wait_done()
        self._turns.check_open()
        session, state = self._sending.session, self._sending.state
        channel, bucket = session.prepare_rate(rate)
        core, is_ours = session.core, not session.link.client.is_aeron_driver

        def change() -> None:  # with all bookkeeping: the caller may have been cancelled meanwhile
            if is_ours:
                core.set_rate(rate.to_text(), timeout_s)
            state.bucket = bucket
            state.short_way_end = 0
            session.settings.channel = channel

        self._turns.rate_call = ThreadCall(change)
        await self._turns.rate_call.result()

    # ---- the end ----

    async def wait_consumed(
        self, position: int | None = None, *, timeout_s: float | None = None
    ) -> bool:
        """Wait until every reader has consumed up to ``position`` (UDP: as status messages say).

        Args:
            position: in bytes of the stream; None: all that was sent so far.
            timeout_s: most seconds to wait; None: as long as readers are there.
        Returns:
            Whether they have; False after ``timeout_s``.
        Raises:
            MessagesLost: something that was sent before may be lost, as for
                :meth:`rstream.Publisher.wait_consumed`.
            DriverLost: the driver died meanwhile.
            NotConnected: no reader for ``connect_timeout_s`` (a notice is logged after 2 s).
            RemoteError: the last reader left with an error.
            ClosedError: closed here.
        """
        check_timeout(timeout_s)
        await anyio.lowlevel.checkpoint()
        await self._turns.settle()
        steps = self._sending.waits.all_consumed_steps(position, timeout_s)
        return await run(steps, self._turns.perform_open)

    async def fail(self, error: BaseException | str, *, linger_s: float | None = None) -> None:
        """End the stream with an error; readers raise it as ``RemoteError``.

        Args:
            error: the exception, or its text.
            linger_s: as for :meth:`close`.
        """
        await self._end(KIND_ERROR, error, linger_s)

    async def close(self, *, linger_s: float | None = None) -> None:
        """Complete the stream, and wait until readers have consumed what was sent. Idempotent.

        A ``send`` that waits meanwhile raises ClosedError. A cancelled ``close`` does not linger;
        it still completes the stream.

        Args:
            linger_s: most seconds to wait; None: the publisher's own ``linger_s``. What is left
                then, and the end, are still delivered while the driver lives, as with
                :meth:`rstream.stream.Publisher.close`.
        """
        await self._end(KIND_COMPLETE, self.name, linger_s)

    async def _end(self, kind: int, end: BaseException | str, linger_s: float | None) -> None:
        linger_s = self.linger_s if linger_s is None else linger_s
        check_seconds("linger_s", linger_s)
        session = self._sending.session
        if session.forget_inherited():
            return
        if session.is_ending:
            if self._ended is not None:
                await self._ended.wait()
            return
        session.is_ending = True
        self._ended = anyio.Event()
        session.state.short_way_end = 0
        self._turns.room.wake()
        try:
            try:
                self._turns.send.acquire_nowait()
            except anyio.WouldBlock:  # the task that waits was woken, and leaves
                with anyio.CancelScope(shield=True):
                    await self._turns.send.acquire()
            try:
                for call in (self._turns.rejoin_call, self._turns.rate_call):
                    if call is not None:
                        await call.wait_done()
                await run(self._sending.ending.steps(kind, end, linger_s), self._turns.perform)
            finally:
                self._turns.send.release()
        finally:
            self.abandon()
            self._ended.set()

    def abandon(self) -> None:
        """Leave without completing the stream: readers see a lost publisher.

        For a publisher that no task will close.
        """
        session = self._sending.session
        if not (session.is_closed or session.forget_inherited()):
            session.is_closed = session.is_ending = True
            session.state.short_way_end = 0
            if self._turns.room.is_waiting:
                self._turns.room.wake()  # its task leaves: then the descriptor may be closed
            else:
                self._turns.leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A forked child leaves the block of its parent.
        if self._sending.session.forget_inherited():
            return
        linger_s = linger_after(exc, self.linger_s)
        if exc is not None and not isinstance(exc, Exception) and self._turns.is_thread_running:
            self.abandon()  # a thread that starts a driver would hold the cancelled task
        elif exc is not None and is_failure(exc):
            await self.fail(exc, linger_s=linger_s)
        else:
            await self.close(linger_s=linger_s)
            error = self._sending.ending.error
            if exc is None and linger_s > 0 and error is not None:
                raise error


def _chunks_of(messages: list[Encoded]) -> Iterator[list[Encoded]]:
    """The messages in lists that end with the message with which they reach ``CHUNK_BYTES``."""
    if set(map(type, messages)) == {bytes}:
        whole: list[bytes] = messages  # pyright: ignore[reportAssignmentType] - as was just seen
        if sum(map(len, whole)) <= CHUNK_BYTES:
            yield messages  # the usual case: the loop below costs as much as the sending
            return
    chunk: list[Encoded] = []
    left = CHUNK_BYTES
    for data in messages:
        chunk.append(data)
        left -= length_of(data)
        if left <= 0:
            yield chunk
            chunk, left = [], CHUNK_BYTES
    if chunk:
        yield chunk
