"""Messages in shared segments: once for all readers, unchanged while held, bounded, taken back."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rstream
from rstream import Channel, codecs, rate, stream
from rstream.errors import BackPressured, CodecError, CorruptError, MessageTooLarge
from rstream.stream._internal import sending_of
from rstream.stream._names import header_of
from tests.support import in_thread, until

MIB = 1 << 20
SEED = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
SEGMENTS_MAX = 32
KIND_SEGMENT = 6


def files(driver_dir):
    """The segments of the driver."""
    folder = Path(driver_dir, "publications")
    return sorted(path.name for path in folder.glob("*.*") if path.suffix != ".logbuffer")


@pytest.fixture
def pair(driver_dir, name):
    opened = []

    def open_pair(codec="raw", *, readers=1, reader=None, **options):
        # What is tested are the segments. The log's window, which follows the reader's takings,
        # has room again a moment after them.
        options.setdefault("channel", "aeron:ipc?pub-wnd=512k")
        subs = [
            stream.subscriber(name, codec=codec, dir=driver_dir, **(reader or {}))
            for _ in range(readers)
        ]
        pub = stream.publisher(
            name, codec=codec, dir=driver_dir, linger_s=0, wait_for=readers, **options
        )
        opened.extend([pub, *subs])
        pub.send(np.zeros(1, "u1") if codec != "raw" else b"first")
        for sub in subs:
            sub.get(timeout_s=10)
        return pub, *subs

    yield open_pair
    for one in opened:
        one.close()


def arrays_as_views():
    return codecs.numpy(view=True)


def test_it_lies_once_for_all_readers(pair, driver_dir):
    pub, *subs = pair(readers=4)
    data = random.Random(1).randbytes(3 * MIB + 5)
    before = pub.position
    pub.send(data)
    assert pub.position - before == 64  # the log only says where it lies
    assert len(files(driver_dir)) == 1
    assert pub.statistics()["segment_bytes"] == 4 * MIB
    assert [sub.get(timeout_s=10) for sub in subs] == [data] * 4


def test_a_message_that_was_consumed_gives_its_segment_to_the_next(pair, driver_dir):
    pub, sub = pair()
    for number in range(50):
        pub.send(bytes([number]) * MIB)
        assert sub.get(timeout_s=10)[-1] == number
        assert pub.wait_consumed(timeout_s=10)
    assert len(files(driver_dir)) == 1


def test_a_view_stays_as_it_is_while_others_come_and_go(driver_dir, name):
    """Random sizes; the reader keeps random views, and checks each when it lets go."""
    print(f"RSTREAM_SEED={SEED}")
    dice = random.Random(SEED)
    lengths = [dice.choice((150_000, 300_000, MIB, 3 * MIB, 9 * MIB)) for _ in range(150)]
    kept = []

    def let_go():
        is_old = kept[0][0] < kept[-1][0] - SEGMENTS_MAX // 2  # it holds all that came after it
        number, view = kept.pop(0 if is_old else dice.randrange(len(kept)))
        assert view.size == lengths[number]
        assert hashlib.sha256(view).digest() == sums[number]

    sums = {}
    with (
        stream.subscriber(name, codec=arrays_as_views(), dir=driver_dir) as sub,
        stream.publisher(name, codec="numpy", dir=driver_dir, linger_s=0) as pub,
    ):

        def send():
            for number, length in enumerate(lengths):
                array = np.random.default_rng(number).integers(0, 256, length, dtype="u1")
                sums[number] = hashlib.sha256(array).digest()
                pub.send(array)

        sender = in_thread(send)
        for number in range(len(lengths)):
            kept.append((number, sub.get(timeout_s=30)))
            while len(kept) > 8 or (kept and dice.random() < 0.5):
                let_go()
            while kept and kept[0][0] < number - SEGMENTS_MAX // 2:
                let_go()
        while kept:
            let_go()
        sender.join(10)
        assert pub.statistics()["segment_bytes"] <= 260 * MIB
    until(lambda: files(driver_dir) == [], 30)


@pytest.mark.parametrize("codec", ["raw", "numpy"], ids=["copied", "views"])
def test_a_late_reader_never_gets_a_message_in_the_place_of_another(driver_dir, name, codec):
    """It may begin before messages that all others have consumed, whose segments are used again."""
    reads = "raw" if codec == "raw" else arrays_as_views()
    with (
        stream.subscriber(name, codec=reads, dir=driver_dir) as sub,
        stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0) as pub,
    ):

        def send(number):
            data = number.to_bytes(4, "little") * 50_000
            pub.send(data if codec == "raw" else np.frombuffer(data, "u4"), timeout_s=10)

        number = 0
        for _ in range(30):
            for _ in range(3):
                number += 1
                send(number)
                sub.get(timeout_s=10)
                sub.poll()  # asks for more, so it is consumed
            with stream.subscriber(name, codec=reads, dir=driver_dir) as late:
                until(lambda late=late: late.is_connected)
                number += 1
                send(number)
                got = [0]
                while got[-1] != number:
                    got.append(int.from_bytes(bytes(late.get(timeout_s=10)[:4])[:4], "little"))
                assert got == sorted(set(got)), number
                assert not [one for one in late.events() if isinstance(one, stream.Refused)]
                sub.get(timeout_s=10)
                sub.poll()


def test_views_of_all_segments_hold_the_publisher_which_says_so(pair, caplog):
    pub, sub = pair(arrays_as_views())
    array = np.zeros(MIB, "u1")
    kept = []
    for _ in range(SEGMENTS_MAX):
        pub.send(array, timeout_s=10)
        kept.append(sub.get(timeout_s=10))
    assert pub.offer(array) in (rstream.BACK_PRESSURED, rstream.RATE_LIMITED)
    with pytest.raises(BackPressured):
        pub.send(array, timeout_s=0.1)
    pub.send(np.zeros(5, "u1"), timeout_s=10)  # a short one needs none
    with caplog.at_level(logging.WARNING, "rstream"):
        sender = in_thread(pub.send, array)
        until(lambda: "views that readers keep" in caplog.text)
    kept.clear()
    assert sub.get(timeout_s=10).size == 5
    assert sub.get(timeout_s=10).size == MIB
    sender.join(10)


@pytest.mark.parametrize(
    ("law", "least", "most"),
    [
        (rate.Default(), 1, 3),
        (rate.Adaptive(target_delay_s=0.2), 5, 14),
        (rate.Unlimited(), 15, SEGMENTS_MAX),
    ],
)
def test_the_law_keeps_the_queue_of_a_slow_reader_short(pair, law, least, most):
    """It takes 20 ms for a message: the target delay, or the next message, and not 32 of them."""
    pub, sub = pair(rate=law)
    sender = in_thread(lambda: [pub.send(bytes(MIB)) for _ in range(60)])
    queue = []
    for number in range(1, 61):
        sub.get(timeout_s=10)
        time.sleep(0.02)
        queue.append(pub.statistics()["messages"] - 1 - number)
    sender.join(10)
    assert least <= sorted(queue[10:50])[20] <= most, queue


def test_a_held_publisher_says_so(pair):
    pub, sub = pair()
    for _ in range(2):
        pub.send(bytes(MIB))
    assert pub.held_by is None
    sender = in_thread(pub.send, bytes(MIB))
    until(lambda: pub.held_by == "window")
    assert len(sub.get(timeout_s=10)) == MIB
    while sender.is_alive() or pub.held_by is not None:
        sub.poll()  # it asks for more, so what came before is consumed
    sender.join(10)


@pytest.mark.parametrize("length", [140_000, MIB])
def test_an_offered_message_comes_once(pair, length):
    pub, sub = pair()
    before = pub.statistics()["messages"]
    for number in range(4):
        assert pub.offer(bytes([number]) * length) > 0
        assert sub.get(timeout_s=10)[-1] == number
        assert pub.wait_consumed(timeout_s=10)
    assert sub.poll() == []
    assert pub.statistics()["messages"] - before == 4


def test_an_array_of_64_mib_fits_a_segment(driver_dir, name):
    array = np.random.default_rng(4).integers(0, 256, 64 * MIB, dtype="u1")
    with (
        stream.subscriber(name, codec=arrays_as_views(), dir=driver_dir) as sub,
        stream.publisher(name, codec="numpy", dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(array)
        assert len(files(driver_dir)) == 1
        assert (sub.get(timeout_s=10) == array).all()


def test_memory_is_bounded_and_moves_to_where_it_is_needed(pair):
    pub, sub = pair()
    for _ in range(4):
        pub.send(bytes(60 * MIB))
    assert pub.offer(bytes(60 * MIB)) == rstream.BACK_PRESSURED
    for _ in range(4):
        assert len(sub.get(timeout_s=10)) == 60 * MIB
    assert pub.wait_consumed(timeout_s=10)
    for _ in range(20):
        pub.send(bytes(10 * MIB), timeout_s=10)
    assert pub.statistics()["segment_bytes"] <= 260 * MIB
    for _ in range(20):
        assert len(sub.get(timeout_s=10)) == 10 * MIB
    pub.send(bytes(64 * MIB))
    assert len(sub.get(timeout_s=10)) == 64 * MIB
    assert pub.statistics()["segment_bytes"] <= 260 * MIB


def test_what_is_unread_outlives_its_publisher(driver_dir, name):
    data = random.Random(2).randbytes(2 * MIB)
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        with stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub:
            until(lambda: pub.is_connected)
            pub.send_many([data, data])
        assert [sub.get(timeout_s=10) for _ in range(2)] == [data, data]
    until(lambda: files(driver_dir) == [])


KILLED = """
import os, sys
from rstream import stream
pub = stream.publisher(sys.argv[1], bytes, dir=sys.argv[2])
pub.send(b"first")
pub.send(bytes([7]) * (2 << 20))
os.kill(os.getpid(), 9)
"""


def test_kill_9_of_the_publisher_loses_nothing_that_was_sent(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir, on_lost="event") as sub:
        command = [sys.executable, "-c", KILLED, name, driver_dir]
        with subprocess.Popen(command) as killed:
            assert killed.wait(30) == -signal.SIGKILL
        assert sub.get(timeout_s=10) == b"first"
        assert sub.get(timeout_s=10) == bytes([7]) * (2 * MIB)
        found = []
        until(
            lambda: (
                sub.poll() == []
                and found.extend(sub.events()) is None
                and any(isinstance(event, stream.Lost) for event in found)
            ),
            30,
        )
    until(lambda: files(driver_dir) == [], 30)


def test_after_the_driver_died_it_is_sent_again(make_driver_dir, name):
    driver_dir = make_driver_dir()
    data = random.Random(3).randbytes(2 * MIB)
    with (
        stream.subscriber(name, bytes, dir=driver_dir, on_lost="event") as sub,
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(data)
        assert sub.get(timeout_s=10) == data
        os.kill(rstream._core.driver_info(driver_dir).pid, signal.SIGKILL)
        sender = in_thread(pub.send, data)
        assert sub.get(timeout_s=30) == data
        sender.join(10)
        assert len(files(driver_dir)) == 1


def test_a_law_with_numbers_counts_its_bytes(pair, driver_dir):
    pub, sub = pair(rate=rate.Fixed("20MB/s"))
    sender = in_thread(pub.send, bytes(4 * MIB))
    began_s = time.monotonic()
    assert len(sub.get(timeout_s=30)) == 4 * MIB
    assert time.monotonic() - began_s > 0.1
    sender.join(10)
    assert files(driver_dir) == []


def test_too_long_for_its_reader(pair):
    pub, sub = pair(reader={"max_message_length": 200_000})
    pub.send(bytes(200_001))
    pub.send(b"behind")
    with pytest.raises(
        MessageTooLarge, match="message of 200001 bytes in shared segment 0: longer than"
    ):
        while True:
            assert sub.poll() in ([], [b"behind"])


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (struct.pack("<qii", 0, 0, 1), "its parts contradict"),
        (struct.pack("<qii", MIB, SEGMENTS_MAX, 1), "its parts contradict"),
        (struct.pack("<qii", MIB, -1, 1), "its parts contradict"),
        (struct.pack("<qii", (65 << 20) + 1, 0, 1), "its parts contradict"),
        (struct.pack("<qii", MIB, 0, 0), "its parts contradict"),
        (b"short", "its parts contradict"),
        (struct.pack("<qii", MIB, 5, 1), "cannot map it"),
    ],
)
def test_a_place_that_cannot_be_is_told_and_passed_over(driver_dir, name, payload, text):
    header = header_of(KIND_SEGMENT, 1, name)
    with (
        stream.subscriber(name, codec="raw", dir=driver_dir) as sub,
        rstream.Client(dir=driver_dir) as client,
    ):
        pub = client.add_publication(str(Channel.ipc(name=name)), sub.stream_id)
        until(lambda: pub.is_connected)
        assert pub.core.offer(payload, header) > 0
        assert pub.core.offer(b"behind", header_of(0, 1, name)) > 0
        assert sub.get(timeout_s=10) == b"behind"
        with pytest.raises(CodecError, match=text):
            sub.poll()


def test_a_segment_of_another_length_is_not_read(driver_dir, name):
    header = header_of(KIND_SEGMENT, 1, name)
    with (
        stream.subscriber(name, codec="raw", dir=driver_dir) as sub,
        rstream.Client(dir=driver_dir) as client,
    ):
        pub = client.add_publication(str(Channel.ipc(name=name)), sub.stream_id)
        until(lambda: pub.is_connected)
        Path(driver_dir, "publications", f"{pub.core.registration_id}.0").write_bytes(bytes(MIB))
        assert pub.core.offer(struct.pack("<qii", MIB, 0, 1), header) > 0
        with pytest.raises(
            CorruptError, match="shared segment 0: another program has cut it short"
        ):
            while True:
                assert sub.poll() == []


def test_a_segment_is_offered_once(pair):
    pub, sub = pair()
    core = sending_of(pub).session.core
    number = core.fill_segment([b"ab", b"cd"])
    assert core.offer_segment(number, sending_of(pub).state.header) > 0
    assert core.offer_segment(number, sending_of(pub).state.header) == -6
    assert core.offer_segment(31, sending_of(pub).state.header) == -6
    core.drop_segment(number)
    assert core.fill_segment([bytes((65 << 20) + 1)]) == -6
    assert sub.get(timeout_s=10) == b"abcd"
