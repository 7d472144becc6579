"""Streams between processes over the shared driver: data, ends, deaths of either side or driver."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest

import rstream
from rstream import _core, stream
from rstream.config import DriverConfig
from rstream.driver import ensure_driver
from rstream.errors import MessagesLost, NoServer, PublisherLost, RegistrationError
from rstream.stream._internal import sending_of
from tests.support import free_port, in_thread, until

ROOT = Path(__file__).parent.parent.parent
SHORT = DriverConfig(
    client_liveness_timeout_s=1.0,
    timer_interval_s=0.1,
    image_liveness_timeout_s=1.0,
    publication_linger_timeout_s=0.2,
    idle_exit_s=5.0,
)


@pytest.fixture
def shared_dir(driver_dir):
    """A directory with the shared driver, whose timeouts are a second."""
    return ensure_driver(driver_dir, config=SHORT)


class Worker:
    """A process of tests.system.stream_worker."""

    def __init__(self, role, directory, name, count=0):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.stream_worker", role, directory, name, str(count)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def line(self, word):
        """The words after the next line that begins with ``word``."""
        for text in self.process.stdout:
            if text.startswith(word):
                return text.split(maxsplit=1)[-1].strip()
        raise AssertionError(f"the worker ended ({self.process.wait()}) without {word!r}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait(self):
        return self.process.wait(20)

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.process.stdout.close()


@pytest.fixture
def worker(shared_dir):
    workers = []

    def start(role, name, count=0):
        workers.append(Worker(role, shared_dir, name, count))
        return workers[-1]

    yield start
    for one in workers:
        one.close()


def test_send_here_receive_there(shared_dir, worker):
    reader = worker("subscribe", "there", 0)
    reader.line("ready")
    with stream.publisher("there", dir=shared_dir) as pub:
        pub.send_many(range(20_000))
    assert reader.line("received") == "20000"
    assert reader.wait() == 0


def test_send_there_receive_here_and_the_end_ends_the_loop(shared_dir, worker):
    with stream.subscriber("here", dir=shared_dir) as sub:
        sender = worker("publish", "here", 20_000)
        assert list(sub) == list(range(20_000))
        assert sender.wait() == 0


def test_a_killed_publisher_is_reported_with_name_and_position(shared_dir, worker):
    with stream.subscriber("killed", dir=shared_dir) as sub:
        sender = worker("publish_and_hang", "killed", 1000)
        items = []
        while len(items) < 1000:
            items += sub.poll()
            sub.wait(1)
        position = int(sender.line("sent"))
        sender.kill()
        killed_s = time.monotonic()
        with pytest.raises(PublisherLost, match="killed") as lost:
            next(iter(sub))
        assert time.monotonic() - killed_s < 3  # a liveness of one second, and a busy machine
        assert lost.value.position == position
        assert items == list(range(1000))


def test_a_killed_reader_frees_the_publisher(shared_dir, worker):
    reader = worker("subscribe", "reader-killed")
    reader.line("ready")
    with stream.publisher("reader-killed", dir=shared_dir, linger_s=0) as pub:
        pub.send(1)
        os.kill(reader.process.pid, signal.SIGSTOP)
        while pub.offer(b"x" * 1000) > 0:
            pass
        os.kill(reader.process.pid, signal.SIGKILL)
        reader.wait()
        deadline_s = time.monotonic() + 5
        while pub.is_connected:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        assert pub.offer(1) == -1


def test_a_slow_reader_slows_the_publisher(shared_dir, worker):
    with stream.subscriber("slow", bytes, dir=shared_dir, prefetch=64) as sub:
        sender = worker("publish_payload", "slow", 4000)
        count = 0
        for items in sub.batches():
            count += len(items)
            time.sleep(0.01)
        assert count == 4000
        # 4 MB through a window of half a MiB: the sender waited nearly all the time.
        assert float(sender.line("waited")) > 0.3


def test_latest_does_not_slow_the_publisher(shared_dir, worker):
    reader = worker("subscribe_latest", "latest")
    reader.line("ready")
    with stream.publisher("latest", dir=shared_dir) as pub:
        pub.send_many(range(100_000))
    assert reader.line("last") == "99999"


def test_the_driver_refuses_two_names_on_one_stream_id(shared_dir):
    with (
        stream.publisher("one", dir=shared_dir, stream_id=77),
        pytest.raises(RegistrationError, match=r"one.*another|another.*one"),
    ):
        stream.subscriber("another", dir=shared_dir, stream_id=77)


def test_a_killed_driver_is_restarted_and_both_ends_rejoin_and_report(shared_dir, worker):
    with stream.subscriber("rejoin", dir=shared_dir, on_gap="resume") as sub:
        sender = worker("publish_for_ever", "rejoin")
        sender.line("started")
        before = next(iter(sub))
        first_pid, _ = _core.driver_info(shared_dir)
        os.kill(first_pid, signal.SIGKILL)

        events, last, numbers = [], before, []
        deadline_s = time.monotonic() + 20
        while not numbers or numbers[-1] <= last + 10:
            assert time.monotonic() < deadline_s, events
            sub.wait(0.5)
            items = sub.poll()
            events += sub.events()
            if any(isinstance(event, stream.SessionChanged) for event in events):
                numbers += items
            elif items:
                last = items[-1]
        (changed,) = [event for event in events if isinstance(event, stream.SessionChanged)]
        assert (changed.old_session_id, changed.new_session_id) == (None, None)
        gaps = [event for event in events if isinstance(event, stream.Gap)]
        if gaps:
            (gap,) = gaps
            assert gap.from_position > 0
        else:  # it had read all when its driver was found dead
            assert numbers[0] == last + 1
        # no number is missing after the gap
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert sub.statistics()["rejoins"] == 1
        second_pid, _ = _core.driver_info(shared_dir)
        assert second_pid != first_pid
        assert sender.line("event").startswith("SessionChanged")
        if gaps:
            assert sender.line("event").startswith("Gap")
        sender.kill()


def test_a_loop_hears_what_is_missing_after_the_death_of_the_driver(shared_dir, worker):
    with stream.subscriber("missing", dir=shared_dir) as sub:
        worker("publish_for_ever", "missing").line("started")
        numbers, lost, killed_at = [], [], 0
        deadline_s = time.monotonic() + 30
        while not killed_at or numbers[-1] < killed_at + 1000:
            assert time.monotonic() < deadline_s, (numbers[-1], lost)
            try:
                for number in sub:
                    numbers.append(number)
                    if number >= 100 and not killed_at:
                        killed_at = number
                        os.kill(_core.driver_info(shared_dir).pid, signal.SIGKILL)
                    if killed_at and number >= killed_at + 1000:
                        break
            except MessagesLost as error:
                lost.append((len(numbers), error.gap))
        jumps = [n for n in range(1, len(numbers)) if numbers[n] != numbers[n - 1] + 1]
        assert [place for place, _ in lost] == jumps
        assert len(jumps) <= 1
        assert all(gap.length_bytes for _, gap in lost)


@pytest.mark.parametrize("has_companion", [False, True], ids=["alone", "beside-another"])
def test_a_reader_that_was_given_up_tells_that_and_only_what_it_missed(
    shared_dir, worker, has_companion
):
    with contextlib.ExitStack() as others:
        pub = others.enter_context(stream.publisher("stopped", dir=shared_dir))
        if has_companion:
            companion = others.enter_context(stream.subscriber("stopped", dir=shared_dir))
            in_thread(list, companion)
        reader = worker("subscribe_and_tell", "stopped")
        reader.line("ready")
        until(lambda: sending_of(pub).session.reader_count() == 1 + has_companion)
        pub.send("first")
        assert pub.wait_consumed(timeout_s=5)
        reader.process.send_signal(signal.SIGSTOP)
        pub.send("while it stands still")
        until(lambda: sending_of(pub).session.reader_count() == has_companion)
        reader.process.send_signal(signal.SIGCONT)
        until(lambda: sending_of(pub).session.reader_count() == 1 + has_companion)
        pub.send("last")
        pub.close()
        assert "gave this process up" in reader.line("event")
        if has_companion:
            assert "from_position=64, to_position=128" in reader.line("event")
        assert reader.process.stdout.readline().split()[1] == ("2" if has_companion else "3")


@pytest.mark.parametrize("has_companion", [False, True], ids=["alone", "beside-another"])
def test_a_reader_that_was_given_up_gets_nothing_twice(shared_dir, worker, has_companion):
    count = 10
    with contextlib.ExitStack() as others:
        pub = others.enter_context(stream.publisher("stopped", dir=shared_dir))
        if has_companion:
            companion = others.enter_context(stream.subscriber("stopped", dir=shared_dir))
            in_thread(list, companion)
        reader = worker("subscribe_and_stop", "stopped", count)
        reader.line("ready")
        until(lambda: sending_of(pub).session.reader_count() == 1 + has_companion)
        pub.send_many(range(count))  # the reader has all of it in one batch
        numbers = [int(reader.line("number")) for _ in range(count // 2 + 1)]
        until(lambda: sending_of(pub).session.reader_count() == has_companion)
        reader.process.send_signal(signal.SIGCONT)
        until(lambda: sending_of(pub).session.reader_count() == 1 + has_companion)
        pub.send_many(range(count, 2 * count))
        pub.close()
        while (text := reader.process.stdout.readline().split()) != ["end"]:
            numbers.append(int(text[1]))
        assert numbers == list(range(2 * count))


def test_a_forked_child_makes_its_own_client(shared_dir):
    with stream.subscriber("forked", dir=shared_dir) as sub:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with stream.publisher("forked", dir=shared_dir) as pub:
                    pub.send("from the child")
                code = 0
            finally:
                os._exit(code)
        assert list(sub) == ["from the child"]
        assert os.waitpid(child, 0)[1] == 0


def test_over_udp_a_publisher_learns_that_the_last_bytes_were_consumed(shared_dir):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.subscriber("tail", channel=channel, dir=shared_dir) as sub:
        pub = stream.publisher("tail", channel=channel, dir=shared_dir)
        # far less than a window: no status message is due for these bytes
        pub.send_many(range(100))
        items = []
        while len(items) < 100:
            items += sub.poll()
            sub.wait(1)
        assert pub.wait_consumed(timeout_s=2)
        closing = threading.Thread(target=pub.close)
        started_s = time.monotonic()
        closing.start()
        while not sub.is_ended:
            items += sub.poll()
            sub.wait(0.1)
        closing.join()
        assert time.monotonic() - started_s < 2  # not the linger of five seconds
        assert items == list(range(100))
        assert [type(event) for event in pub.events()] == [stream.Connected]


def test_a_publisher_without_readers_reports_the_lost_range(shared_dir):
    with stream.subscriber("left", dir=shared_dir) as sub:
        pub = stream.publisher("left", dir=shared_dir, linger_s=0)
        pub.send_many(range(10))
        while len(sub.poll()) == 0:
            sub.wait(1)
        pub.wait_consumed(timeout_s=2)
        consumed = pub.position
        pub.send_many(range(5))
        session_id = pub.session_id
    end = pub.position
    deadline_s = time.monotonic() + 5
    while pub.is_connected:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    pub.close()
    connected, gone, gap = pub.events()
    assert isinstance(connected, stream.Connected)
    assert (gone.session_id, gone.position, gone.consumed_position) == (session_id, end, consumed)
    assert gap == stream.Gap(
        session_id=session_id, from_position=consumed, to_position=end, reason=gap.reason
    )


def test_waiting_tells_what_a_killed_driver_took_with_it(shared_dir):
    pub = stream.publisher("killed", dir=shared_dir, linger_s=0)
    with pub, stream.subscriber("killed", dir=shared_dir) as first:
        pub.send(0)
        assert first.get(timeout_s=5) == 0
        assert pub.wait_consumed(timeout_s=5)
        pub.send(1)
        os.kill(_core.driver_info(shared_dir).pid, signal.SIGKILL)
        with stream.subscriber("killed", dir=shared_dir) as second:
            until(lambda: pub.offer(2) > 0)
            with pytest.raises(MessagesLost, match="64 bytes that were sent may be lost") as caught:
                pub.wait_consumed(timeout_s=20)
            assert "driver in" in caught.value.gap.reason
            assert second.get(timeout_s=20) == 2
            assert pub.wait_consumed(timeout_s=20)


@pytest.mark.parametrize("face", ["publisher", "subscriber", "awaited", "requester", "service"])
def test_opening_right_after_the_driver_was_killed_starts_it_again(shared_dir, face):
    """The process has not heard of the death when it opens the next stream."""

    async def open_awaited():
        async with rstream.aio.publisher("next", dir=shared_dir):
            pass

    def open_one():
        if face == "awaited":
            anyio.run(open_awaited)
        elif face == "requester":
            with rstream.service.requester("next", dir=shared_dir) as asks:
                with pytest.raises(NoServer):
                    asks.request(1, timeout_s=0.1)
        elif face == "service":
            rstream.serve("next", dir=shared_dir)(str).start().close()
        else:
            getattr(stream, face)("next", dir=shared_dir).close()

    with stream.subscriber("first", dir=shared_dir, on_lost="event"):
        first_pid = _core.driver_info(shared_dir).pid
        os.kill(first_pid, signal.SIGKILL)
        open_one()
        assert _core.driver_info(shared_dir).pid != first_pid
