"""A handler raises at each place of a poll of a policy's queue: nothing is lost or comes twice."""

from __future__ import annotations

from contextlib import suppress

import pytest

import rstream
from rstream import policy, stream
from rstream.errors import ReadTimeout
from tests.interrupts import at_each_place
from tests.support import in_thread, until

COUNT = 12

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

POLICIES = {
    "buffer": policy.Buffer(100),
    "drop oldest": policy.DropOldest(100),
    "drop newest": policy.DropNewest(100),
    "fail": policy.Fail(100),
    "latest": policy.Latest(key=lambda item: item, keys_max=100),
}


def get(sub, got):
    got.append(sub.get(timeout_s=5))
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
        if len(got) == COUNT:
            return


FACES = {"get": get, "poll": poll, "for": loop, "batches": batches}


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("on_slow", POLICIES)
def test_an_interrupted_poll_of_a_queue_loses_nothing(name, driver_dir, on_slow, face, again):
    with (
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
        rstream.subscriber(name, on_slow=POLICIES[on_slow], dir=driver_dir) as sub,
    ):
        got = []
        first = 0

        def begin():
            nonlocal first
            got.clear()
            first += COUNT
            pub.send_many(range(first, first + COUNT), timeout_s=5)
            until(lambda: sub.statistics()["waiting"] == COUNT)

        def after(where):
            def read_on():
                with suppress(ReadTimeout):
                    while len(got) < COUNT:
                        got.append(sub.get(timeout_s=1))

            thread = in_thread(read_on)
            thread.join(10)
            assert not thread.is_alive(), where
            assert got == list(range(first, first + COUNT)), where
            begin()

        begin()
        assert at_each_place(lambda: FACES[face](sub, got), after, again=again) >= 20
