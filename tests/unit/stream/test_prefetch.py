"""Every face tells publishers a number of elements; ``prefetch`` says how large it may be.

``auto``: as large as the stream needs (tests/unit/flow/test_chunk.py). A number: never more than
that is made beyond what was consumed. Nothing waits for ever, however small the number is.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager, suppress

import pytest

import rstream
from rstream import Driver, codecs, policy, ray, rx, stream
from rstream.abc import UNBOUNDED
from rstream.errors import ConfigError
from rstream.flow.chunk import LEAST
from rstream.lab.elements import CountingUpstream, PatternReader
from rstream.stream._internal import reading_of
from tests.support import free_port, in_thread, until

COUNT = 300


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return None if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


@contextmanager
def reading(face, name, on_item=None, **options):
    """Reads on a thread of its own, by one face, and calls ``on_item`` for each item."""
    with ExitStack() as opened:
        if face == "rx":
            observable = rx.from_stream(name, codec="raw", **options)
            opened.callback(observable.subscribe(on_item or (lambda _: None)).dispose)
        elif face == "ray":
            channel = options.pop("channel", None)
            end = ray.reader(name, codec="raw", udp=channel is not None, **options)
            opened.callback(end.close)
            end.start(on_item or (lambda _: None))
            yield end.handle
            return
        elif on_item is None:
            queue = {"on_slow": policy.Buffer(10_000)} if face == "queue" else {}
            opened.enter_context(stream.subscriber(name, codec="raw", **queue, **options))
        else:
            queue = {"on_slow": policy.Buffer(4)} if face == "queue" else {}
            sub = opened.enter_context(stream.subscriber(name, codec="raw", **queue, **options))
            opened.callback(in_thread(READERS[face], sub, on_item).join)
            opened.callback(sub.close)
        yield None


def _by_poll(sub, on_item):
    with suppress(rstream.errors.ClosedError):
        while not sub.is_ended:
            sub.wait(0.5)  # also right after a poll that has taken all that was asked for
            for item in sub.poll(1000):
                on_item(item)


def _by_get(sub, on_item):
    with suppress(rstream.errors.ClosedError, rstream.errors.StreamEnded):
        while True:
            on_item(sub.get())


def _by_loop(sub, on_item):
    for item in sub:
        on_item(item)


READERS = {"for": _by_loop, "queue": _by_loop, "poll": _by_poll, "get": _by_get}
FACES = [*READERS, "rx", "ray"]


def open_sink(name, driver_dir, channel, handle=None):
    if handle is not None:
        channel = handle.udp_channel if channel else handle.ipc_channel
        return stream.sink(
            name, codec="raw", dir=driver_dir, channel=channel, stream_id=handle.stream_id,
            linger_s=0,
        )  # fmt: skip
    return stream.sink(name, codec="raw", dir=driver_dir, channel=channel, linger_s=0)


def told(sink):
    """What the readers of a sink want, once they tell it."""
    return until(lambda: (it := sink.publisher.demand()) and it.reader_count and it).elements


@pytest.mark.parametrize("face", ["for", "queue", "rx", "ray"])
@pytest.mark.parametrize(("prefetch", "expected"), [(None, LEAST), (7, 7)])
def test_every_face_tells_a_number(driver_dir, name, channel, face, prefetch, expected):
    options = {} if prefetch is None else {"prefetch": prefetch}
    with reading(face, name, dir=driver_dir, channel=channel, **options) as handle:
        sink = open_sink(name, driver_dir, channel, handle)
        assert told(sink) == expected
        sink.cancel()


@pytest.mark.parametrize("prefetch", [1, 3, 64])
@pytest.mark.parametrize("face", FACES)
def test_no_element_is_made_beyond_a_number(driver_dir, name, channel, face, prefetch):
    handed = 0
    done = threading.Event()

    def on_item(_):
        nonlocal handed
        handed += 1
        if handed == COUNT:
            done.set()

    with reading(face, name, on_item, dir=driver_dir, channel=channel, prefetch=prefetch) as handle:
        sink = open_sink(name, driver_dir, channel, handle)
        # A queue consumes what it holds: one poll, and 4 items.
        ahead = prefetch + (4 + prefetch if face == "queue" else 0)
        # What a poll has handed over counts as consumed before ``on_item`` has seen all of it.
        ahead += prefetch if face in ("poll", "get") else 0
        upstream = CountingUpstream(sink, b"x" * 10, COUNT, lambda: handed + ahead)
        assert done.wait(90), f"{handed} of {COUNT}"
        assert upstream.made == COUNT
        assert upstream.beyond <= 1  # the item in hand is not counted yet
        sink.cancel()


def test_a_source_tells_what_was_requested_up_to_the_number(driver_dir, name, channel):
    sink = open_sink(name, driver_dir, channel)
    reader = PatternReader(iter([COUNT]))
    stream.source(name, codec="raw", dir=driver_dir, channel=channel, prefetch=5).subscribe(reader)
    assert told(sink) == 5
    upstream = CountingUpstream(sink, b"x", 10 * COUNT, lambda: reader.delivered + 6)
    until(lambda: reader.delivered == COUNT)
    assert upstream.beyond <= 0
    assert upstream.made == COUNT
    assert reader.beyond <= 0
    reader.cancel()
    sink.cancel()


def test_only_a_request_without_limit_is_told_as_one(driver_dir, name, channel):
    sink = open_sink(name, driver_dir, channel)
    reader = PatternReader(iter([UNBOUNDED]))
    stream.source(name, codec="raw", dir=driver_dir, channel=channel).subscribe(reader)
    assert told(sink) == UNBOUNDED
    reader.cancel()
    sink.cancel()


def test_in_a_group_nothing_is_delivered_beyond_the_request(driver_dir, name):
    """Members do not tell their demand, so the sink makes what its window and theirs allow."""
    control = f"127.0.0.1:{free_port()}"
    sending = f"aeron:udp?control={control}|control-mode=dynamic|term-length=64k|fc=min,g:/2"
    readers = [PatternReader(iter(sizes)) for sizes in ([5, 1, 40], [3, 200])]
    with Driver(dir=f"{driver_dir}-other") as other:
        sink = open_sink(name, driver_dir, sending)
        for reader, where in zip(readers, (driver_dir, other.dir), strict=True):
            receiving = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={control}"
            stream.source(name, codec="raw", dir=where, channel=receiving).subscribe(reader)
        CountingUpstream(sink, b"x", COUNT, lambda: 0)
        until(lambda: [reader.delivered for reader in readers] == [46, 203])
        assert all(reader.beyond <= 0 for reader in readers)
        for reader in readers:
            reader.cancel()
        sink.cancel()


def test_a_held_reader_of_several_channels_reads_on(driver_dir, name):
    """Each channel has a demand of its own: one that is used up holds back no other."""
    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.reader(
        name, codec="raw", channels=["aeron:ipc", udp], prefetch=1, hold=True, dir=driver_dir
    ) as reader:
        sinks = [open_sink(name, driver_dir, one) for one in ("aeron:ipc", udp)]
        payloads = (b"near", bytes(50_000))  # one of them in many fragments
        for sink, payload in zip(sinks, payloads, strict=True):
            CountingUpstream(sink, payload, COUNT, lambda: 0)
        lengths = [0, 0]
        while sum(lengths) < 2 * COUNT:
            assert reader.wait(10)
            for item in reader.poll():
                lengths[len(item) > 4] += 1
        assert lengths == [COUNT, COUNT]
        for sink in sinks:
            sink.cancel()


def test_messages_that_are_no_objects_use_up_no_demand(driver_dir, name):
    """Completions of others, and what cannot be decoded."""
    with stream.subscriber(name, int, dir=driver_dir, on_lost="event", prefetch=2) as sub:
        numbers = []

        def read():
            while len(numbers) < 5 and not sub.is_closed:
                sub.wait(0.5)
                numbers.extend(sub.poll())

        reading = in_thread(read)
        for turn in range(5):
            sink = stream.sink(name, dir=driver_dir)
            upstream = CountingUpstream(sink, "no number", 7, lambda: 0)
            until(lambda made=upstream: made.made == 7)
            sink.on_next(turn)
            sink.on_complete()
            upstream.cancel()
        until(lambda: numbers == [0, 1, 2, 3, 4])
        reading.join(10)


def test_who_joins_again_tells_its_demand_anew(driver_dir, name):
    with stream.subscriber(name, codec="raw", dir=driver_dir, prefetch=3) as sub:
        sink = open_sink(name, driver_dir, None)
        upstream = CountingUpstream(sink, b"x", 1000, lambda: 0)
        assert sub.wait(10)
        assert sub.poll()
        inputs = reading_of(sub).inputs
        inputs.join_one_again(inputs.joined[0])  # as after an eviction
        assert sub.statistics()["demand"] == 3
        before = upstream.made
        until(lambda: sub.poll() and upstream.made > before + 50)
        sink.cancel()


@pytest.mark.parametrize("prefetch", [1, 8, "auto"])
def test_a_reader_that_stands_still_holds_a_plain_publisher_by_its_window(name, prefetch, tmp_path):
    with (
        Driver(dir=str(tmp_path / "driver"), ipc_term_length=1 << 16) as driver,
        stream.subscriber(name, codec="raw", dir=driver.dir, prefetch=prefetch) as sub,
        stream.publisher(name, codec="raw", dir=driver.dir, linger_s=0) as pub,
    ):
        pub.send(b"first")
        until(sub.poll)
        # The law may hold the publisher for a moment before the window does; demand never holds it.
        seen = {None}
        while "window" not in seen:
            pub.offer(bytes(1000))
            seen.add(pub.held_by)
        reading = iter(sub)
        next(reading)
        seen.add(pub.held_by)
        assert seen <= {None, "rate", "window"}
        reading.close()


def test_the_default_grows_for_a_fast_stream_and_a_poll_stays_bounded(driver_dir, name):
    with stream.subscriber(name, codec="raw", dir=driver_dir) as sub:
        assert sub.prefetch == 256

        def publish():
            with stream.publisher(name, codec="raw", dir=driver_dir, linger_s=0) as pub:
                pub.send_many([b"x"] * 200_000)

        publishing = in_thread(publish)
        lengths = [len(batch) for batch in sub.batches()]
        assert (sum(lengths), max(lengths)) == (200_000, 256)
        assert sub.statistics()["demand"] > LEAST
        publishing.join(10)


BAD = ["5", True, 0, -1, 1.5, 65_537, "atuo", None]
OPENED = {
    "subscriber": lambda **options: rstream.subscriber("ticks", **options),
    "queue": lambda **options: rstream.subscriber("ticks", on_slow=policy.Buffer(9), **options),
    "reader": lambda **options: stream.reader("ticks", **options),
    "source": lambda **options: stream.source("ticks", **options),
    "rx": lambda **options: rx.from_stream("ticks", **options),
    "ray": lambda **options: ray.reader("ticks", **options),
}


@pytest.mark.parametrize("prefetch", BAD)
@pytest.mark.parametrize("face", OPENED)
def test_what_is_no_prefetch_is_refused_at_once(driver_dir, face, prefetch):
    with pytest.raises(ConfigError) as caught:
        OPENED[face](dir=driver_dir, prefetch=prefetch)
    expected = f'prefetch={prefetch!r}: must be "auto" or a number of messages, 1 to 65536'
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("prefetch", [1, 65_536, "auto"])
def test_both_ends_of_the_range_are_taken(driver_dir, name, prefetch):
    with stream.subscriber(name, codec=codecs.raw(), dir=driver_dir, prefetch=prefetch) as sub:
        assert sub.prefetch == (256 if prefetch == "auto" else prefetch)
