"""A pool: each item to one member, and to another one if that is lost."""

from __future__ import annotations

import contextlib
import gc
import threading
import time

import pytest

import rstream
from rstream.errors import BackPressured, ClosedError, ConfigError, MessagesLost, NotConnected
from rstream.ray import Group, MemberLost, Pool, WorkItem, reader
from rstream.work import Unfinished
from tests.support import in_thread, until


@pytest.fixture
def far_dir(make_driver_dir):
    """The directory of a driver on "another host"."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        yield far.dir


@pytest.fixture
def members(driver_dir):
    """Opens members that are closed at the end."""
    with contextlib.ExitStack() as stack:

        def open_member(**options):
            end = reader(dir=driver_dir, share="work", **options)
            stack.callback(end.close)
            return end

        yield open_member


def collecting(end, pause_s=0.0):
    got = []

    def take(work):
        time.sleep(pause_s)
        got.append(work)

    end.start(take)
    return got


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("prefetch", [1, 16])
def test_each_item_goes_to_one_member(members, medium, prefetch, far_dir):
    ends = [members() for _ in range(3)]
    got = [collecting(end) for end in ends]
    place = far_dir if medium == "udp" else None
    handles = [end.handle for end in ends]
    with Pool(handles, prefetch=prefetch, driver_dir=place) as pool:
        assert [pool.send(number) for number in range(60)] == list(range(1, 61))
        assert pool.wait_consumed(timeout_s=20)
        assert pool.statistics() == {
            "sent": 60,
            "members": 3,
            "unconsumed": 0,
            "redelivered": 0,
            "unfinished": 0,
        }
    assert sorted(work.item for one in got for work in one) == list(range(60))
    assert all(got)
    assert not any(work.is_redelivered for one in got for work in one)


def test_free_demand_decides_who_gets_an_item(members):
    slow, fast = members(), members()
    got_slow, got_fast = collecting(slow, 0.1), collecting(fast, 0.005)
    with Pool([slow.handle, fast.handle]) as pool:
        for number in range(40):
            pool.send(number)
    assert len(got_slow) + len(got_fast) == 40
    assert len(got_fast) > 2 * len(got_slow) > 0


def test_an_item_waits_while_no_member_has_free_demand(members):
    end = members()
    gate = threading.Event()
    got = []
    end.start(lambda work: (gate.wait(20), got.append(work.item)))
    with Pool([end.handle], prefetch=2) as pool:
        pool.send("a")
        pool.send("b")
        with pytest.raises(BackPressured, match="larger prefetch"):
            pool.send("c", timeout_s=0.1)
        gate.set()
        pool.send("c")
    assert got == ["a", "b", "c"]


def test_what_a_member_had_that_failed_goes_to_another_one_marked(members):
    bad, good = members(), members()
    has_begun = threading.Event()

    def fails(work):
        has_begun.set()
        raise ValueError("cannot do this")

    got = []
    with Pool() as pool:
        bad.start(fails)
        pool.add(bad.handle)
        pool.send("first")
        assert has_begun.wait(20)
        got = collecting(good)
        pool.add(good.handle)
        pool.send("second")
        assert pool.wait_consumed(timeout_s=20)
        assert pool.statistics()["redelivered"] == 1
    assert sorted((work.item, work.is_redelivered) for work in got) == [
        ("first", True),
        ("second", False),
    ]


def test_a_member_that_stays_away_is_dropped_and_named(members):
    end, other = members(), members()
    got = collecting(other)
    gate = threading.Event()
    end.start(lambda work: gate.wait(20))
    handles = [end.handle, other.handle]
    with Pool([end.handle], connect_timeout_s=0.3) as pool:
        pool.send("held")
        pool.add(other.handle)
        threading.Timer(0.2, gate.set).start()
        in_thread(end.close)
        until(lambda: pool.members == [other.handle])
        assert pool.wait_consumed(timeout_s=20)
        (event,) = pool.events()
        assert isinstance(event, MemberLost)
        assert event.handle == handles[0]
        assert "no reader for 0.3 s" in event.reason
    assert [work.item for work in got] in (["held"], [])  # else the first one was done with it


def test_an_item_that_members_fail_with_is_set_aside(members):
    ends = [members() for _ in range(3)]
    got = []

    def take(work):
        if work.item == "poison":
            raise ValueError("ends its member")
        got.append(work.item)

    for end in ends:
        end.start(take)
    with Pool([end.handle for end in ends], connect_timeout_s=20) as pool:
        for item in ("a", "poison", "b", "c"):
            pool.send(item)
        assert pool.wait_consumed(timeout_s=20)
        (left,) = [event for event in pool.events() if isinstance(event, Unfinished)]
        assert (left.item, left.reader_losses) == ("poison", 2)
        assert pool.statistics()["unfinished"] == 1
    assert sorted(got) == ["a", "b", "c"]


@pytest.mark.parametrize("option", ["linger_s", "connect_timeout_s"])
def test_a_negative_time_out_is_refused(members, option):
    with pytest.raises(ConfigError, match=f"{option}=-1: must be a number of seconds, 0 or more"):
        Pool([members().handle], **{option: -1})


def test_a_block_does_not_end_as_if_all_were_done(members):
    end = members()
    gate = threading.Event()
    end.start(lambda _: gate.wait(20))
    with pytest.raises(MessagesLost, match="1 of 1 messages"):
        with Pool([end.handle], linger_s=0.05) as pool:
            pool.send("held")
    gate.set()
    (left,) = pool.events()
    assert left.item == "held"


def test_a_member_that_is_removed_does_what_it_has(members):
    end, other = members(), members()
    got, gate = [], threading.Event()
    end.start(lambda work: (gate.wait(20), got.append(work)))
    others = collecting(other)
    with Pool([end.handle]) as pool:
        pool.send(1)
        pool.remove(end.handle)
        pool.remove(end.handle)
        assert pool.members == []
        pool.add(other.handle)
        pool.send(2)
        assert not pool.wait_consumed(timeout_s=0.1)
        gate.set()
        assert pool.wait_consumed(timeout_s=20)
    assert [got, others] == [[WorkItem(1, 1)], [WorkItem(2, 1)]]


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_a_group_that_is_dropped_ends_its_thread(members):
    end = members(name="dropped-pool")
    pool = Pool([end.handle])
    pool.send(1)
    threads = {one for one in threading.enumerate() if "work-dropped-pool" in one.name}
    assert threads
    del pool
    gc.collect()
    until(lambda: not threads & set(threading.enumerate()))


def test_no_member(members):
    with Pool(connect_timeout_s=0.1) as pool:
        with pytest.raises(NotConnected, match="no member"):
            pool.send(1)
        end = members()
        handle = end.handle
        end.close()
        pool.add(handle)
        with pytest.raises(NotConnected, match="members"):
            pool.send(1)
    with pytest.raises(ClosedError):
        pool.send(1)


def test_both_ends_share_work_or_none(members, driver_dir):
    with reader(dir=driver_dir) as plain:
        with pytest.raises(ConfigError, match="share='all'"):
            Pool([plain.handle])
        with pytest.raises(ConfigError, match="share='work'"):
            Group([members().handle])
    handle = members().handle
    assert rstream.ray.StreamHandle.from_text(str(handle)) == handle
    with pytest.raises(ConfigError, match="shares work"):
        handle.publisher()


@pytest.mark.parametrize(
    "options", [{"share": "work"}, {"share": "all"}, {"prefetch": 2}], ids=repr
)
def test_a_group_names_the_pool(options):
    """``Group(share="work")`` was the spelling of before 0.1.0."""
    with pytest.raises(ConfigError, match="each item to all members") as refused:
        Group(**options)
    assert "rstream.ray.Pool(handles" in refused.value.hint


@pytest.mark.parametrize("prefetch", [0, -1, True])
def test_a_prefetch_is_a_count(prefetch):
    with pytest.raises(ConfigError, match="prefetch"):
        Pool(prefetch=prefetch)


def test_arguments_of_the_reader(driver_dir):
    with pytest.raises(ConfigError, match="Latest"):
        reader(dir=driver_dir, share="work", on_slow=rstream.policy.Latest())
    with pytest.raises(ConfigError, match="share"):
        reader(dir=driver_dir, share="one")
