"""A handler raises at each place of the blocking calls of endpoints and groups, without Ray."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path

import pytest

from rstream._session import _links
from rstream.errors import ReadTimeout
from rstream.ray import Group, MemberLost, Missed, reader
from rstream.stream import _blocks
from tests.interrupts import PACKAGE, at_each_place
from tests.support import free_port, in_thread, until

COUNT = 20

# What an interrupted constructor had opened is closed by the collector, which says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def links_of(directory):
    return [shared for (_, path), shared in _links._links.items() if path == directory]


def ends_soon(call, where):
    """Another thread makes the call, and has its result in time."""
    results = []
    failed = []

    def run():
        try:
            results.append(call())
        except BaseException as error:
            failed.append(error)

    thread = in_thread(run)
    thread.join(10)
    assert not thread.is_alive(), f"hangs after {where}"
    assert not failed, (where, failed)
    return results[0]


@pytest.mark.parametrize("udp", [False, True], ids=["ipc", "udp"])
def test_an_interrupted_opening_leaves_nothing(driver_dir, udp):
    made = []

    def call():
        made.append(reader(dir=driver_dir, udp=udp))
        made[-1].close()
        made.clear()

    def after(where):
        while made:
            made.pop().close()
        gc.collect()
        assert not links_of(driver_dir), where

    call()
    places = at_each_place(call, after, step=41)
    print(f"{places} places")
    assert places >= 5


def test_an_interrupted_loop_loses_nothing(driver_dir):
    got = []
    with reader(dir=driver_dir, udp=False) as end, end.handle.publisher(linger_s=0) as pub:

        def begin():
            got.clear()
            pub.send_many(range(COUNT), timeout_s=5)

        def loop():
            for item in end:
                got.append(item)
                if len(got) == COUNT:
                    return

        def after(where):
            def read_on():
                with suppress(ReadTimeout):
                    while len(got) < COUNT:
                        got.append(end.source.get(timeout_s=1))

            ends_soon(read_on, where)
            assert got == list(range(COUNT)), where
            begin()

        begin()
        places = at_each_place(loop, after)
        print(f"{places} places")
        assert places >= 40


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize("end_by", ["close", "finish"])
def test_an_interrupted_life_in_the_background_can_be_ended(driver_dir, end_by, again):
    """It reads when ``start`` returned; else it can be closed, and its writers wait for nobody."""
    got, ends, made = [], [], []

    def call():
        made.append(reader(dir=driver_dir, udp=False))
        with made[-1].handle.publisher() as pub:
            try:
                made[-1].start(got.append, on_end=ends.append)
            except RuntimeError:  # of threading, which does not bear an interrupt everywhere
                return
            pub.send_many(range(3), timeout_s=5)
            assert pub.wait_consumed(timeout_s=5)
        if end_by == "close":
            made[-1].close()
        else:
            made[-1].finish(5)
        assert ends == [None]

    def after(where):
        while made:
            end = made.pop()
            ends_soon(end.close, where)
            assert end.is_closed, where
            assert end.source.is_closed, where
            until(lambda loop=end._loop: loop is None or not loop.thread.is_alive(), 5)
        assert got == list(range(len(got))), where
        gc.collect()
        assert not links_of(driver_dir), where
        got.clear()
        ends.clear()

    call()
    after("the start")
    places = at_each_place(call, after, step=41, again=again, below=True)
    print(f"{places} places")
    assert places >= 5


def block_files(driver_dir):
    paths = Path(driver_dir, "publications").glob("[0-9]*.[0-9]*")
    return [path.name for path in paths if int(path.suffix[1:]) >= _blocks.NUMBER_MIN]


@pytest.fixture
def members(driver_dir):
    ends = [reader(dir=driver_dir, udp=False, codec="raw") for _ in range(2)]
    yield ends
    for end in ends:
        end.close()


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize("length", [8, 200_000], ids=["small", "block"])
def test_an_interrupted_send_of_a_group(driver_dir, members, length, again):
    """Each member has each item once, or is told to have missed it; no block is left."""
    descriptors = len(os.listdir("/proc/self/fd"))
    number = 0
    with Group([end.handle for end in members], linger_s=0) as group:

        def send():
            nonlocal number
            for _ in range(3):
                number += 1
                group.send(number.to_bytes(4, "big") * (length // 4), timeout_s=5)

        def after(where):
            """The last one comes, and what is missing before it was told."""
            nonlocal number
            number += 1
            last = ends_soon(lambda: group.send(b"last", timeout_s=5), where)
            events = group.events()
            assert not any(isinstance(event, MemberLost) for event in events), where
            came = [[], []]
            for at, end in enumerate(members):
                while b"last" not in came[at]:
                    came[at].append(bytes(end.source.get(timeout_s=5)))
                end.source.poll()
            counts = [len(items) for items in came]
            missed = [
                sum(
                    event.last - event.first + 1
                    for event in events
                    if isinstance(event, Missed) and event.handle == end.handle
                )
                for end in members
            ]
            sent, after.last = last - after.last, last
            assert [count + more for count, more in zip(counts, missed, strict=True)] == [
                sent,
                sent,
            ], (where, counts, missed, sent)
            assert group.wait_consumed(timeout_s=5), where
            assert group.statistics()["unconsumed"] == 0, where
            assert len(block_files(driver_dir)) <= _blocks.KEPT_MOST, where

        after.last = 0
        send()
        after("the start")
        places = at_each_place(send, after, step=3 if length > 8 else 1, again=again)
        print(f"{places} places")
        assert places >= 50
    gc.collect()
    assert not block_files(driver_dir)
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 20


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
def test_an_interrupted_life_of_a_group(driver_dir, members, again):
    """Its streams are complete when it is closed again, in another thread too."""
    made = []

    def call():
        made.append(Group(linger_s=0.001))
        for end in members:
            made[-1].add(end.handle)
        made[-1].send(b"x", timeout_s=5)
        made[-1].remove(members[0].handle)
        made[-1].close()
        made.clear()

    def after(where):
        while made:
            group = made.pop()
            ends_soon(group.close, where)
            assert group.members == [], where
        gc.collect()
        for end in members:
            end.source.poll()
        (shared,) = links_of(driver_dir)
        assert shared.users == len(members), where

    call()
    after("the start")
    places = at_each_place(call, after, step=11, again=again)
    print(f"{places} places")
    assert places >= 20


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
def test_an_interrupted_failure_frees_its_port(driver_dir, again):
    """Its writers are told the error when it was told; its place is free when it is closed."""
    port, made = free_port(), []

    def call():
        made.append(reader(dir=driver_dir, port=port))
        with pytest.raises(ValueError, match="a bug"), made[-1]:
            raise ValueError("a bug")
        made[-1].close()
        made.clear()

    def after(where):
        while made:
            ends_soon(made.pop().close, where)
        gc.collect()
        assert not links_of(driver_dir), where
        reader(dir=driver_dir, port=port).close()

    call()
    after("the start")
    places = at_each_place(call, after, step=11, again=again, package=f"{PACKAGE}/ray")
    print(f"{places} places")
    assert places >= 5
