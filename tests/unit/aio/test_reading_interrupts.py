"""A signal handler raises at any moment of a read in an event loop, out of ``run_until_complete``:
nothing is lost, doubled or counted as consumed, and the next read goes on.

Numbers count up, so what has come shows what is missing. A timer raises at random: to trace each
place, as tests/interrupts.py does, breaks the coroutines of CPython 3.11 now and then.

An interrupt of the event loop itself, outside the task, may lose the wake-up of the task. Such a
task is cancelled, and closed if that does not end it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from itertools import cycle

import pytest

import rstream
from rstream import aio, policy, stream, work
from rstream.aio._sleeper import Sleeper
from rstream.errors import ClosedError, ReadTimeout
from rstream.stream._internal import reading_of
from tests.interrupts import Interrupt, own_garbage
from tests.support import free_port, in_thread, until

MANY = 300
#: A test with a timer ends after so many interrupts, or so many seconds.
INTERRUPTS = 250
SECONDS = 4.0
#: And has shown something after so many; a busy machine reached 18 in one run of `close`.
INTERRUPTS_LEAST = 5

#: What a test may take. pytest's own limit, whose timer the tests use, would end the process.
LIMIT_S = 90.0

pytestmark = [
    pytest.mark.timeout(LIMIT_S + 30, method="thread"),
    # CPython prints and drops what a handler raises in a __del__.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    # Interrupted between the call of a coroutine function and its first step.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited"),
]


class Loop:
    """An event loop, and a timer whose handler raises once in a run.

    Attributes:
        interrupts: how often it has raised.
        was_cancelled: whether the task of the last run was cancelled after it.
    """

    def __init__(self, rng):
        self.loop = asyncio.new_event_loop()
        # asyncio logs what nobody awaited with its traceback, and CPython 3.11 parses its lines. An
        # interrupt in there leaves a wrong count of the parser's depth: SystemError ever after.
        self.loop.set_exception_handler(lambda *_: None)
        self.interrupts = 0
        self.was_cancelled = False
        self._rng = rng
        self._is_armed = False
        self._until_s = time.monotonic() + SECONDS

    def handler(self, *_):
        if self._is_armed:
            self._is_armed = False
            self.interrupts += 1
            raise Interrupt

    def run(self, coroutine, within_s=10.0):
        """Run it without an interrupt."""
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, within_s))

    def interrupt(self, coroutine):
        """Run it until its end, or an interrupt."""
        task = self.loop.create_task(coroutine)
        self._is_armed = True
        try:
            signal.setitimer(signal.ITIMER_REAL, self._rng.uniform(1e-4, 1e-3))
            self.loop.run_until_complete(task)
        except Interrupt:
            pass
        finally:
            self._is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.end(task)

    def settle(self):
        """An interrupted run may have left its stop to the next one, and a task that another one
        awaits has kept the interrupt.
        """
        for _ in range(3):
            with suppress(Interrupt):
                self.loop.call_soon(self.loop.stop)
                self.loop.run_forever()

    def end(self, task):
        """End a task that was interrupted, and those that it has begun."""
        self.settle()
        self.was_cancelled = not task.done()
        for _ in range(2):  # the end of the interrupted task may stop the loop once more
            left = asyncio.all_tasks(self.loop)
            for one in left:
                one.cancel()
            if left:
                with suppress(Interrupt, RuntimeError):
                    self.loop.run_until_complete(asyncio.wait(left, timeout=0.2))
                self.settle()
        for one in asyncio.all_tasks(self.loop):
            one._log_destroy_pending = False
            with suppress(RuntimeError):  # a scope of anyio wants its task
                one.get_coro().close()
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is not None and not isinstance(error, Interrupt):
                raise error

    def rounds(self):
        """Count the interrupts, until there were enough of them. A busy machine may have few."""
        while self.interrupts < INTERRUPTS and (
            time.monotonic() < self._until_s or self.interrupts < INTERRUPTS_LEAST
        ):
            yield
        print(f"{self.interrupts} interrupts")


@contextmanager
def limited():
    """Fail the test after ``LIMIT_S``, with the traceback of the place where it waits."""

    def late(*_):
        pytest.fail(f"not over after {LIMIT_S} s")

    before = signal.signal(signal.SIGUSR2, late)
    main = threading.main_thread().ident
    timer = threading.Timer(LIMIT_S, signal.pthread_kill, (main, signal.SIGUSR2))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGUSR2, before)


@pytest.fixture
def loop(rng):
    made = Loop(rng)
    before = signal.signal(signal.SIGALRM, made.handler)
    try:
        with limited(), own_garbage():
            yield made
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        made.loop.close()


async def get(sub, got, count):
    while len(got) < count:
        got.append(await sub.get(timeout_s=5))


async def items(sub, got, count):
    async for item in sub:
        got.append(item)
        if len(got) >= count:
            return


async def batches(sub, got, count):
    async for some in sub.batches():
        got += some
        if len(got) >= count:
            return


async def poll(sub, got, count):
    while len(got) < count:
        await sub.wait(5)
        got += sub.poll(7)


FACES = {"get": get, "async for": items, "batches": batches, "poll": poll}
IPC = "aeron:ipc?term-length=64k"


def subscriber(source):
    """The awaited subscriber over one for threads."""
    return aio.Subscriber(reading_of(source))


@contextmanager
def sending(send):
    """A thread sends numbers in small groups, with pauses; yields a function that ends it and
    returns how many were sent. It calls ``read`` meanwhile, where a send needs a reader, with the
    number of those that were sent for certain.
    """
    sent, is_over = 0, False

    def send_all():
        nonlocal sent
        while not is_over:
            for number in range(sent, sent + 20):
                send(number)
            sent += 20
            time.sleep(0.0005)

    def end(read=None):
        nonlocal is_over
        is_over = True
        while read is not None and thread.is_alive():
            read(sent)
        thread.join(15)
        assert not thread.is_alive()
        return sent

    thread = in_thread(send_all)
    try:
        yield end
    finally:
        end()


def one_channel(name, driver_dir, channel, **options):
    pub = stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0)
    options = {"channel": channel, "dir": driver_dir, "prefetch": 16} | options
    return pub, stream.subscriber(name, **options)


def udp(name, driver_dir):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    return one_channel(name, driver_dir, channel)


def two_channels(name, driver_dir):
    pub, sub = one_channel(name, driver_dir, IPC)
    sub.close()
    channels = [IPC, f"aeron:udp?endpoint=127.0.0.1:{free_port()}"]
    return pub, stream.reader(name, channels=channels, dir=driver_dir, prefetch=16)


MEDIA = {
    "ipc": lambda name, driver_dir: one_channel(name, driver_dir, IPC),
    "udp": udp,
    "on_slow": lambda name, driver_dir: one_channel(
        name, driver_dir, IPC, on_slow=policy.Buffer(100)
    ),
    "two channels": two_channels,
}


@pytest.mark.parametrize("medium", MEDIA.values(), ids=MEDIA)
@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_interrupts_of_reading_lose_nothing(driver_dir, name, loop, rng, face, medium):
    got = []
    pub, source = medium(name, driver_dir)
    sub = subscriber(source)
    with pub, sending(lambda number: pub.send(number, timeout_s=10)) as end:
        for _ in loop.rounds():
            before = len(got)
            loop.interrupt(face(sub, got, before + rng.randrange(1, 200)))
            assert got[before:] == list(range(before, len(got)))
        sent = end(lambda _: got.extend(sub.poll()))  # what it sends last may be more than a queue
        loop.run(get(sub, got, sent))
        assert got == list(range(sent))
        loop.run(sub.close())


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_an_interrupt_leaves_to_the_next_reader_what_was_not_given(driver_dir, name, loop, face):
    options = {"channel": IPC, "dir": driver_dir}
    with stream.publisher(name, linger_s=0, **options) as pub:
        for _ in loop.rounds():
            got, left = [], []
            sub = subscriber(stream.subscriber(name, prefetch=16, **options))
            pub.send_many(range(MANY), timeout_s=5)
            loop.interrupt(face(sub, got, MANY))
            loop.run(sub.close())
            with stream.subscriber(name, **options) as next_one:
                pub.send(MANY, timeout_s=5)
                while MANY not in left:
                    left.append(next_one.get(timeout_s=2))
            assert got + left == list(range(MANY + 1))


@pytest.mark.parametrize("way", ["close", "abandon", "error"])
def test_an_interrupted_end_is_made_again(driver_dir, name, loop, way):
    """A task reads meanwhile."""
    options = {"channel": IPC, "dir": driver_dir}

    async def leave():
        reading = asyncio.ensure_future(sub.get())
        await asyncio.sleep(0)
        try:
            if way == "close":
                await sub.close()
            elif way == "abandon":
                sub.abandon()
            else:
                await sub.__aexit__(ValueError, ValueError("mine"), None)
            with suppress(ClosedError):
                await reading
        finally:
            reading.cancel()

    with stream.publisher(name, linger_s=0, **options) as pub:
        for _ in loop.rounds():
            sub = subscriber(stream.subscriber(name, **options))
            until(lambda: pub.is_connected)
            loop.interrupt(leave())
            loop.run(sub.close(), 5.0)
            assert sub.is_closed
            until(lambda: not pub.is_connected, 5.0)


async def answers_of(answers, got):
    async for answer in answers:
        got.append(answer)


def test_interrupts_of_a_stream_of_answers_lose_none(driver_dir, name, loop):
    served = rstream.serve(name, dir=driver_dir)(lambda number: iter(range(number)))
    served.start()
    asks = aio.requester(name, dir=driver_dir)
    try:
        for prefetch in cycle([1, 7, 64]):
            got = []
            answers = asks.request_stream(MANY, prefetch=prefetch, timeout_s=5)
            for _ in loop.rounds():
                before = len(got)
                loop.interrupt(answers_of(answers, got))
                assert got[before:] == list(range(before, len(got)))
                if loop.was_cancelled or len(got) == MANY:
                    break
            else:
                break
            if not loop.was_cancelled:
                assert loop.run(anext(answers, None)) is None
            # Its task may have been cancelled outside the wait, and a traceback keep the stream.
            loop.run(answers.close())
        loop.run(answers.close())
        got.clear()
        loop.run(answers_of(asks.request_stream(3, timeout_s=5), got))
        assert got == [0, 1, 2]
        assert asks.statistics()["outstanding"] == 0
    finally:
        loop.run(asks.close())
        served.close()


def test_after_interrupts_of_requests_the_next_one_is_answered(driver_dir, name, loop):
    served = rstream.serve(name, dir=driver_dir)(lambda number: number + 1)
    served.start()
    asks = aio.requester(name, dir=driver_dir)

    async def ask(numbers):
        for number in numbers:
            assert await asks.request(number, timeout_s=5) == number + 1

    async def both():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ask(range(10)))
            tasks.create_task(ask(range(10, 20)))

    try:
        for _ in loop.rounds():
            loop.interrupt(both())
            loop.run(ask([1]))
            assert asks.statistics()["outstanding"] == 0
    finally:
        loop.run(asks.close())
        served.close()


@pytest.mark.parametrize("face", [get, items], ids=["get", "async for"])
def test_interrupts_of_a_worker_lose_no_job(driver_dir, name, loop, rng, face):
    got = []

    async def read():
        with suppress(ReadTimeout):
            got.append(await jobs.get(timeout_s=0.01))

    async def opened():
        return await aio.work_subscriber(name, dir=driver_dir, prefetch=8)

    with work.publisher(name, dir=driver_dir, linger_s=10) as pub:
        jobs = loop.run(opened())
        with sending(lambda number: pub.send(number, timeout_s=10)) as end:
            for _ in loop.rounds():
                loop.interrupt(face(jobs, got, len(got) + rng.randrange(1, 200)))
            sent = end(lambda _: loop.run(read()))
        loop.run(get(jobs, got, sent))
        assert [job.item for job in got] == list(range(sent))
        assert not any(job.is_redelivered for job in got)
        loop.run(jobs.__aexit__(None, None, None))
        assert pub.wait_acknowledged(timeout_s=5)


def observable_of(name, driver_dir, capacity):
    """What a task iterates over: a stream behind a queue of Rx."""
    rx = pytest.importorskip("rstream.rx", exc_type=ImportError)
    source = rx.from_stream(name, channel=IPC, dir=driver_dir, prefetch=16)
    return source.pipe(rx.to_async_iterable(capacity))


async def begun(observable):
    return aiter(observable)


@pytest.mark.parametrize("capacity", [1, 64])
def test_interrupts_of_an_iteration_over_an_observable_lose_nothing(
    driver_dir, name, loop, rng, capacity
):
    got = []
    options = {"channel": IPC, "dir": driver_dir, "linger_s": 0}

    def read_up_to(sent):
        if len(got) < sent:
            loop.run(items(iteration, got, sent))

    with stream.publisher(name, **options) as pub:
        iteration = loop.run(begun(observable_of(name, driver_dir, capacity)))
        until(lambda: pub.is_connected)
        with sending(lambda number: pub.send(number, timeout_s=10)) as end:
            for _ in loop.rounds():
                before = len(got)
                loop.interrupt(items(iteration, got, before + rng.randrange(1, 200)))
                assert got[before:] == list(range(before, len(got)))
            sent = end(read_up_to)
        read_up_to(sent)
        assert got == list(range(sent))
        loop.run(iteration.aclose())


def test_an_interrupted_iteration_over_an_observable_leaves_the_rest(driver_dir, name, loop):
    options = {"channel": IPC, "dir": driver_dir}
    with stream.publisher(name, linger_s=0, **options) as pub:
        for _ in loop.rounds():
            got, left = [], []
            iteration = loop.run(begun(observable_of(name, driver_dir, 64)))
            until(lambda: pub.is_connected)
            pub.send_many(range(MANY), timeout_s=5)
            loop.interrupt(items(iteration, got, MANY))
            loop.run(iteration.aclose())
            until(lambda: not pub.is_connected)
            with stream.subscriber(name, **options) as next_one:
                pub.send(MANY, timeout_s=5)
                while MANY not in left:
                    left.append(next_one.get(timeout_s=2))
            assert got + left == list(range(MANY + 1))


class Rung:
    """A descriptor that is readable, and says so only when it is watched."""

    def __init__(self):
        self.descriptor = os.eventfd(1)

    def fileno(self):
        return self.descriptor

    def arm(self):
        return False

    def disarm(self):
        pass

    def wake(self):
        pass


def test_what_an_interrupted_call_of_the_loop_leaves_hides_no_descriptor():
    """epoll has the descriptor and the loop does not; and the loop has a closed one, of the number
    that the next one gets.
    """
    watched = Rung()

    async def sleep():
        loop = asyncio.get_running_loop()
        loop.add_reader(watched.fileno(), print)
        loop._selector._fd_to_key.pop(watched.fileno())
        closed = os.eventfd(0)
        loop.add_reader(closed, print)
        os.close(closed)
        return await Sleeper().sleep(watched, 2.0)

    try:
        assert asyncio.run(sleep())
    finally:
        os.close(watched.fileno())
