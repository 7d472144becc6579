"""RxPY: a pipeline between two streams, its end and its errors, dispose, back-pressure."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from rstream import policy, stream
from rstream.errors import (
    CodecError,
    NotConnected,
    PublisherLost,
    ReadTimeout,
    RemoteError,
    SlowConsumer,
)
from tests.support import until

reactivex = pytest.importorskip("reactivex")
from reactivex import operators as ops  # noqa: E402
from reactivex.scheduler import (  # noqa: E402
    CurrentThreadScheduler,
    ImmediateScheduler,
    NewThreadScheduler,
    ThreadPoolScheduler,
)

from rstream import rx  # noqa: E402
from rstream.stream._internal import sending_of  # noqa: E402

pytestmark = pytest.mark.integration


class Tick(msgspec.Struct):
    px: int


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture(autouse=True)
def no_thread_is_left(own_threads):
    """from_stream's threads keep the program alive, so each test must end its own."""
    yield
    until(lambda: not any(t.name.startswith("rstream-rx") for t in own_threads()))


def send(name, driver_dir, items):
    def run():
        with stream.publisher(name, dir=driver_dir) as pub:
            pub.send_many(items)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def collect(observable):
    """Subscribe; return (items, ends, done event, disposable)."""
    items, ends, done = [], [], threading.Event()

    def end(error=None):
        ends.append(error)
        done.set()

    return items, ends, done, observable.subscribe(items.append, end, end)


def test_a_pipeline_between_two_streams(driver_dir, name):
    out = f"{name}-out"
    items, ends, done, _ = collect(rx.from_stream(out, dir=driver_dir))
    counts, _, sent, _ = collect(
        rx.from_stream(name, Tick, dir=driver_dir).pipe(
            ops.filter(lambda tick: tick.px % 2 == 0),
            ops.map(lambda tick: tick.px * 10),
            rx.to_stream(out, dir=driver_dir),
        )
    )
    send(name, driver_dir, (Tick(n) for n in range(5000)))
    assert sent.wait(20)
    assert done.wait(20)
    assert ends == [None]
    assert items == [n * 10 for n in range(0, 5000, 2)]
    assert counts == [2500]


def test_run_blocks_and_returns_the_count(driver_dir, name):
    items, _, done, _ = collect(rx.from_stream(name, dir=driver_dir))
    count = reactivex.of(1, None, "three").pipe(rx.to_stream(name, dir=driver_dir)).run()
    assert count == 3
    assert done.wait(10)
    assert items == [1, None, "three"]


def test_an_error_of_the_pipeline_ends_the_stream_with_its_text(driver_dir, name):
    _, ends, done, _ = collect(rx.from_stream(name, dir=driver_dir))
    failing = reactivex.of(1, 0).pipe(ops.map(lambda n: 1 / n), rx.to_stream(name, dir=driver_dir))
    with pytest.raises(ZeroDivisionError):
        failing.run()
    assert done.wait(10)
    assert isinstance(ends[0], RemoteError)
    assert "ZeroDivisionError" in str(ends[0])


def test_it_stays_when_publishers_complete(driver_dir, name):
    items, ends, done, subscription = collect(rx.from_stream(name, dir=driver_dir, stays=True))
    for number in range(3):
        send(name, driver_dir, [number]).join(10)
        until(lambda wanted=number + 1: len(items) == wanted)
    assert not done.is_set()
    subscription.dispose()
    assert (items, ends) == ([0, 1, 2], [])


def test_a_lost_publisher_reaches_on_error(driver_dir, name):
    items, ends, done, _ = collect(rx.from_stream(name, dir=driver_dir))
    pub = stream.publisher(name, dir=driver_dir)
    pub.send(1)
    sending_of(pub).session.core.close()
    assert done.wait(10)
    assert items == [1]
    assert isinstance(ends[0], PublisherLost)
    pub.close(linger_s=0)


def test_an_operator_that_raises_ends_the_pipeline_and_closes_the_stream(driver_dir, name):
    _, ends, done, _ = collect(rx.from_stream(name, dir=driver_dir).pipe(ops.map(lambda n: 1 / n)))
    send(name, driver_dir, [0])
    assert done.wait(10)
    assert isinstance(ends[0], ZeroDivisionError)


def test_dispose_stops_within_100_ms(driver_dir, name):
    items, ends, _, disposable = collect(rx.from_stream(name, dir=driver_dir))
    time.sleep(0.1)
    disposable.dispose()
    deadline = time.monotonic() + 0.1 * 10  # the machine may be busy
    while any(t.name == f"rstream-rx-{name}" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert (items, ends) == ([], [])


def test_take_completes_and_unsubscribes(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        items, ends, done, _ = collect(rx.from_stream(name, dir=driver_dir).pipe(ops.take(3)))
        pub.send_many(range(10))
        assert done.wait(10)
        assert (items, ends) == ([0, 1, 2], [None])
        deadline = time.monotonic() + 10
        while pub.is_connected:
            assert time.monotonic() < deadline
            time.sleep(0.005)


@pytest.mark.parametrize(
    "scheduler",
    [None, NewThreadScheduler, ThreadPoolScheduler, CurrentThreadScheduler, ImmediateScheduler],
)
def test_take_leaves_what_waits_to_the_next_reader(driver_dir, name, scheduler):
    """The thread that reads must not be ahead of RxPY, which has nothing to dispose at first."""
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        reader = stream.subscriber(name, dir=driver_dir)
        pub.send_many(range(5000))
        above = []
        source = rx.from_reader(reader, scheduler=scheduler and scheduler())
        items, ends, done, _ = collect(source.pipe(ops.do_action(above.append), ops.take(3)))
        assert done.wait(10)
        assert (items, ends, above) == ([0, 1, 2], [None], [0, 1, 2])
        until(lambda: reader.is_closed)
        with stream.subscriber(name, dir=driver_dir) as following:
            assert following.get(timeout_s=10) == 3


@pytest.mark.parametrize("operator", [rx.to_stream, rx.tee_stream])
def test_a_misspelled_option_is_told_at_once(operator):
    with pytest.raises(TypeError, match=r"_stream\(\) .*'lingers': did you mean 'linger_s'\?"):
        operator("copy", lingers=3)


def test_a_busy_subscribe_does_not_hold_the_stream(driver_dir, name):
    """RxPY runs ``work`` in the thread that subscribes, before ``subscribe`` has returned."""
    got = threading.Event()

    def work():
        yield got.wait(10)

    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        reader = stream.subscriber(name, dir=driver_dir)
        pub.send(1)
        items, _, done, _ = collect(
            reactivex.merge(
                rx.from_reader(reader).pipe(ops.do_action(lambda _: got.set()), ops.take(1)),
                reactivex.from_iterable(work()),
            )
        )
        assert done.wait(10)
    assert sorted(items) == [1, True]


def test_a_slow_pipeline_holds_the_publisher_back(driver_dir, name):
    gate = threading.Event()
    seen = []

    def slowly(item):
        gate.wait(20)
        seen.append(len(item))

    done = threading.Event()
    rx.from_stream(name, bytes, dir=driver_dir, prefetch=4).subscribe(slowly, on_completed=done.set)
    with stream.publisher(name, bytes, dir=driver_dir) as pub:
        sent = 0
        deadline = time.monotonic() + 10
        while pub.offer(b"x" * 1000) != -2:
            sent = pub.statistics()["messages"]
            assert time.monotonic() < deadline
        assert 0 < sent < 2000  # half a term of 1 MiB: the window bounds it
        gate.set()
    assert done.wait(20)
    assert len(seen) == sent


@pytest.mark.parametrize(
    ("on_slow", "kept"),
    [
        (policy.DropOldest(3), [97, 98, 99]),
        (policy.DropNewest(3), [1, 2, 3]),
        (policy.Latest(key=lambda n: n % 2), [99, 98]),  # 1 began to wait before 2
        (policy.Conflate(lambda a, b: a + b), [sum(range(1, 100))]),
        (policy.Buffer(100), list(range(1, 100))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_slow_pipeline_drops_the_items_its_policy_names(driver_dir, name, on_slow, kept):
    is_in, gate, done, seen = threading.Event(), threading.Event(), threading.Event(), []

    def slowly(item):
        is_in.set()
        gate.wait(20)
        seen.append(item)

    reader = stream.subscriber(name, dir=driver_dir, on_slow=on_slow)
    rx.from_reader(reader).subscribe(slowly, on_completed=done.set)
    with stream.publisher(name, dir=driver_dir) as pub:
        pub.send(0)
        assert is_in.wait(10)  # the pipeline holds the first item and is slow from here on
        pub.send_many(range(1, 100))
        until(lambda: sum(map(reader.statistics().get, ("waiting", "dropped", "conflated"))) == 99)
        gate.set()
    assert done.wait(20)
    assert seen == [0, *kept]


def test_fail_reaches_on_error_of_a_slow_pipeline(driver_dir, name):
    is_in, gate, failed, seen, errors = (
        threading.Event(),
        threading.Event(),
        threading.Event(),
        [],
        [],
    )

    def slowly(item):
        is_in.set()
        gate.wait(20)
        seen.append(item)

    def on_error(error):
        errors.append(error)
        failed.set()

    rx.from_stream(name, dir=driver_dir, on_slow=policy.Fail(3)).subscribe(slowly, on_error)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send(0)
        assert is_in.wait(10)
        pub.send_many([1, 2, 3, 4])
        deadline = time.monotonic() + 10
        while pub.is_connected and time.monotonic() < deadline:
            time.sleep(0.005)
        gate.set()
        assert failed.wait(20)
    assert seen == [0, 1, 2, 3]
    assert isinstance(errors[0], SlowConsumer)


def test_tee_stream_sends_and_passes_on(driver_dir, name):
    copied, ends, done, _ = collect(rx.from_stream(name, dir=driver_dir))
    seen = reactivex.range(100).pipe(rx.tee_stream(name, dir=driver_dir), ops.to_list()).run()
    assert done.wait(10)
    assert seen == copied == list(range(100))
    assert ends == [None]


def test_tee_stream_passes_errors_on_both_ways(driver_dir, name):
    _, ends, done, _ = collect(rx.from_stream(name, dir=driver_dir))
    failing = reactivex.of(1, 0).pipe(ops.map(lambda n: 1 / n), rx.tee_stream(name, dir=driver_dir))
    with pytest.raises(ZeroDivisionError):
        failing.run()
    assert done.wait(10)
    assert isinstance(ends[0], RemoteError)


def test_tee_stream_emits_nothing_that_was_not_sent(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as reader:
        seen, ends, done, _ = collect(
            reactivex.of(b"1", "no bytes", b"2").pipe(
                rx.tee_stream(name, bytes, dir=driver_dir, linger_s=0)
            )
        )
        assert done.wait(10)
        assert seen == [b"1"]
        assert isinstance(ends[0], CodecError)
        assert reader.get(timeout_s=10) == b"1"


def test_a_slow_observer_holds_the_stream_that_it_tees(driver_dir, name):
    gate, seen = threading.Event(), []
    with stream.subscriber(name, dir=driver_dir) as reader:
        items, _, done, _ = collect(
            reactivex.range(3, scheduler=NewThreadScheduler()).pipe(
                rx.tee_stream(name, dir=driver_dir), ops.do_action(lambda _: gate.wait(20))
            )
        )
        seen.append(reader.get(timeout_s=10))
        with pytest.raises(ReadTimeout):
            reader.get(timeout_s=0.05)
        gate.set()
        seen.extend(reader)
        assert done.wait(10)
    assert seen == items == [0, 1, 2]


def test_to_stream_without_readers_is_an_error(driver_dir, name):
    with pytest.raises(NotConnected):
        reactivex.of(1).pipe(rx.to_stream(name, dir=driver_dir, connect_timeout_s=0.1)).run()


def test_from_reader_reads_an_open_reader(driver_dir, name):
    reader = stream.reader(name, dir=driver_dir)
    items, ends, done, _ = collect(rx.from_reader(reader))
    send(name, driver_dir, [1, 2, 3])
    assert done.wait(10)
    assert (items, ends) == ([1, 2, 3], [None])
    _, again, refused, _ = collect(rx.from_reader(reader))
    assert refused.wait(5)
    assert again[0] is not None


INTERRUPTED = """
import sys
import reactivex
from rstream import rx
first, second = (rx.from_stream(f"{sys.argv[2]}-{n}", dir=sys.argv[1]) for n in (1, 2))
print("reads", flush=True)
try:
    (first if sys.argv[3] == "one" else reactivex.merge(first, second)).run()
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("count", ["one", "merged"])
def test_ctrl_c_ends_run(driver_dir, name, count):
    command = [sys.executable, "-c", INTERRUPTED, driver_dir, name, count]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        try:
            assert program.wait(10) == 7
        finally:
            program.kill()


EXITS = """
import sys
import reactivex
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler, NewThreadScheduler
from rstream import rx
source = rx.from_stream(sys.argv[2], dir=sys.argv[1])
on_thread = rx.from_stream(sys.argv[2], dir=sys.argv[1], scheduler=NewThreadScheduler())
def work(item):
    return reactivex.timer(0.01).pipe(ops.map(lambda _: item))
def handle(item):
    if item == 2: sys.exit(7)
PIPELINE.run()
"""


@pytest.mark.parametrize(
    "pipeline",
    [
        "source.pipe(ops.do_action(handle))",
        "on_thread.pipe(ops.do_action(handle))",
        "source.pipe(rx.observe_on_bounded(EventLoopScheduler(), 9), ops.do_action(handle))",
        "source.pipe(rx.on_backpressure_buffer(9), ops.do_action(handle))",
        "source.pipe(rx.flat_map_bounded(work, 2), ops.do_action(handle))",
        "source.pipe(rx.flat_map_bounded(handle, 2))",
    ],
    ids=["reader", "scheduler", "observe_on", "buffer", "flat_map", "mapper"],
)
def test_an_exit_in_a_pipeline_ends_run(driver_dir, name, pipeline):
    """In the thread that delivers it would end that thread alone."""
    text = EXITS.replace("PIPELINE", pipeline)
    if "flat_map_bounded(handle" in pipeline:
        text = text.replace("sys.exit(7)", "sys.exit(7)\n    return work(item)")
    command = [sys.executable, "-W", "ignore", "-c", text, driver_dir, name]
    with (
        stream.publisher(name, dir=driver_dir, linger_s=0) as publisher,
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as program,
    ):
        publisher.send_many(range(4), timeout_s=20)
        try:
            assert program.wait(20) == 7
        finally:
            program.kill()


SUBSCRIBED = """
import sys, threading, time
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler, ThreadPoolScheduler
from rstream import rx

directory, name, shape = sys.argv[1:]
scheduler = ThreadPoolScheduler(1) if shape == "pool" else None
step = {
    "observe_on": lambda: rx.observe_on_bounded(EventLoopScheduler(), 20),
    "limit_rate": lambda: rx.limit_rate(20, 1),
    "tee": lambda: lambda source: source.pipe(
        ops.do_action(lambda item: print(item, flush=True)),
        rx.tee_stream(name + "-2", dir=directory, connect_timeout_s=60),
    ),
}.get(shape, lambda: lambda source: source)()
handle = lambda item: (print(item, flush=True), time.sleep(0.02))
rx.from_stream(name, dir=directory, scheduler=scheduler).pipe(step).subscribe(handle)
print("reads", flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("shape", ["plain", "pool", "observe_on", "limit_rate", "tee"])
def test_ctrl_c_ends_a_program_that_has_subscribed(driver_dir, name, shape):
    """The thread that reads keeps a program alive, but not after Ctrl-C in its main thread."""
    command = [sys.executable, "-c", SUBSCRIBED, driver_dir, name, shape]
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert program.stdout.readline() == "reads\n"
        with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
            publisher.send_many(range(300), timeout_s=5)
            assert program.stdout.readline() == "0\n"
            program.send_signal(signal.SIGINT)
            program.wait(20)
            with program.stdout as output:  # with what readline() had read ahead
                given = output.read().splitlines()
            until(lambda: not publisher.is_connected)
            with stream.subscriber(name, dir=driver_dir) as reader:
                assert reader.get(timeout_s=5) == (1 if shape == "tee" else 1 + len(given))
    finally:
        program.kill()
        program.wait()
