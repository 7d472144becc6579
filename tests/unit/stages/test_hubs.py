"""Hubs: who gets which element, what is held, and what happens when ends come and go."""

from __future__ import annotations

import threading

import pytest

from rstream import stages
from rstream.abc import UNBOUNDED
from rstream.errors import ConfigError, LocalContractError

from .ends import Sink, Source


def attached(hub, first=0):
    sink = Sink(first)
    hub.subscribe(sink)
    return sink


class TestMergeHub:
    def test_takes_turns_between_sources(self):
        hub = stages.merge_hub(4)
        sink = attached(hub)
        busy, quiet = Source(), Source()
        busy.subscribe(hub.sink())
        quiet.subscribe(hub.sink())
        assert (busy.demand, quiet.demand) == (4, 4)
        busy.send(1, 2, 3, 4)
        quiet.send("a")
        assert busy.demand == 0
        sink.request(3)
        assert "a" in sink.items
        assert sink.items == [1, "a", 2] or sink.items == ["a", 1, 2]

    def test_a_failed_source_is_logged_and_the_others_go_on(self, caplog):
        hub = stages.merge_hub()
        sink = attached(hub, first=10)
        bad, good = Source(), Source()
        bad.subscribe(hub.sink())
        good.subscribe(hub.sink())
        bad.fail(OSError("gone"))
        good.send(1)
        assert sink.items == [1]
        assert sink.ends == []
        assert "gone" in caplog.text

    def test_fails_behind_what_waits_if_asked_to(self):
        hub = stages.merge_hub(on_error="fail")
        sink = attached(hub)
        bad, good = Source(), Source()
        bad.subscribe(hub.sink())
        good.subscribe(hub.sink())
        good.send(1)
        error = OSError("gone")
        bad.fail(error)
        assert sink.ends == []
        sink.request(1)
        assert sink.items == [1]
        assert sink.ends == [error]
        assert good.is_cancelled

    def test_completes_when_it_is_closed_and_all_sources_have_ended(self):
        hub = stages.merge_hub()
        sink = attached(hub)
        source, late = Source(), Source()
        source.subscribe(hub.sink())
        hub.close()
        source.send(1)
        source.complete()
        assert sink.ends == []
        sink.request(1)
        assert (sink.items, sink.ends) == ([1], ["complete"])
        late.subscribe(hub.sink())
        assert late.is_cancelled

    def test_its_subscriber_goes_and_every_source_is_cancelled(self):
        hub = stages.merge_hub()
        sink = attached(hub)
        source, late = Source(), Source()
        source.subscribe(hub.sink())
        sink.subscription.cancel()
        assert source.is_cancelled
        late.subscribe(hub.sink())
        assert late.is_cancelled

    def test_serves_one_subscriber(self):
        hub = stages.merge_hub()
        attached(hub)
        assert isinstance(attached(hub).ends[0], LocalContractError)


class TestBroadcastHub:
    def test_everyone_gets_everything_and_the_slowest_holds_upstream(self):
        hub = stages.broadcast_hub(3)
        source = Source()
        source.subscribe(hub)
        assert source.demand == 0  # nobody is there
        fast, slow = attached(hub, first=UNBOUNDED), attached(hub)
        assert source.demand == 3
        source.send(1, 2, 3)
        assert fast.items == [1, 2, 3]
        assert slow.items == []
        assert source.demand == 0
        slow.request(1)
        assert slow.items == [1]
        assert source.demand == 1

    def test_a_slow_subscriber_that_goes_holds_nobody(self):
        hub = stages.broadcast_hub(2)
        source = Source()
        source.subscribe(hub)
        attached(hub, first=UNBOUNDED)
        slow = attached(hub)
        source.send(1, 2)
        assert source.demand == 0
        slow.subscription.cancel()
        assert source.demand == 2
        assert len(hub._items) == 0

    def test_a_late_subscriber_gets_the_last_ones(self):
        hub = stages.broadcast_hub(4, replay=2)
        source = Source()
        source.subscribe(hub)
        early = attached(hub, first=UNBOUNDED)
        for n in range(10):
            source.send(n)
        late = attached(hub, first=UNBOUNDED)
        assert late.items == [8, 9]
        source.send(10)
        assert early.items == list(range(11))
        assert late.items == [8, 9, 10]
        assert len(hub._items) == 2  # not more is held than is replayed

    def test_without_replay_a_late_subscriber_begins_with_the_next_one(self):
        hub = stages.broadcast_hub()
        source = Source()
        source.subscribe(hub)
        attached(hub, first=UNBOUNDED)
        source.send(1)
        late = attached(hub, first=UNBOUNDED)
        source.send(2)
        assert late.items == [2]

    def test_replays_after_the_end(self):
        hub = stages.broadcast_hub(replay=1)
        source = Source()
        source.subscribe(hub)
        attached(hub, first=UNBOUNDED)
        source.send(1, 2)
        error = OSError("gone")
        source.fail(error)
        late = attached(hub)
        assert late.ends == []
        late.request(1)
        assert (late.items, late.ends) == ([2], [error])

    def test_a_subscriber_ends_when_it_has_everything(self):
        hub = stages.broadcast_hub()
        source = Source()
        source.subscribe(hub)
        fast, slow = attached(hub, first=UNBOUNDED), attached(hub)
        source.send(1)
        source.complete()
        assert fast.ends == ["complete"]
        assert slow.ends == []
        slow.request(1)
        assert (slow.items, slow.ends) == ([1], ["complete"])

    def test_waits_for_the_first_subscribers(self):
        hub = stages.broadcast_hub(wait_for=2)
        source = Source()
        source.subscribe(hub)
        attached(hub, first=1)
        assert source.demand == 0
        attached(hub, first=1)
        assert source.demand > 0

    def test_close_cancels_upstream_and_completes(self):
        hub = stages.broadcast_hub()
        source = Source()
        source.subscribe(hub)
        sink = attached(hub, first=1)
        hub.close()
        assert source.is_cancelled
        assert sink.ends == ["complete"]

    def test_waits_for_nobody_if_asked_to_and_keeps_the_last(self):
        hub = stages.broadcast_hub(4, replay=2, wait_for=0)
        source = Source()
        source.subscribe(hub)
        source.send(*range(4))
        source.send(*range(4, 6))  # there was room again
        assert attached(hub, first=9).items == [4, 5]
        source.send(6)
        assert len(hub._items) == 2

    def test_waits_for_nobody_also_when_the_last_has_gone(self):
        hub = stages.broadcast_hub(2, wait_for=0)
        source = Source()
        source.subscribe(hub)
        gone = attached(hub)
        source.send(1, 2)
        assert source.demand == 0  # it holds upstream while it is here
        gone.subscription.cancel()
        source.send(3, 4)
        assert attached(hub, first=9).items == []

    @pytest.mark.parametrize("bad", [{"capacity": 0}, {"replay": -1}, {"wait_for": -1}])
    def test_refuses_what_it_cannot_use(self, bad):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            stages.broadcast_hub(**bad)


class TestPartitionHub:
    def test_an_element_goes_to_one_with_free_demand_in_turns(self):
        hub = stages.partition_hub()
        source = Source()
        source.subscribe(hub)
        one, two, busy = attached(hub, first=2), attached(hub, first=2), attached(hub)
        source.send("a", "b", "c", "d", "e")
        assert sorted(one.items + two.items) == ["a", "b", "c", "d"]
        assert len(one.items) == len(two.items) == 2
        assert busy.items == []
        busy.request(1)
        assert busy.items == ["e"]

    def test_a_function_chooses_and_order_is_kept(self):
        hub = stages.partition_hub(lambda n, count: n % count)
        source = Source()
        source.subscribe(hub)
        even, odd = attached(hub, first=UNBOUNDED), attached(hub, first=UNBOUNDED)
        source.send(*range(8))
        assert even.items == [0, 2, 4, 6]
        assert odd.items == [1, 3, 5, 7]

    def test_holds_its_capacity_whoever_was_chosen(self):
        hub = stages.partition_hub(lambda n, count: 0, capacity=3)
        source = Source()
        source.subscribe(hub)
        slow, fast = attached(hub), attached(hub, first=UNBOUNDED)
        source.send(1, 2, 3)
        assert source.demand == 0
        slow.request(1)
        assert slow.items == [1]
        assert fast.items == []
        assert source.demand == 1

    def test_what_was_chosen_for_one_that_goes_is_chosen_anew(self):
        hub = stages.partition_hub(lambda n, count: n % count)
        source = Source()
        source.subscribe(hub)
        one, two = attached(hub), attached(hub)
        source.send(0, 1, 2, 3)
        two.subscription.cancel()
        one.request(10)
        assert sorted(one.items) == [0, 1, 2, 3]

    def test_without_subscribers_elements_wait_for_the_next_one(self):
        hub = stages.partition_hub()
        source = Source()
        source.subscribe(hub)
        gone = attached(hub)
        source.send(1, 2)
        gone.subscription.cancel()
        assert attached(hub, first=5).items == [1, 2]

    def test_none_drops_and_counts(self):
        hub = stages.partition_hub(lambda n, count: None if n < 0 else 0)
        source = Source()
        source.subscribe(hub)
        sink = attached(hub, first=5)
        source.send(-1, 1)
        assert sink.items == [1]
        assert hub.dropped == 1

    @pytest.mark.parametrize("choose", [lambda n, count: 5, lambda n, count: 1 / 0])
    def test_a_wrong_choice_ends_with_an_error(self, choose):
        hub = stages.partition_hub(choose)
        source = Source()
        source.subscribe(hub)
        sink = attached(hub, first=5)
        source.send(1)
        assert source.is_cancelled
        assert isinstance(sink.ends[0], (ConfigError, ZeroDivisionError))
        assert "in stage partition_hub" in sink.ends[0].__notes__

    def test_completes_when_everything_was_given_out(self):
        hub = stages.partition_hub()
        source = Source()
        source.subscribe(hub)
        one, two = attached(hub), attached(hub)
        source.send(1)
        source.complete()
        assert (one.ends, two.ends) == ([], [])
        two.request(1)
        assert two.items == [1]
        assert (one.ends, two.ends) == (["complete"], ["complete"])


HUBS = {"broadcast_hub": stages.broadcast_hub, "partition_hub": stages.partition_hub}


@pytest.mark.parametrize("name", HUBS)
def test_a_subscriber_that_raises_concerns_itself_alone(name, caplog):
    class Raising(Sink):
        def on_next(self, item):
            raise OSError("no")

    hub = HUBS[name]()
    source = Source()
    source.subscribe(hub)
    hub.subscribe(Raising(first=1))
    good = attached(hub, first=5)
    source.send(1, 2)
    assert 2 in good.items
    assert not source.is_cancelled
    assert hub.subscribers == 1
    assert "on_next raised" in caplog.text


@pytest.mark.timeout(300)  # three threads spin and leave the source little of a busy machine
@pytest.mark.parametrize("name", HUBS)
def test_every_element_arrives_once_with_many_threads(name):
    """Subscribers that request from threads of their own; a source with a thread of its own."""
    count, hub = (
        2000,
        HUBS[name](8, wait_for=3)
        if name == "broadcast_hub"
        else HUBS[name](capacity=8, wait_for=3),
    )
    done = threading.Barrier(4)

    class Own(Sink):
        def __init__(self):
            super().__init__()
            self.is_over = threading.Event()

        def on_complete(self):
            super().on_complete()
            self.is_over.set()

    def ask(sink):
        while not sink.is_over.wait(0):
            sink.request(3)
        done.wait(20)

    sinks = [Own() for _ in range(3)]
    for sink in sinks:
        hub.subscribe(sink)
    threads = [threading.Thread(target=ask, args=(sink,), daemon=True) for sink in sinks]
    for thread in threads:
        thread.start()
    stages.from_iterable(range(count)).subscribe(hub)
    done.wait(20)
    if name == "broadcast_hub":
        assert all(sink.items == list(range(count)) for sink in sinks)
    else:
        assert sorted(n for sink in sinks for n in sink.items) == list(range(count))
