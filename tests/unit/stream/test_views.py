"""Objects that are views of the transport's memory: valid while they are there, and never a riddle.

A frame of 65504 bytes keeps a message of some kilobytes in the log, where a view holds it. Messages
of several frames are put together in memory of their own, which a view holds alone.
"""

from __future__ import annotations

import logging
import threading
import time

import pytest

import rstream
from rstream import codecs, policy, ray, stream
from rstream.errors import BackPressured, CodecError, ConfigError
from tests.support import until

np = pytest.importorskip("numpy")

IN_THE_LOG = "aeron:ipc?mtu=65504|term-length=1m"
ASSEMBLED = "aeron:ipc?term-length=1m"
WINDOW = 1 << 19


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture
def ends(driver_dir, name):
    """Opens both ends of a stream of arrays whose reader takes views."""
    opened = []

    def open_both(channel, **options):
        opened.append(
            rstream.subscriber(
                name, codec=codecs.numpy(view=True), channel=channel, dir=driver_dir, **options
            )
        )
        opened.append(
            rstream.publisher(name, np.ndarray, channel=channel, dir=driver_dir, linger_s=0)
        )
        return opened[-2], opened[-1]

    yield open_both
    for end in reversed(opened):
        end.close()


def array_of(number, size=1000):
    return np.arange(number, number + size, dtype="f8")


@pytest.mark.parametrize("channel", [IN_THE_LOG, ASSEMBLED])
def test_arrays_are_what_was_sent(ends, channel):
    sub, pub = ends(channel)
    for number in range(300):  # several terms
        sent = array_of(number, size=number * 20)
        pub.send(sent.reshape(2, -1).T)
        got = sub.get(timeout_s=10)
        assert (got == sent.reshape(2, -1).T).all()
        assert not got.flags.writeable
        assert got.flags.aligned


def test_arrays_of_several_frames_may_be_kept_for_ever(ends, caplog):
    sub, pub = ends(ASSEMBLED)
    kept = []
    for number in range(100):  # 8 MB, so the log is written over seven times
        pub.send(array_of(number, 10_000), timeout_s=10)
        kept.append(sub.get(timeout_s=10))
    assert all((array == array_of(number, 10_000)).all() for number, array in enumerate(kept))
    assert sub.statistics()["view_bytes"] == 0
    assert not caplog.records


@pytest.mark.usefixtures("in_parts")
def test_arrays_in_parts_may_be_kept_too(ends, caplog):
    """Beyond an eighth of a term a message comes in parts, into bytes of its own."""
    sub, pub = ends(IN_THE_LOG)
    kept = []
    for number in range(10):
        sending = threading.Thread(target=pub.send, args=(array_of(number, 100_000),))
        sending.start()
        kept.append(sub.get(timeout_s=20))
        sending.join(20)
    sub.poll()
    assert all((array == array_of(number, 100_000)).all() for number, array in enumerate(kept))
    assert sub.statistics()["view_bytes"] == 0
    assert not caplog.records


def test_a_view_needs_no_second_copy(ends):
    sub, pub = ends(ASSEMBLED)
    pub.send(array_of(0))
    held = sub.get(timeout_s=10)
    while isinstance(held, np.ndarray):
        held = held.base
    assert type(held.obj).__name__ == "Message"


def send_until_held_back(sub, pub):
    with pytest.raises(BackPressured):
        for number in range(2 * WINDOW // 8000):
            pub.send(array_of(number), timeout_s=0.5)
            sub.get(timeout_s=10)
    sub.poll()


def test_a_kept_view_in_the_log_is_told_once_and_counted(ends, caplog):
    sub, pub = ends(IN_THE_LOG)
    for holds in (1, 2):
        pub.send(array_of(7), timeout_s=10)
        kept = sub.get(timeout_s=10)
        send_until_held_back(sub, pub)
        assert (kept == array_of(7)).all()
        assert sub.statistics()["view_bytes"] > WINDOW / 2
        assert sub.statistics()["view_holds"] == holds
        (record,) = caplog.records  # of the first time
        assert record.levelno == logging.WARNING
        assert "more than half of the window of 524288 bytes" in record.getMessage()
        assert "copy what you keep (array.copy())" in record.getMessage()
        del kept
        for number in range(2 * WINDOW // 8000):
            pub.send(array_of(number), timeout_s=10)
            sub.get(timeout_s=10)
        assert sub.statistics()["view_bytes"] < WINDOW / 2


@pytest.mark.parametrize("channel", [IN_THE_LOG, ASSEMBLED])
def test_a_loop_that_keeps_the_last_item_only_holds_nothing_up(ends, channel, caplog):
    sub, pub = ends(channel)
    for start in range(0, 600, 20):
        pub.send_many([array_of(number) for number in range(start, start + 20)], timeout_s=10)
        last = None
        for count, array in enumerate(sub, 1):
            assert (array == array_of(start + count - 1)).all()
            last = array
            if count == 20:
                break
        assert last is not None
    del array, last  # the last ones: a loop that was left keeps none itself
    assert sub.subscriptions[0].held[0] == 0
    assert not caplog.records


def test_small_arrays_are_copies(ends):
    sub, pub = ends(IN_THE_LOG)
    pub.send(array_of(0, 100))
    held = kept = sub.get(timeout_s=10)
    while isinstance(held, np.ndarray):
        held = held.base
    assert type(held) is bytes
    sub.poll()
    assert sub.statistics()["view_bytes"] == 0
    assert kept.shape == (100,)


def test_a_reader_closed_with_views_in_the_log_says_so(ends, caplog):
    sub, pub = ends(IN_THE_LOG)
    first = array_of(3)
    pub.send(first)
    kept = sub.get(timeout_s=10)
    sub.close()
    (record,) = caplog.records
    assert "closed while views of it are kept" in record.getMessage()
    while pub.offer(array_of(0)) > 0:
        pass
    assert (kept == first).all()
    del kept
    until(lambda: pub.offer(array_of(0)) == rstream.NOT_CONNECTED)


def test_a_reader_closed_with_views_of_several_frames_is_gone(ends, caplog):
    sub, pub = ends(ASSEMBLED)
    pub.send(array_of(3))
    kept = sub.get(timeout_s=10)
    sub.close()
    until(lambda: pub.offer(array_of(0)) == rstream.NOT_CONNECTED)
    assert (kept == array_of(3)).all()
    assert not caplog.records


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"on_slow": policy.Evict(after_s=1)}, "may go on without this reader"),
        ({"on_slow": policy.Latest()}, "a queue would keep them"),
        ({"channel": "aeron:ipc?tether=false"}, "may go on without this reader"),
    ],
    ids=["evict", "queue", "untethered"],
)
def test_views_are_refused_where_they_could_change_or_pile_up(driver_dir, name, options, text):
    for codec in (codecs.numpy(view=True), codecs.arrow(view=True)):
        for opens in (rstream.subscriber, stream.source):
            with pytest.raises(ConfigError, match=rf"{text}.*; leave view=True out"):
                opens(name, codec=codec, dir=driver_dir, **options)
    if "on_slow" in options:
        with pytest.raises(ConfigError, match=rf"{text}.*; leave view=True out"):
            ray.reader(name, codec=codec, dir=driver_dir, udp=False, **options)


def test_an_array_that_was_not_expected_is_an_error_and_the_next_one_comes(driver_dir, name):
    codec = codecs.numpy("f8", (-1,), view=True)
    with (
        rstream.subscriber(name, codec=codec, channel=IN_THE_LOG, dir=driver_dir) as sub,
        rstream.publisher(name, np.ndarray, channel=IN_THE_LOG, dir=driver_dir) as pub,
    ):
        pub.send_many([array_of(0), np.zeros(5000, "u1"), array_of(2)])
        assert sub.get(timeout_s=10)[0] == 0.0
        with pytest.raises(CodecError, match=r"sends an array of uint8 \(5000,\)") as caught:
            sub.get(timeout_s=10)
        assert sub.get(timeout_s=10)[0] == 2.0
        sub.poll()
        assert sub.statistics()["view_bytes"] == 0  # the error holds nothing of the message
        assert caught.value is not None


def test_columns_of_arrow_are_views(driver_dir, name):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"n": range(10_000)})
    with (
        rstream.subscriber(name, codec=codecs.arrow(pa.Table, view=True), dir=driver_dir) as sub,
        rstream.publisher(name, pa.Table, dir=driver_dir) as pub,
    ):
        kept = []
        for _ in range(20):
            pub.send(table, timeout_s=10)
            kept.append(sub.get(timeout_s=10))
        assert all(each == table for each in kept)
        addresses = {each.column(0).chunk(0).buffers()[1].address for each in kept}
        assert len(addresses) == len(kept)


def test_an_endpoint_of_ray_keeps_views(driver_dir, name):
    end = ray.reader(name, codec=codecs.numpy(view=True), dir=driver_dir, udp=False)
    kept = []
    end.start(kept.append)
    with end.handle.publisher(linger_s=10) as pub:
        for number in range(100):
            pub.send(array_of(number, 10_000), timeout_s=10)
    end.finish()
    end.close()
    assert len(kept) == 100
    assert all((array == array_of(number, 10_000)).all() for number, array in enumerate(kept))


@pytest.mark.parametrize("channel", [IN_THE_LOG, ASSEMBLED])
def test_kept_views_use_up_no_demand(driver_dir, name, channel):
    """A sink sends what its readers have requested, however many views these keep."""
    from rstream import abc

    class Keeper(abc.Subscriber):
        def __init__(self):
            self.kept, self.is_done = [], False

        def on_subscribe(self, subscription):
            self.subscription = subscription
            subscription.request(1)

        def on_next(self, item):
            self.kept.append(item)
            self.subscription.request(1)

        def on_error(self, error):
            self.kept.append(error)

        def on_complete(self):
            self.is_done = True

    keeper = Keeper()
    codec = codecs.numpy(view=True)
    stream.source(name, codec=codec, channel=channel, dir=driver_dir).subscribe(keeper)
    with rstream.publisher(name, np.ndarray, channel=channel, dir=driver_dir, linger_s=0.2) as pub:
        for number in range(50):
            pub.send(array_of(number), timeout_s=10)
    until(lambda: keeper.is_done)
    assert [array[0] for array in keeper.kept] == list(range(50))


def large_arrays(count=60):
    """Each one is an eighth of the window, so that a poll could hand out all of it."""
    return [array_of(number, 7500) for number in range(count)]


def sending(driver_dir, name):
    def send():
        with rstream.publisher(
            name, np.ndarray, channel=IN_THE_LOG, dir=driver_dir, linger_s=0.2
        ) as pub:
            for array in large_arrays():
                pub.send(array, timeout_s=10)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("how", ["items", "batches", "get", "source", "hold"])
def test_what_a_loop_was_given_last_never_fills_the_window(driver_dir, name, how, caplog):
    """It refers to it while it waits for more, which must come."""
    options = {"codec": codecs.numpy(view=True), "channel": IN_THE_LOG, "dir": driver_dir}
    got = []
    if how == "source":
        ended = threading.Event()
        rx = pytest.importorskip("rstream.rx")
        rx.from_stream(name, **options).subscribe(
            lambda array: (got.append(array[0]), time.sleep(0.002)), on_completed=ended.set
        )
        thread = sending(driver_dir, name)
        assert ended.wait(30)
    else:
        if how == "hold":
            options["channels"] = [options.pop("channel")]
            sub = stream.reader(name, hold=True, **options)
        else:
            sub = rstream.subscriber(name, **options)
        thread = sending(driver_dir, name)
        time.sleep(0.3)  # so that the window is full at first
        with sub:
            if how == "batches":
                for arrays in sub.batches():
                    got += [array[0] for array in arrays]
            elif how == "get":
                last = None
                for _ in large_arrays():
                    last = sub.get(timeout_s=10)
                    got.append(last[0])
                del last
            else:
                for array in sub:
                    got.append(array[0])
                del array
    thread.join(30)
    assert got == list(range(60))
    assert not [record for record in caplog.records if record.module == "_views"]
