"""The records of endpoints: one living holder of a name, the newest incarnation of a seat."""

from __future__ import annotations

import dataclasses

import pytest

from rstream.ray import StreamHandle
from rstream.ray._cluster import EndpointHolder, Standing
from rstream.ray._roster import STALE_S, Record, Roster

SCOPE = "prod"


@pytest.fixture
def standings():
    return {}


@pytest.fixture
def roster(standings):
    return Roster(lambda holder: standings.get(holder, Standing.ALIVE))


def holder(actor, restarts=0, scope=SCOPE):
    return EndpointHolder(
        scope=scope,
        actor_id=actor,
        restarts=restarts,
        may_restart=True,
        worker_id="w",
        job_id="j",
        title=f"actor {actor}, life {restarts}",
    )


def record(token, actor, name="", *, number=0, restarts=0, scope=SCOPE):
    return Record(
        token=token,
        seat=(actor, name, number),
        name=name,
        holder=holder(actor, restarts, scope),
        handle=StreamHandle(
            name=name or token, stream_id=-1, ipc_channel="aeron:ipc", endpoint="", udp_channel="",
            host_token="h", driver_dir="/d", node="n", codec="raw",
        ),
    )  # fmt: skip


def test_a_name_is_found_in_its_scope_only(roster):
    first, other = record("1", "a", "ticks"), record("2", "b", "ticks", scope="dev")
    assert roster.add(first) == roster.add(other) == ([], None)
    assert roster.find(SCOPE, "ticks") is first
    assert roster.find("dev", "ticks") is other
    assert roster.find(SCOPE, "rows") is None
    assert roster.names(SCOPE) == ["ticks"]


def test_two_actors_of_one_class_share_a_stream_by_accident(roster, standings):
    """They cannot: the second one is refused as long as the first one lives, or comes back."""
    first, second = record("1", "a", "ticks"), record("2", "b", "ticks")
    roster.add(first)
    for standing in (Standing.ALIVE, Standing.AWAY):
        standings[first.holder] = standing
        assert roster.add(second) == ([], first)
    standings[first.holder] = Standing.GONE
    assert roster.add(second) == ([first], None)
    assert len(roster) == 1


def test_without_a_name_nothing_is_in_the_way(roster):
    for token, actor, number in (("1", "a", 0), ("2", "a", 1), ("3", "b", 0)):
        assert roster.add(record(token, actor, number=number)) == ([], None)
    assert len(roster) == 3
    assert roster.names(SCOPE) == []


def test_a_restarted_actor_replaces_itself_and_an_old_incarnation_is_refused(roster, standings):
    old, new = record("1", "a", "ticks"), record("2", "a", "ticks", restarts=1)
    roster.add(old)
    standings[old.holder] = Standing.AWAY
    assert roster.find(SCOPE, "ticks") is None  # its writers wait for the next incarnation
    assert roster.of_seat(new.seat) is old  # which takes its place
    assert roster.add(new) == ([old], None)
    assert roster.find(SCOPE, "ticks") is new
    late = dataclasses.replace(old, token="3")
    assert roster.add(late) == ([], new)


def test_what_nobody_will_use_again_is_swept(roster):
    records = [record(str(n), actor) for n, actor in enumerate("abc")]
    for one in records:
        roster.add(one)
    dead, away, alive = records
    known = {
        dead.holder: Standing.GONE,
        away.holder: Standing.AWAY,
        alive.holder: Standing.ALIVE,
    }
    assert roster.holders() == set(known)
    assert roster.sweep(known, 100.0) == [dead]
    assert roster.sweep(known, 100.0 + STALE_S) == []
    assert roster.sweep(known, 100.1 + STALE_S) == [away]
    assert roster.of_seat(alive.seat) is alive


def test_an_actor_that_is_back_in_time_keeps_its_record(roster):
    one = record("1", "a")
    roster.add(one)
    roster.sweep({one.holder: Standing.AWAY}, 0.0)
    roster.sweep({one.holder: Standing.ALIVE}, STALE_S)
    assert roster.sweep({one.holder: Standing.AWAY}, STALE_S + 1) == []
    assert roster.sweep({}, 10 * STALE_S) == []  # not looked at


def test_drop_is_idempotent(roster):
    roster.add(record("1", "a"))
    roster.drop("1")
    roster.drop("1")
    assert len(roster) == 0
