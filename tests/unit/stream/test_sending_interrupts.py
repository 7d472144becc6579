"""A handler raises at each place of a sending call: nothing is sent twice or in halves, all that is
sent is counted, and all threads go on.

After each interrupt another thread sends a mark, and what the reader got before it shows what the
interrupted call has sent.
"""

from __future__ import annotations

import itertools
import time
from contextlib import suppress

import pytest

from rstream import rate, stream
from rstream.errors import BackPressured, RemoteError
from rstream.stream import Gap, Rejected
from tests.interrupts import at_each_check, at_each_place
from tests.support import free_port, in_thread, is_all_on_the_network, until

LARGE = 200_000  # in parts, or in a segment, where a term has 1 MiB
MARK = b"mark"
UDP = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=1m"
MEDIA = {"ipc": "aeron:ipc?term-length=1m", "udp": UDP}

# An interrupt in a __del__ is printed by Python, and ends nothing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def body(number, length):
    return number.to_bytes(4, "big") * (length // 4)


class Ends:
    """A publisher and a reader that stay in use.

    Attributes:
        items: what the next call is to send.
    """

    def __init__(self, pub, sub):
        self.pub, self.sub = pub, sub
        self.items = []
        self._shape = 0, 4
        self._number = self._sent = 0

    def begin(self, count, length):
        self._shape = count, length
        self.items = [body(self._number + at, length) for at in range(count)]
        self._number += count

    def check(self, where):
        """What came is a beginning of what was to come; it is counted, and other threads send."""
        failed = []

        def send_mark():
            try:
                self.pub.send(MARK, timeout_s=5)
            except Exception as error:
                failed.append(error)

        thread = in_thread(send_mark)
        thread.join(0.01)  # else the reader has to make room first
        got = []
        while MARK not in got:
            assert not failed, (where, failed)
            got += self.sub.poll()
            self.sub.wait(0.01)
        thread.join(10)
        assert not thread.is_alive(), f"hangs after {where}"
        came, items = got[:-1], self.items
        self._sent += len(got)
        self.begin(*self._shape)
        assert came == items[: len(came)], (where, len(came))
        counted = self.pub.statistics()["messages"]
        assert counted == self._sent, (where, len(came), counted)
        assert self.pub.progress is None, where
        for event in self.sub.events():
            is_right = not isinstance(event, Gap) or ("gave it up" in event.reason and not came)
            assert is_right, (where, event)


@pytest.fixture
def open_ends(name, driver_dir):
    opened = []

    def open_them(channel, **options):
        pub = stream.publisher(name, bytes, channel=channel, dir=driver_dir, linger_s=0)
        opened.append(pub)
        sub = stream.subscriber(name, bytes, channel=channel, dir=driver_dir)
        opened.append(sub)
        until(lambda: pub.is_connected)
        return Ends(pub, sub)

    yield open_them
    for one in opened:
        one.close()


def send(pub, items):
    for item in items:
        pub.send(item, timeout_s=5)


def send_untimed(pub, items):
    for item in items:
        pub.send(item)


def offer(pub, items):
    for item in items:
        while pub.offer(item) < 0:
            pass


def send_many(pub, items):
    pub.send_many(items, timeout_s=5)


def send_each(pub, items):
    pub.send_many(iter(items), timeout_s=5)


# How many messages: the short way of send and offer has places in each 64th only.
# And each how manieth place is tried.
FACES = {
    "send": (send, 3, 2),
    "send untimed": (send_untimed, 80, 1),
    "offer": (offer, 80, 1),
    "send_many": (send_many, 5, 3),
    "send_many of an iterator": (send_each, 3, 2),
}


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("face", FACES)
def test_an_interrupt_at_any_place_of_sending(open_ends, face, medium, again):
    send_items, count, step = FACES[face]
    ends = open_ends(MEDIA[medium])
    ends.begin(count, 8)
    places = at_each_place(
        lambda: send_items(ends.pub, ends.items), ends.check, again=again, step=step
    )
    assert places >= 5


@pytest.mark.parametrize("again", [0, 1, 3], ids=["once", "twice", "twice in the end of it"])
@pytest.mark.parametrize("call", [send, offer, send_many], ids=["send", "offer", "send_many"])
@pytest.mark.parametrize("way", ["segment", "parts", "udp"])
def test_an_interrupt_at_any_place_of_a_large_message(open_ends, request, way, call, again):
    if way == "parts":
        request.getfixturevalue("in_parts")
    ends = open_ends(MEDIA["udp" if way == "udp" else "ipc"])
    ends.begin(1, LARGE)
    places = at_each_place(lambda: call(ends.pub, ends.items), ends.check, again=again, step=11)
    assert places >= 10


def fill(pub):
    """Leave no room; returns how many were sent."""
    count = 0
    while pub.offer(bytes(4000)) > 0:
        count += 1
    return count


@pytest.mark.parametrize("search", [at_each_place, at_each_check], ids=["places", "looks"])
def test_an_interrupted_wait_for_room_leaves_it_to_other_threads(open_ends, search):
    ends = open_ends(MEDIA["ipc"].replace("1m", "64k"))
    pub, sub = ends.pub, ends.sub
    fill(pub)

    def wait():
        with suppress(BackPressured):
            pub.send(MARK, timeout_s=0.06)

    def after(where):
        """The thread wakes when there is room, not at the end of a slice of its wait."""
        waits = pub.statistics()["waits"]
        thread = in_thread(pub.send, b"next")
        until(lambda: pub.statistics()["waits"] > waits)
        began_s = time.monotonic()
        got = []
        while b"next" not in got:
            got += sub.poll()
            assert time.monotonic() - began_s < 5, where
            sub.wait(0.01)
        assert time.monotonic() - began_s < 0.4, where
        thread.join(5)
        assert not thread.is_alive(), where
        assert MARK not in got, where
        fill(pub)

    if search is at_each_check:
        assert at_each_check(wait, after) >= 1
    else:
        assert at_each_place(wait, after, step=9) >= 10


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_an_interrupted_wait_for_the_readers_is_made_again(open_ends, medium):
    ends = open_ends(MEDIA[medium])
    ends.pub.send(b"unread")

    def wait():
        ends.pub.wait_consumed(timeout_s=0.001)

    def after(where):
        done = []
        thread = in_thread(lambda: done.append(ends.pub.wait_consumed(timeout_s=5)))
        ends.sub.get(timeout_s=5)
        thread.join(5)
        assert done == [True], where
        ends.pub.send(b"unread")

    assert at_each_place(wait, after, step=3) >= 5


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_an_interrupted_look_at_the_readers_tells_each_event_once(name, driver_dir, medium):
    """A reader comes, takes one of two messages, and leaves with an error."""
    options = {"channel": MEDIA[medium], "dir": driver_dir}
    wanted = ["Connected", "Disconnected", *(["Gap"] if medium == "udp" else []), "Rejected"]
    pub, news = None, []

    def begin():
        nonlocal pub
        pub = stream.publisher(name, bytes, linger_s=0, **options)
        news.clear()
        with stream.subscriber(name, bytes, **options) as sub:
            until(lambda: pub.is_connected)
            pub.send(b"1")
            pub.send(b"2")
            assert sub.get(timeout_s=5) == b"1"
            if medium == "udp":
                until(lambda: is_all_on_the_network(pub, driver_dir))  # else no gap is told
            sub.fail("as said")
        until(lambda: not pub.is_connected)

    def look():
        nonlocal news
        news += pub.events()

    def after(where):
        until(lambda: look() or any(isinstance(one, Rejected) for one in news), 5)
        assert sorted(type(one).__name__ for one in news) == wanted, where
        pub.close()
        begin()

    begin()
    assert at_each_place(look, after, step=1 if medium == "ipc" else 9) >= 3
    pub.close()


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("end", ["close", "fail"])
def test_an_interrupted_end_is_told_once_and_can_be_made_again(
    name, driver_dir, medium, end, again
):
    pub = sub = None

    def begin():
        nonlocal pub, sub
        options = {"channel": MEDIA[medium], "dir": driver_dir}
        sub = stream.subscriber(name, bytes, **options)
        pub = stream.publisher(name, bytes, linger_s=0.001, **options)
        until(lambda: pub.is_connected)
        pub.send_many([b"1", b"2", b"3"])

    def call():
        pub.close() if end == "close" else pub.fail("as said")

    def after(where):
        threads = [in_thread(pub.close), in_thread(pub.close)]
        for thread in threads:
            thread.join(5)
            assert not thread.is_alive(), f"hangs after {where}"
        assert pub.is_closed, where
        assert not pub.has_session, where
        got = []
        with sub, suppress(RemoteError):  # PublisherLost is none
            for item in sub:
                got.append(item)  # noqa: PERF402 - kept when it raises
        assert got == [b"1", b"2", b"3"], where
        begin()

    begin()
    assert at_each_place(call, after, again=again, step=3) >= 10
    pub.close()
    sub.close()


@pytest.mark.parametrize("search", [at_each_place, at_each_check], ids=["places", "looks"])
@pytest.mark.parametrize("medium", MEDIA)
def test_an_interrupted_change_of_the_rate_is_made_again(open_ends, medium, search):
    ends = open_ends(MEDIA[medium])
    limits = itertools.cycle([rate.Fixed("40MB/s"), rate.Fixed("50MB/s")])

    def change():
        ends.pub.set_rate(next(limits), timeout_s=5)

    def after(where):
        limit = next(limits)
        thread = in_thread(lambda: ends.pub.set_rate(limit, timeout_s=5))
        thread.join(10)
        assert not thread.is_alive(), where
        assert limit.to_text() in ends.pub.channel, where
        ends.pub.send(MARK, timeout_s=5)
        assert ends.sub.get(timeout_s=5) == MARK, where

    assert search(change, after) >= (20 if search is at_each_place else 1)
