"""The places of endpoints: unique to each, and the same again after a restart.

A fake of Ray says which actor this is, and keeps what is stored; a restart loses the rest.
"""

from __future__ import annotations

import contextlib
import types

import pytest

from rstream.ray import _places, open_reader
from rstream.ray._places import Place, Seat
from rstream.stream._names import new_stream_id


@pytest.fixture
def actor(monkeypatch):
    """Makes this process an actor of a Ray; ``actor.restart()`` forgets what a process knows."""
    stored = {}

    class Actor:
        id = "actor-1"

        def restart(self):
            monkeypatch.setattr(_places, "_open_numbers", {})

    made = Actor()
    context = types.SimpleNamespace(get_actor_id=lambda: made.id)
    util = types.SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")
    ray = types.SimpleNamespace(
        get_runtime_context=lambda: context, util=util, is_initialized=lambda: True
    )
    kept = types.SimpleNamespace(_internal_kv_get=stored.get, _internal_kv_put=stored.__setitem__)
    monkeypatch.setattr(_places, "running_ray", lambda: ray)
    monkeypatch.setattr("rstream.ray._open.running_ray", lambda: ray)
    monkeypatch.setattr(_places, "_key_value_store", lambda: kept)
    made.restart()
    return made


def test_each_open_endpoint_has_its_own_memory(actor):
    first, second = Seat("a"), Seat("a")
    first.remember(Place(-1, 10))
    second.remember(Place(-2, 20))
    assert Seat("b").recall() is None
    actor.restart()
    assert [Seat("a").recall(), Seat("a").recall(), Seat("a").recall()] == [
        Place(-1, 10),
        Place(-2, 20),
        None,
    ]


def test_a_seat_that_was_left_is_taken_first(actor):
    first, second = Seat("a"), Seat("a")
    first.remember(Place(-1, 10))
    second.remember(Place(-2, 20))
    first.leave()
    first.leave()
    assert Seat("a").recall() == Place(-1, 10)
    assert Seat("a").recall() is None


def test_another_actor_has_another_place(actor):
    Seat("a").remember(Place(-1, 10))
    actor.restart()
    actor.id = "actor-2"
    assert Seat("a").recall() is None


def test_outside_of_an_actor_nothing_is_remembered(actor):
    actor.id = None
    Seat("a").remember(Place(-1, 10))
    actor.restart()
    assert Seat("a").recall() is None


def test_stream_ids_of_handles_are_negative_and_differ():
    ids = {new_stream_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert -(2**31) <= min(ids) <= max(ids) < 0


def test_what_cannot_be_remembered_is_closed(actor, driver_dir, name, monkeypatch):
    """Ray may be gone in that moment: neither the port nor the number stays taken."""
    with monkeypatch.context() as broken:
        broken.setattr(Seat, "remember", lambda seat, place: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            open_reader(name, dir=driver_dir)
    with contextlib.closing(open_reader(name, dir=driver_dir)) as end:
        port = int(end.handle.endpoint.rpartition(":")[2])
    with contextlib.closing(open_reader(name, dir=driver_dir, port=port)) as again:
        assert again.handle == end.handle


def test_a_restarted_actor_has_its_handles_again(actor, driver_dir, name):
    """Two of one name, in the order in which they were opened; a third one is new."""

    def opened():
        return open_reader(name, dir=driver_dir)

    with contextlib.closing(opened()) as first, contextlib.closing(opened()) as second:
        handles = [first.handle, second.handle]
        assert handles[0].stream_id != handles[1].stream_id
        assert handles[0].endpoint != handles[1].endpoint
    actor.restart()
    with (
        contextlib.closing(opened()) as first,
        contextlib.closing(opened()) as second,
        contextlib.closing(opened()) as third,
    ):
        assert [first.handle, second.handle] == handles
        assert third.handle not in handles
    with contextlib.closing(opened()) as again:
        assert again.handle == handles[0]
