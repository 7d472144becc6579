"""One writer, many handles: who gets what, who holds whom, and what lies where."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

import pytest

import rstream
from rstream.errors import BackPressured, ClosedError, CodecError, ConfigError, NotConnected
from rstream.ray import Group, MemberBack, MemberLost, Missed, Pool, _open, reader
from rstream.stream import Refused, _blocks
from rstream.stream._publisher import send_encoded
from tests.support import in_thread, until

LARGE = 1 << 20
#: Who sends to readers with this ``share``.
KINDS = {"all": Group, "work": Pool}


@pytest.fixture
def far_dir(make_driver_dir):
    """The directory of a driver on "another host"."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        yield far.dir


@pytest.fixture
def ends(driver_dir):
    """Opens endpoints that are closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(reader(dir=driver_dir, **options))


def collecting(end):
    got = []
    end.start(got.append)
    return got


def block_files(driver_dir):
    """The names of blocks; segments and logs lie beside them."""
    paths = Path(driver_dir, "publications").glob("[0-9]*.[0-9]*")
    return [path.name for path in paths if int(path.suffix[1:]) >= _blocks.NUMBER_MIN]


# ---- members ----


@pytest.mark.parametrize("share", ["all", "work"])
def test_a_handle_twice_is_refused(ends, share):
    with pytest.raises(ConfigError, match="handles 0 and 1 of the list"):
        KINDS[share]([ends(share=share).handle] * 2)
    with pytest.raises(ConfigError, match="handles 0 and 1 of the list"):
        Group(flow_control="tagged", tagged=[ends().handle] * 2)


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_each_member_gets_everything_in_order(ends, medium, far_dir):
    members = [ends() for _ in range(3)]
    got = [collecting(end) for end in members]
    place = far_dir if medium == "udp" else None
    with Group([end.handle for end in members], driver_dir=place) as group:
        assert [group.send(number) for number in range(2000)] == list(range(1, 2001))
    assert got == [list(range(2000))] * 3


def test_members_come_and_go(ends):
    first, second = ends(), ends()
    got = collecting(first), collecting(second)
    with Group([first.handle]) as group:
        group.send("a")
        group.add(second.handle)
        group.add(second.handle)
        assert group.members == [first.handle, second.handle]
        group.send("b")
        assert group.wait_consumed(timeout_s=20)
        group.remove(first.handle)
        group.remove(first.handle)
        group.send("c")
    assert got == (["a", "b"], ["b", "c"])
    assert group.events() == []
    with pytest.raises(ClosedError):
        group.send("d")


def test_a_dead_member_is_dropped_and_named_and_the_others_go_on(ends):
    good, dead = ends(), ends()
    got = collecting(good)
    with Group([dead.handle, good.handle], connect_timeout_s=0.2) as group:
        group.send(1)
        dead.close()
        until(lambda: group.send(2) and len(group.members) == 1)
        (event,) = group.events()
        assert isinstance(event, MemberLost)
        assert event.handle == dead.handle
        assert event.number == 1  # nobody has read it there
        assert "0.2 s" in event.reason
        assert group.members == [good.handle]
        sent = group.statistics()["sent"]
    assert got == [1] + [2] * (sent - 1)


@pytest.mark.parametrize("share", ["all", "work"])
def test_a_dropped_member_that_comes_back_is_taken_back(ends, monkeypatch, share):
    """Ray restarts its actor when the group waits no more."""
    good, late = ends(share=share), ends(name="late", share=share)
    collecting(good)
    with KINDS[share]([good.handle, late.handle], connect_timeout_s=0.2) as group:
        late.close()
        until(lambda: group.send(1) and group.members == [good.handle])
        with monkeypatch.context() as patch:
            patch.setattr(_open, "new_stream_id", lambda: late.handle.stream_id)
            again = ends(
                name="late", share=share, port=int(late.handle.endpoint.rpartition(":")[2])
            )
        got = collecting(again)
        until(lambda: group.send(2) and len(group.members) == 2 and got)
        lost, back = group.events()
        assert isinstance(lost, MemberLost)
        assert isinstance(back, MemberBack)
        assert lost.handle == back.handle == late.handle
        if share == "all":
            until(lambda: len(got) == group.statistics()["sent"] + 1 - back.number)
        group.remove(late.handle)
        assert group.wait_consumed(timeout_s=10)


def test_a_member_that_fails_is_dropped_with_its_text(ends):
    good, bad = ends(), ends()
    collecting(good)
    bad.start(lambda item: 1 / 0)
    with Group([good.handle, bad.handle]) as group:
        until(lambda: group.send(0) and len(group.members) == 1, 20)
        (event,) = group.events()
        assert "ZeroDivisionError" in event.reason


def test_without_members_nothing_can_be_sent(ends):
    with Group() as group, pytest.raises(NotConnected, match="no member"):
        group.send(1)
    gone = ends()
    gone.close()
    with Group([gone.handle], connect_timeout_s=0.1) as group:
        with pytest.raises(NotConnected, match="the last member is gone"):
            group.send(1)


def test_what_cannot_be_a_group(ends):
    raw, packed = ends(codec="raw"), ends()
    with pytest.raises(ConfigError, match="encoded once"):
        Group([raw.handle, packed.handle])
    with pytest.raises(ConfigError, match="flow_control"):
        Group(flow_control="mean")
    with pytest.raises(ConfigError, match="tagged"):
        Group(flow_control="tagged")
    with Group([packed.handle], linger_s=0) as group, pytest.raises(CodecError):
        group.send(object())


# ---- who holds whom ----


def test_min_waits_for_the_slowest_and_says_who_it_is(ends):
    fast, still = ends(udp=False), ends(udp=False)
    got = collecting(fast)
    with Group([fast.handle, still.handle], linger_s=0) as group:
        with pytest.raises(
            BackPressured, match=f"{still.handle.name} had no room.*1 of 2 members.*raise timeout_s"
        ):
            while True:
                group.send("x" * 1000, timeout_s=0.2)
        sent = group.statistics()["sent"]
        until(lambda: len(got) == sent)
        (event,) = group.events()
        assert event == Missed(handle=still.handle, first=sent, last=sent)


def test_a_removed_member_ends_the_wait_for_it(ends):
    fast, still = ends(udp=False), ends(udp=False)
    collecting(fast)
    with Group([fast.handle, still.handle], linger_s=0) as group:
        with contextlib.suppress(BackPressured):
            while True:
                group.send("x" * 1000, timeout_s=0.1)
        waiting = in_thread(group.send, "last")
        group.remove(still.handle)
        waiting.join(20)
        assert not waiting.is_alive()


@pytest.mark.parametrize("flow_control", ["max", "tagged"])
def test_others_miss_what_they_have_no_room_for_and_are_named(ends, flow_control):
    fast, still = ends(udp=False), ends(udp=False)
    got = collecting(fast)
    tagged = [fast.handle] if flow_control == "tagged" else []
    with Group(
        [still.handle, fast.handle], flow_control=flow_control, tagged=tagged, linger_s=0
    ) as group:
        for _ in range(3000):
            group.send("x" * 1000)
        events = group.events()
        assert all(isinstance(event, Missed) for event in events)
        missed = {
            end.handle: sum(
                event.last - event.first + 1 for event in events if event.handle == end.handle
            )
            for end in (still, fast)
        }
        # Beside other work the fast one may not be the fastest for a moment, unless it has a tag.
        assert missed[still.handle] > 0
        assert flow_control == "max" or missed[fast.handle] == 0
        until(lambda: len(got) == 3000 - missed[fast.handle])
        late = collecting(still)
        until(lambda: len(late) == 3000 - missed[still.handle])  # nothing else is missing
        assert max(event.last for event in events) == 3000
        until(lambda: group.send("more") and late[-1] == "more")  # it has room again


def test_what_a_driver_took_with_it_is_told_and_not_waited_for(make_driver_dir):
    """One member has read all, the other one dies with the driver and is opened anew."""
    directory = make_driver_dir()
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(rstream.Driver(dir=directory))
        members = [reader(dir=directory, udp=False, codec="msgpack") for _ in range(2)]
        stack.callback(members[0].close)
        got = collecting(members[0])
        with Group([end.handle for end in members], linger_s=0) as group:
            for number in range(300):
                group.send(number)
            until(lambda: len(got) == 300)
            first.close()
            stack.enter_context(rstream.Driver(dir=directory))
            members[1].close()
            with contextlib.suppress(BackPressured):
                group.send(300, timeout_s=3)
            until(lambda: len(got) >= 301)
            assert group.wait_consumed(timeout_s=20)
            told = [one for one in group.events() if isinstance(one, Missed)]
    dead = [one for one in told if one.handle == members[1].handle]
    assert dead[0].first == 1
    assert dead[0].last >= 300  # the last item may have gone into the log of the driver that ended
    assert got == list(range(301))


# ---- shared blocks ----


@pytest.mark.parametrize("codec", ["raw", "numpy"])
def test_a_large_item_lies_once_on_the_host(ends, driver_dir, codec):
    np = pytest.importorskip("numpy")
    member_ends = [ends(codec=codec, udp=False) for _ in range(3)]
    with Group([end.handle for end in member_ends], linger_s=0) as group:
        item = np.arange(LARGE, dtype="u1")
        group.send(item.tobytes() if codec == "raw" else item)
        assert len(block_files(driver_dir)) == 1
        got = [collecting(end) for end in member_ends]
        until(lambda: all(got))
        for (one,) in got:
            assert bytes(one) == item.tobytes()
        assert group.wait_consumed(timeout_s=20)
        assert len(block_files(driver_dir)) == 1  # kept for the next item
        assert group.statistics() == {"sent": 1, "shared": 1, "members": 3, "unconsumed": 0}
        if codec == "numpy":
            assert not got[0][0].flags.writeable
        # And neither the logs nor anyone else has a copy.
        assert all(end.statistics()["fill_bytes"] < 10_000 for end in member_ends)
    assert block_files(driver_dir) == []
    assert bytes(got[0][0]) == item.tobytes()  # the memory outlives its name


def lies_in_a_block(array):
    address = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if begin <= address < end:
            return "/publications/" in line
    return False


@pytest.mark.parametrize("codec", ["msgpack", "pickle"])
def test_the_arrays_of_a_dict_lie_once_on_the_host(ends, driver_dir, codec):
    np = pytest.importorskip("numpy")
    member_ends = [ends(codec=codec, udp=False) for _ in range(4)]
    got = [collecting(end) for end in member_ends]
    state = {f"layer.{n}": np.full((100, 100), n, "f4") for n in range(20)}
    with Group([end.handle for end in member_ends]) as group:
        for _ in range(2):
            send_and_wait(group, {"step": 1, "state": state})
        assert group.statistics()["shared"] == 2
        for one in got:
            assert [item["step"] for item in one] == [1, 1]
            for item in one:
                assert item["state"].keys() == state.keys()
                for name, array in item["state"].items():
                    assert np.array_equal(array, state[name])
                    assert lies_in_a_block(array)
                    assert not array.flags.writeable
        del array, item
        got.clear()
    assert block_files(driver_dir) == []


def inodes(driver_dir):
    """The files in which blocks lie, whatever their names are."""
    return {
        Path(driver_dir, "publications", name).stat().st_ino for name in block_files(driver_dir)
    }


def send_and_wait(group, item):
    group.send(item)
    assert group.wait_consumed(timeout_s=20)


@pytest.mark.parametrize("length", [LARGE, LARGE - 1000])
def test_a_block_that_nobody_maps_is_used_again(ends, driver_dir, length):
    member_ends = [ends(codec="raw", udp=False) for _ in range(2)]
    got = [collecting(end) for end in member_ends]
    items = [bytes([number]) * (length if number else LARGE) for number in range(10)]
    with Group([end.handle for end in member_ends]) as group:
        send_and_wait(group, items[0])
        first = inodes(driver_dir)
        names = {*block_files(driver_dir)}
        for item in items[1:]:
            send_and_wait(group, item)
            assert inodes(driver_dir) == first
            names |= {*block_files(driver_dir)}
        assert group.statistics()["shared"] == 10
    assert got == [items] * 2
    assert len(names) == 10  # each message has a name of its own
    assert block_files(driver_dir) == []


def test_a_block_that_someone_maps_is_not_used_again(ends, driver_dir):
    np = pytest.importorskip("numpy")
    member_ends = [ends(codec="numpy", udp=False) for _ in range(2)]
    got = [collecting(end) for end in member_ends]
    with Group([end.handle for end in member_ends]) as group:
        for number in range(8):
            send_and_wait(group, np.full(LARGE, number, dtype="u1"))
            assert len(block_files(driver_dir)) <= _blocks.KEPT_MOST
        for one in got:
            assert [int(array[0]) for array in one] == [int(array[-1]) for array in one]
            assert [int(array[0]) for array in one] == list(range(8))
    assert block_files(driver_dir) == []


def test_arrays_that_are_dropped_need_two_blocks(ends, driver_dir):
    """One is written while the loop of an endpoint still has the item before."""
    np = pytest.importorskip("numpy")
    member_ends = [ends(codec="numpy", udp=False) for _ in range(3)]
    sums: list[list[int]] = [[] for _ in member_ends]
    for end, seen in zip(member_ends, sums, strict=True):
        end.start(lambda array, seen=seen: seen.append(int(array.sum())))
    used = set()
    with Group([end.handle for end in member_ends]) as group:
        for number in range(12):
            send_and_wait(group, np.full(LARGE, number, dtype="u1"))
            used |= inodes(driver_dir)
    assert sums == [[number * LARGE for number in range(12)]] * 3
    assert len(used) == 2


def test_a_member_that_is_late_finds_no_block_instead_of_another_message(driver_dir):
    folder = Path(driver_dir, "publications")
    folder.mkdir(parents=True, exist_ok=True)
    pool = _blocks.BlockPool()
    block = pool.put(driver_dir, b"a" * 1000)
    note = block.note
    content = _blocks.map_block(driver_dir, note)
    pool.keep(block)
    other = pool.put(driver_dir, b"b" * 1000)
    assert other is not block  # the content is mapped
    assert bytes(content) == b"a" * 1000
    assert bytes(_blocks.map_block(driver_dir, note)) == b"a" * 1000  # late, and still there
    del content
    again = pool.put(driver_dir, b"c" * 900)
    assert again is block
    with pytest.raises(CodecError, match="cannot be mapped"):
        _blocks.map_block(driver_dir, note)
    assert bytes(_blocks.map_block(driver_dir, again.note)) == b"c" * 900
    for one in (other, again):
        pool.keep(one)
    pool.close()
    assert block_files(driver_dir) == []


def test_a_pool_keeps_a_bounded_part(driver_dir, monkeypatch):
    Path(driver_dir, "publications").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(_blocks, "KEPT_BYTES_MOST", 5000)
    pool = _blocks.BlockPool()
    for length, kept in ((1000, 1), (2000, 2), (3000, 2), (4000, 1), (6000, 0)):
        held = [pool.put(driver_dir, b"x" * length)]
        pool.keep(held.pop())
        assert len(block_files(driver_dir)) == kept, length
    pool.close()


def test_without_room_for_a_new_block_the_kept_ones_go(driver_dir, monkeypatch):
    Path(driver_dir, "publications").mkdir(parents=True, exist_ok=True)
    pool = _blocks.BlockPool()
    pool.keep(pool.put(driver_dir, b"x" * 1000))
    write, refused = os.pwrite, []

    def full(*args):
        if not refused:
            refused.append(args)
            raise OSError(28, "No space left on device")
        return write(*args)

    monkeypatch.setattr(os, "pwrite", full)
    block = pool.put(driver_dir, b"y" * 5000)
    assert block_files(driver_dir) == [Path(block._paths[0]).name]
    assert bytes(_blocks.map_block(driver_dir, block.note)) == b"y" * 5000
    block.remove()


def test_a_block_whose_file_is_gone_is_not_used_again(driver_dir):
    Path(driver_dir, "publications").mkdir(parents=True, exist_ok=True)
    pool = _blocks.BlockPool()
    pool.keep(pool.put(driver_dir, b"x" * 1000))
    for name in block_files(driver_dir):
        Path(driver_dir, "publications", name).unlink()
    block = pool.put(driver_dir, b"y" * 1000)
    assert bytes(_blocks.map_block(driver_dir, block.note)) == b"y" * 1000
    block.remove()


def test_blocks_are_bounded(ends, driver_dir):
    still = [ends(codec="raw", udp=False) for _ in range(2)]
    with Group([end.handle for end in still], linger_s=0) as group:
        with pytest.raises(BackPressured):
            for _ in range(10):
                group.send(bytes(LARGE), timeout_s=0.1)
        assert group.statistics()["shared"] == 5
        assert len(block_files(driver_dir)) == 5
        got = [collecting(end) for end in still]
        group.send(bytes(LARGE))
        until(lambda: [len(one) for one in got] == [5, 5])
    assert block_files(driver_dir) == []


def test_members_elsewhere_get_the_item_itself(ends, driver_dir, far_dir):
    members = [ends(codec="raw") for _ in range(2)]
    got = [collecting(end) for end in members]
    with Group([end.handle for end in members], driver_dir=far_dir) as group:
        group.send(bytes(LARGE))
        assert group.statistics()["shared"] == 0
    assert got == [[bytes(LARGE)]] * 2


def test_without_room_for_a_block_the_lanes_carry_it(ends, driver_dir, monkeypatch):
    members = [ends(codec="raw", udp=False) for _ in range(2)]
    got = [collecting(end) for end in members]

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with Group([end.handle for end in members]) as group:
        group.send(bytes(LARGE))
    assert got == [[bytes(LARGE)]] * 2
    assert block_files(driver_dir) == []


def test_blocks_of_dead_processes_are_removed(ends, driver_dir):
    """And neither those of living ones nor segments, which lie beside them."""
    folder = Path(driver_dir, "publications")
    segment = folder / "999999999.0"
    segment.write_bytes(b"a segment")
    dead, alive = (f"999999999.{_blocks.NUMBER_MIN + number}" for number in range(2))
    for name in (dead, alive):
        (folder / name).write_bytes(bytes(10))
    with (folder / alive).open("rb+") as living:
        fcntl.flock(living, fcntl.LOCK_EX)  # of another container
        assert _blocks.remove_orphans(driver_dir) == 1
        assert block_files(driver_dir) == [alive]
    assert _blocks.remove_orphans(driver_dir) == 1
    assert segment.exists()
    segment.unlink()


@pytest.mark.parametrize(
    "note",
    [b"", b"x" * 23, _blocks.NOTE.pack(1, _blocks.NUMBER_MIN, 3), _blocks.NOTE.pack(1, 2, 1 << 40)],
)
def test_a_note_of_no_block_is_refused(ends, driver_dir, note):
    from rstream.stream._names import KIND_BLOCK

    end = ends(codec="raw", udp=False)
    got = collecting(end)
    with end.handle.publisher() as pub:
        send_encoded(pub, note, None, kind=KIND_BLOCK)
        pub.send(b"after")
        until(lambda: got)
    assert got == [b"after"]
    (event,) = (one for one in end.events() if isinstance(one, Refused))
    assert "shared block cannot be mapped" in event.reason


def test_a_block_from_the_network_is_refused(ends, far_dir):
    from rstream.stream._names import KIND_BLOCK

    end = ends(codec="raw")
    got = collecting(end)
    with end.handle.publisher(driver_dir=far_dir) as pub:
        send_encoded(pub, _blocks.NOTE.pack(1, 2, 3), None, kind=KIND_BLOCK)
        pub.send(b"after")
        until(lambda: got)
    (event,) = (one for one in end.events() if isinstance(one, Refused))
    assert "only a writer of this host" in event.reason


def test_events_say_what_where_and_what_next(driver_dir):
    with reader("ticks", dir=driver_dir) as end:
        handle = end.handle
        where = f"member 'ticks' at {handle.endpoint}, id {handle.stream_id}"
        texts = {
            Missed(
                handle=handle, first=3, last=9
            ): f"{where} missed items 3 to 9, or may have: send "
            'them again; flow_control="min" waits for slow members',
            MemberLost(
                handle=handle, number=3, reason="no reader for 3 s"
            ): f"{where} was dropped: "
            "no reader for 3 s; the first item that it may not have consumed is 3; add(handle) "
            "takes it in again",
            MemberLost(handle=handle, number=0, reason="it failed"): f"{where} was dropped: it "
            "failed; add(handle) takes it in again",
            MemberBack(handle=handle, number=4): f"{where} is back, from item 4 on",
        }
    for event, text in texts.items():
        assert str(event) == text
        assert repr(event).startswith(f"{type(event).__name__}(handle=<rstream.ray.StreamHandle of")
        assert len(repr(event)) < 150
