"""policy.Evict with consumers that hang in this process.

Driver and client live, but the consumer does not poll.
"""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from rstream import metrics, policy, stream
from rstream.driver import Driver
from rstream.errors import ConfigError, PublisherLost, SlowConsumer
from rstream.stream._internal import reading_of
from tests.support import free_port, until
from tests.unit.stream.test_reactive import Recorder

PAYLOAD = b"x" * 984
FRAME = 1024  # header 32, number 8, payload: terms hold them without padding
AFTER_S = 0.2


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return "aeron:ipc" if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


class Publishing:
    """Sends numbered messages in a thread, as fast as the stream accepts them."""

    def __init__(self, name, driver_dir, channel):
        self._is_over = threading.Event()
        self.sent = 0
        self._arguments = name, driver_dir, channel
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        name, driver_dir, channel = self._arguments
        with stream.publisher(name, bytes, dir=driver_dir, channel=channel, linger_s=0) as pub:
            while not self._is_over.is_set():
                if pub.offer(b"%8d" % self.sent + PAYLOAD) > 0:
                    self.sent += 1
                else:
                    time.sleep(0.001)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc_info):
        self._is_over.set()
        self._thread.join(20)


def number(item):
    return int(item[:8])


def read_for_ever(sub, numbers, is_over):
    while not is_over.is_set():
        numbers.extend(map(number, sub.poll()))
        sub.wait(0.05)


@pytest.fixture
def reading(driver_dir, name, channel):
    """One good reader and a publisher; the numbers that the reader received must have no gap."""
    numbers, is_over = [], threading.Event()
    # The publisher closes without a linger, so its end does not matter here.
    with stream.subscriber(name, bytes, dir=driver_dir, channel=channel, on_lost="event") as sub:
        thread = threading.Thread(target=read_for_ever, args=(sub, numbers, is_over))
        thread.start()
        yield numbers
        is_over.set()
        thread.join(20)
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_the_others_go_on_and_the_evicted_reader_gets_the_reason(
    driver_dir, name, channel, reading
):
    evict = policy.Evict(AFTER_S)
    with (
        stream.subscriber(name, bytes, dir=driver_dir, channel=channel, on_slow=evict) as hung,
        Publishing(name, driver_dir, channel),
    ):
        first = until(hung.poll)
        until(lambda: number(first[-1]) < len(reading))
        stopped_at = len(reading)
        # many windows: it no longer holds the stream
        until(lambda: len(reading) > stopped_at + 5_000)
        with pytest.raises(SlowConsumer, match=r"stood still for 0\.2 s; .* without it since") as e:
            while hung.poll():
                pass
        assert e.value.stream_id == stream.stream_id_of(name)
        assert e.value.session_id is not None
        assert 0 < e.value.position < 2**20
        assert channel.partition("?")[0] in e.value.channel
        with pytest.raises(SlowConsumer):
            hung.poll()  # every later poll raises it again
        assert hung.wait(0)
        statistics = hung.statistics()
        assert (statistics["evicted"], statistics["is_connected"]) == (1, False)
        assert any(isinstance(event, stream.Evicted) for event in hung.events())


def test_an_evicted_reader_continues_at_the_live_position_and_reports_the_gap(
    driver_dir, name, channel, reading
):
    evict = policy.Evict(AFTER_S, rejoin=True)
    with (
        stream.subscriber(name, bytes, dir=driver_dir, channel=channel, on_slow=evict) as hung,
        Publishing(name, driver_dir, channel) as publishing,
    ):
        numbers, events = [], []
        numbers += map(number, until(hung.poll))
        until(lambda: len(reading) > numbers[-1] + 5_000)
        resumed_at = publishing.sent

        def is_back():
            numbers.extend(map(number, hung.poll()))
            events.extend(hung.events())
            return numbers[-1] > resumed_at + 1_000

        until(is_back)
        statistics = hung.statistics()
    jumps = [(a, b) for a, b in itertools.pairwise(numbers) if b != a + 1]
    assert len(jumps) == statistics["evicted"] >= 1
    evicted = [event for event in events if isinstance(event, stream.Evicted)]
    gaps = [event for event in events if isinstance(event, stream.Gap)]
    assert len(evicted) == len(gaps) == len(jumps)
    for (before, after), event, gap in zip(jumps, evicted, gaps, strict=True):
        # Every message has the same length, so positions and numbers must agree.
        assert event.position == gap.from_position
        assert gap.to_position - gap.from_position == FRAME * (after - before - 1)
    assert statistics["skipped_bytes"] == sum(gap.to_position - gap.from_position for gap in gaps)


@pytest.mark.parametrize("channel", ["aeron:ipc"])  # by UDP its image lingers, and tells its end
def test_a_publisher_that_closed_while_the_reader_was_evicted_ends_its_loop(
    driver_dir, name, channel, reading, monkeypatch
):
    monkeypatch.setattr("rstream.stream._reading._eviction.RETURN_S", 0.5)
    evict = policy.Evict(AFTER_S, rejoin=True)
    with stream.subscriber(name, bytes, dir=driver_dir, channel=channel, on_slow=evict) as hung:
        with Publishing(name, driver_dir, channel):
            items = iter(hung)
            numbers = [number(next(items))]
            until(lambda: len(reading) > numbers[-1] + 20_000)  # the stream goes on without it
        until(lambda: not metrics.publications(driver_dir))
        with pytest.raises(PublisherLost, match="while this reader was away"):
            numbers.extend(map(number, items))
        assert any(isinstance(event, stream.Lost) for event in hung.events())


def test_an_idle_reader_with_nothing_to_read_is_not_evicted(driver_dir, name, channel):
    with (
        stream.subscriber(
            name, bytes, dir=driver_dir, channel=channel, on_slow=policy.Evict(0.05)
        ) as sub,
        stream.publisher(name, bytes, dir=driver_dir, channel=channel, linger_s=0) as pub,
    ):
        pub.send(b"1")
        time.sleep(0.3)  # six times the limit, but it holds no publisher
        pub.send(b"2")
        assert [until(lambda: sub.poll(1)), until(lambda: sub.poll(1))] == [[b"1"], [b"2"]]
        assert sub.statistics()["evicted"] == 0


def test_the_publisher_goes_on_without_its_only_reader(driver_dir, name, channel):
    with (
        stream.subscriber(
            name, bytes, dir=driver_dir, channel=channel, on_slow=policy.Evict(AFTER_S)
        ) as hung,
        stream.publisher(name, bytes, dir=driver_dir, channel=channel, linger_s=0) as pub,
    ):
        until(lambda: pub.is_connected)
        until(lambda: pub.offer(PAYLOAD) < 0 and not pub.is_connected)
        with pytest.raises(SlowConsumer):
            while True:
                hung.poll()


@pytest.mark.parametrize("after_s", [0.0, 0.009, -1.0, float("nan"), float("inf"), 86_401.0])
def test_an_impossible_time_is_refused(driver_dir, name, after_s):
    with pytest.raises(ConfigError, match="after_s"):
        stream.subscriber(name, dir=driver_dir, on_slow=policy.Evict(after_s))
    with pytest.raises(ConfigError, match="after_s"):
        stream.source(name, dir=driver_dir, on_slow=policy.Evict(after_s))


def test_the_users_own_settings_stay(driver_dir, name):
    channel = "aeron:ipc?rs-evict=7s"
    with stream.subscriber(name, dir=driver_dir, channel=channel, on_slow=policy.Evict(1)) as sub:
        assert "rs-evict=7s" in sub.channel
        assert "rs-evict=1" not in sub.channel


def test_a_subscriber_without_demand_is_evicted_by_on_error(driver_dir, name, channel):
    recorder = Recorder(1)
    stream.source(
        name, bytes, dir=driver_dir, channel=channel, on_slow=policy.Evict(AFTER_S)
    ).subscribe(recorder)
    with Publishing(name, driver_dir, channel):
        until(lambda: isinstance(recorder.signals[-1], SlowConsumer))
    assert recorder.signals[0] == "subscribe"
    assert number(recorder.signals[1]) == 0
    assert len(recorder.signals) == 3


def test_a_driver_of_its_own_removes_the_reader_from_its_group(tmp_path, name):
    """fc=min: the hung receiver's driver leaves the group long before the receiver's time-out."""
    control = f"127.0.0.1:{free_port()}"
    sending = f"aeron:udp?control={control}|control-mode=dynamic|fc=min,t:60s"
    receiving = f"aeron:udp?endpoint=127.0.0.1:0|control={control}|control-mode=dynamic"
    with Driver(dir=str(tmp_path / "a")) as here, Driver(dir=str(tmp_path / "b")) as there:
        with (
            stream.subscriber(
                name, bytes, dir=here.dir, channel=receiving, on_lost="event"
            ) as good,
            stream.subscriber(
                name, bytes, dir=there.dir, channel=receiving, on_slow=policy.Evict(AFTER_S)
            ) as hung,
            Publishing(name, here.dir, sending),
        ):
            until(lambda: hung.is_connected)
            numbers = []

            def has_read(count):
                numbers.extend(map(number, good.poll()))
                return len(numbers) > count

            until(lambda: has_read(1))
            stopped_at = len(numbers)
            until(lambda: has_read(stopped_at + 5_000))
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            with pytest.raises(SlowConsumer):
                while True:
                    hung.poll()


class TornBatch:
    """A batch whose log the driver changed while it was read: its contents may be anything."""

    is_intact = False
    consumed = False

    def __len__(self):
        return 1

    def to_list(self):
        return [b"half old, half new"]


def test_a_batch_read_during_the_eviction_is_not_delivered(driver_dir, name):
    class Core:
        def peek_event(self):
            return None

        def take(self, limit, bytes_max):
            return TornBatch()

    with stream.subscriber(name, bytes, dir=driver_dir, on_slow=policy.Evict(1.0)) as sub:
        source = reading_of(sub).inputs.joined[0]
        real, source.core = source.core, Core()
        assert sub.poll() == []
        source.core = real


def test_a_policy_that_cannot_be_used_is_named_once(driver_dir, name):
    with pytest.raises(ConfigError) as refused:
        stream.subscriber(name, dir=driver_dir, on_slow=policy.Evict(0.0))
    assert str(refused.value).count("on_slow=") == 1
