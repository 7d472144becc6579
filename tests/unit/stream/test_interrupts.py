"""A handler raises at each place of a reading call: nothing is lost or doubled, and all goes on.

The numbers that are sent count up, so what has come shows what is missing.
"""

from __future__ import annotations

import pytest

from rstream import stream
from rstream.stream._internal import reading_of
from tests.interrupts import at_each_check, at_each_place
from tests.support import in_thread

COUNT = 40

# CPython prints and drops what a handler raises while a generator ends that nobody holds any more.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def get_two(sub, got):
    for _ in range(2):
        got.append(sub.get(timeout_s=5))


def poll(sub, got):
    while len(got) < COUNT:
        got += sub.poll(7)


def loop(sub, got):
    for item in sub:
        got.append(item)
        if len(got) == COUNT:
            return


def batches(sub, got):
    for items in sub.batches():
        got += items
        if len(got) >= COUNT:
            return


FACES = {"get": get_two, "poll": poll, "for": loop, "batches": batches}


class Ends:
    """A publisher and a reader that stay in use; what came since the last round began."""

    def __init__(self, pub, sub):
        self.pub, self.sub = pub, sub
        self.got = []
        self.begin()

    def begin(self):
        self.got.clear()
        self.pub.send_many(range(COUNT), timeout_s=5)

    def check(self, where):
        """Another thread reads the rest: the reader is free, and everything has come once."""
        failed = []

        def read_on():
            try:
                while len(self.got) < COUNT:
                    self.got.append(self.sub.get(timeout_s=2))
            except Exception as error:
                failed.append(error)

        thread = in_thread(read_on)
        thread.join(10)
        assert not thread.is_alive(), f"hangs after {where}"
        assert not failed, (where, failed, self.got)
        assert self.got == list(range(COUNT)), where
        self.begin()


@pytest.fixture
def ends(name, driver_dir):
    with (
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
        stream.subscriber(name, dir=driver_dir) as sub,
    ):
        yield Ends(pub, sub)


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_an_interrupt_at_any_place_of_reading_loses_nothing(ends, face, again):
    places = at_each_place(lambda: face(ends.sub, ends.got), ends.check, again=again)
    print(f"{places} places")
    assert places > 50


def test_what_an_interrupted_poll_has_left_comes_once(ends):
    def check(where):
        while len(ends.got) < COUNT:
            ends.got.extend(next(ends.sub.batches()))
        assert reading_of(ends.sub).poll_held(None) == [], where
        assert ends.got == list(range(COUNT)), where
        ends.begin()

    assert at_each_place(lambda: batches(ends.sub, ends.got), check) > 50


def test_an_interrupt_at_any_look_of_a_wait_loses_nothing(ends):
    ends.check("the start")

    def wait():
        while len(ends.got) < COUNT:
            ends.got.append(ends.sub.get(timeout_s=2))
        ends.sub.wait(0.25)

    assert at_each_check(wait, ends.check) > 0


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_an_interrupt_leaves_to_the_next_reader_what_was_not_given(name, driver_dir, face):
    """The reader is closed right after the interrupt: no place counts what nobody was given."""
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        got, subs = [], []

        def reopen():
            subs.append(stream.subscriber(name, dir=driver_dir))
            pub.send_many(range(COUNT), timeout_s=5)

        def check(where):
            subs.pop().close()
            # What the program was given and not noted is one call's at most.
            with stream.subscriber(name, dir=driver_dir) as next_one:
                left = []
                pub.send(COUNT, timeout_s=5)
                while COUNT not in left:
                    left.append(next_one.get(timeout_s=2))
            assert got + left == list(range(COUNT + 1)), where
            got.clear()
            reopen()

        reopen()
        assert at_each_place(lambda: face(subs[-1], got), check, step=3) > 10
        subs.pop().close()


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_an_interrupt_leaves_to_the_next_reader_of_each_channel_its_own(name, driver_dir, face):
    channels = [f"aeron:ipc?term-length=64k|session-id={number}" for number in (101, 102)]
    pubs = [stream.publisher(name, channel=one, dir=driver_dir, linger_s=0) for one in channels]
    got, subs = [], []

    def reopen():
        subs.append(stream.reader(name, channels=channels, dir=driver_dir))
        for at, pub in enumerate(pubs):
            pub.send_many([(at, number) for number in range(COUNT // 2)], timeout_s=5)

    def check(where):
        subs.pop().close()
        with stream.reader(name, channels=channels, dir=driver_dir) as next_one:
            for at, pub in enumerate(pubs):
                pub.send((at, None), timeout_s=5)
            left = []
            while sum(number is None for _, number in left) < 2:
                left.append(next_one.get(timeout_s=2))
        for at in range(2):
            came = [number for place, number in got + left if place == at]
            assert came == [*range(COUNT // 2), None], (where, at)
        got.clear()
        reopen()

    reopen()
    places = at_each_place(lambda: face(subs[-1], got), check)
    print(f"{places} places")
    assert places >= 30
    subs.pop().close()
    for pub in pubs:
        pub.close()
