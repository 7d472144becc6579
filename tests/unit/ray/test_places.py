"""The places of endpoints: unique to each, and the same again after a restart.

A fake of Ray says which actor this is; the registry's roster remembers, a restart loses the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import types

import pytest

from rstream.errors import NameTaken
from rstream.ray import _places, _registry, reader
from rstream.ray._cluster import EndpointHolder, Standing
from rstream.ray._open import PATIENCE
from rstream.ray._places import ReaderPlace, Seat
from rstream.ray._roster import Roster
from rstream.stream._names import new_stream_id
from tests.support import until


@pytest.fixture
def actor(monkeypatch):
    """Makes this process an actor of a Ray; ``actor.restart()`` forgets what a process knows."""

    class Actor:
        holder = EndpointHolder(
            scope="s", actor_id="00c0ffee1234", restarts=0, may_restart=True, worker_id="w",
            job_id="j", title="actor A(00c0ffee), process 1 on here",
        )  # fmt: skip

        def __init__(self):
            self.roster = Roster(lambda holder: Standing.ALIVE)

        def restart(self):
            monkeypatch.setattr(_places, "_open_numbers", {})
            monkeypatch.setattr(_places, "_left_places", {})
            self.holder = dataclasses.replace(self.holder, restarts=self.holder.restarts + 1)

        def be(self, **changes):
            self.holder = dataclasses.replace(self.holder, **changes)

        def call(self, method, *args):
            if method == "announce":
                return self.roster.add(args[0])[1]
            if method == "recall":
                found = self.roster.of_seat(args[0])
                return None if found is None else found.handle
            assert method == "withdraw"
            return self.roster.drop(args[0])

    made = Actor()
    monkeypatch.setattr(_places, "_open_numbers", {})
    monkeypatch.setattr(_places, "_left_places", {})
    monkeypatch.setattr(_registry, "call", made.call)
    monkeypatch.setattr(_registry, "send", made.call)
    monkeypatch.setattr("rstream.ray._open.this_process", lambda: made.holder)
    monkeypatch.setattr("rstream.ray._open.class_name", lambda actor_id: "Scorer")
    monkeypatch.setattr("rstream.ray._open._node_address", lambda: "127.0.0.1")
    return made


@pytest.fixture
def opened(driver_dir):
    return lambda *args, **kwargs: contextlib.closing(reader(*args, dir=driver_dir, **kwargs))


def test_a_seat_that_was_left_is_taken_first(actor):
    first, second = Seat("a", actor.holder), Seat("a", actor.holder)
    first.leave(ReaderPlace(-1, 10))
    first.leave()
    assert second.number == 1
    assert Seat("a", actor.holder).recall() == ReaderPlace(-1, 10)
    assert Seat("a", actor.holder).recall() is None
    assert Seat("b", actor.holder).recall() is None


def test_outside_of_an_actor_nothing_is_remembered(actor, opened):
    for changes in ({"actor_id": "", "may_restart": False},):
        actor.be(**changes)
        with opened() as end:
            first = end.handle
            assert len(actor.roster) == 0
        with opened() as end:
            assert end.handle.stream_id != first.stream_id


def test_an_actor_that_is_not_restarted_needs_no_registry(actor, opened):
    actor.be(may_restart=False)
    with opened():
        assert len(actor.roster) == 0
    with opened("ticks"):
        assert actor.roster.names("s") == ["ticks"]
    assert len(actor.roster) == 0


def test_stream_ids_of_handles_are_negative_and_differ():
    ids = {new_stream_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert -(2**31) <= min(ids) <= max(ids) < 0


def test_what_cannot_be_announced_is_closed(actor, opened, name, monkeypatch):
    """Ray may be gone in that moment: neither the port nor the number stays taken."""
    with monkeypatch.context() as broken:
        broken.setattr(_registry, "call", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            opened(name)
    with opened(name) as end:
        port = int(end.handle.endpoint.rpartition(":")[2])
    with opened(name, port=port) as again:
        assert again.handle == end.handle


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
@pytest.mark.parametrize("label", [None, "ticks"])
def test_one_that_is_dropped_gives_its_place_back(actor, opened, driver_dir, label):
    end = reader(label, dir=driver_dir)
    handle = end.handle
    del end
    gc.collect()
    until(lambda: not len(actor.roster))
    with opened(label) as again:
        assert again.handle == handle


@pytest.mark.parametrize("label", [None, "ticks"])
def test_a_restarted_actor_has_its_handles_again(actor, opened, label):
    """Two of them in the order in which they were opened; a third one is new."""
    labels = [label, None if label is None else "rows"]
    with opened(labels[0]) as first, opened(labels[1]) as second:
        handles = [first.handle, second.handle]
        assert handles[0].stream_id != handles[1].stream_id
        assert handles[0].endpoint != handles[1].endpoint
        announced = list(actor.roster._records.values())
    for record in announced:  # killed: it has withdrawn nothing
        actor.roster.add(record)
    actor.restart()
    with opened(labels[0]) as first, opened(labels[1]) as second, opened() as third:
        assert [first.handle, second.handle] == handles
        assert third.handle not in handles
    with opened(labels[0]) as again:
        assert again.handle == handles[0]


def test_an_endpoint_without_a_name_says_whose_it_is(actor, opened):
    with opened() as first, opened() as second:
        assert first.handle.name == "Scorer-00c0ffee-0"
        assert second.handle.name == "Scorer-00c0ffee-1"


def test_a_name_that_is_taken_is_refused_and_opens_nothing(actor, opened):
    with opened("ticks"):
        actor.be(actor_id="00decade1234")
        with pytest.raises(NameTaken, match=r"'ticks': .* taken by actor A\(00c0ffee\).*leave the"):
            opened("ticks")
    with opened("ticks"):
        pass


def test_an_old_incarnation_is_refused(actor, opened):
    old = actor.holder
    actor.restart()
    with opened("ticks") as end:
        actor.holder = old
        with pytest.raises(NameTaken, match="a newer incarnation of this actor"):
            reader("ticks", dir=end.handle.driver_dir)


def test_a_port_that_a_stranger_has_taken_is_replaced(actor, opened, monkeypatch, caplog):
    """The actor works on; only the handle's UDP address is another one."""
    patience = dataclasses.replace(PATIENCE, timeout_s=0.1)
    monkeypatch.setattr("rstream.ray._open.PATIENCE", patience)
    with opened() as end:
        old = end.handle
        (record,) = actor.roster._records.values()
        actor.roster.add(record)
        actor.restart()
        with opened() as again:
            assert again.handle.stream_id == old.stream_id
            assert again.handle.endpoint != old.endpoint
        assert "takes another port" in caplog.text


def test_the_seat_of_a_task_is_its_own(actor):
    names = types.SimpleNamespace(one="w1", two="w2")
    keys = set()
    for worker in vars(names).values():
        actor.be(actor_id="", worker_id=worker)
        seat = Seat("ticks", actor.holder)
        keys.add(seat.key)
        seat.leave()
    assert len(keys) == 2
