"""Overflow queues: bounded, and accepted = delivered + waiting + dropped + conflated.

The oracle of each queue is a list.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream.flow.queues import (
    ConflateQueue,
    DropNewestQueue,
    DropOldestQueue,
    FullError,
    LatestQueue,
    PlainQueue,
)

OPS = st.lists(st.one_of(st.integers(0, 9).map(lambda n: ("take", n)), st.just(("put", 0))))


def run(queue, model_put, operations):
    """Run queue and model (a list changed by model_put) in step; compare their outputs."""
    model, number, taken = [], 0, 0
    for what, n in operations:
        if what == "put":
            number += 1
            queue.put(number)
            model_put(model, number)
        else:
            items = queue.take(n)
            assert items == model[:n]
            del model[:n]
            taken += len(items)
        assert len(queue) == len(model)
        assert number == taken + len(queue) + queue.dropped + queue.conflated
        assert len(queue) <= queue.capacity
        assert queue.room() >= 1


@given(capacity=st.integers(1, 5), operations=OPS)
def test_drop_newest_keeps_the_oldest(capacity, operations):
    def put(model, item):
        if len(model) < capacity:
            model.append(item)

    run(DropNewestQueue(capacity), put, operations)


@given(capacity=st.integers(1, 5), operations=OPS)
def test_drop_oldest_keeps_the_newest(capacity, operations):
    def put(model, item):
        model.append(item)
        del model[:-capacity]

    run(DropOldestQueue(capacity), put, operations)


@given(keys=st.integers(1, 4), keys_max=st.integers(1, 4), operations=OPS)
def test_latest_keeps_the_newest_of_each_key_in_the_order_of_arrival(keys, keys_max, operations):
    def put(model, item):
        for index, waiting in enumerate(model):
            if waiting % keys == item % keys:
                model[index] = item
                return
        model.append(item)
        del model[:-keys_max]

    run(LatestQueue(lambda item: item % keys, keys_max), put, operations)


def test_latest_without_key_keeps_one():
    queue = LatestQueue(None, 10)
    for item in "abc":
        queue.put(item)
    assert queue.take(9) == ["c"]
    assert (queue.capacity, queue.dropped, queue.conflated) == (1, 0, 2)


def test_conflate_merges_waiting_items():
    queue = ConflateQueue(lambda waiting, new: waiting + new)
    for item in (1, 2, 3):
        queue.put(item)
    assert (len(queue), queue.take(5), queue.take(5)) == (1, [6], [])
    queue.put(4)
    assert queue.take(0) == []
    assert queue.take(1) == [4]
    assert (queue.capacity, queue.dropped, queue.conflated) == (1, 0, 2)


def test_plain_queue_is_full_exactly_at_its_capacity():
    queue = PlainQueue(2)
    queue.put(1)
    assert queue.room() == 1
    queue.put(2)
    assert queue.room() == 0
    with pytest.raises(FullError):
        queue.put(3)
    assert queue.take(5) == [1, 2]


@given(operations=OPS)
def test_conflate_keeps_the_sum_of_the_waiting_items(operations):
    def put(model, item):
        model[:] = [sum(model) + item]

    run(ConflateQueue(lambda waiting, new: waiting + new), put, operations)


@given(keys=st.integers(1, 4), keys_max=st.integers(1, 4), operations=OPS)
def test_latest_counts_dropped_and_replaced_items_apart(keys, keys_max, operations):
    queue, waiting, number, dropped = LatestQueue(lambda item: item % keys, keys_max), [], 0, 0
    for what, n in operations:
        if what == "put":
            number += 1
            key = number % keys
            if key not in waiting:
                if len(waiting) == keys_max:
                    waiting.pop(0)
                    dropped += 1
                waiting.append(key)
            queue.put(number)
        else:
            assert [item % keys for item in queue.take(n)] == waiting[:n]
            del waiting[:n]
        assert queue.dropped == dropped


@given(capacity=st.integers(1, 5), operations=OPS)
def test_plain_queue_refuses_items_beyond_its_room(capacity, operations):
    queue, model, number = PlainQueue(capacity), [], 0
    for what, n in operations:
        assert queue.room() == capacity - len(model)
        if what == "take":
            assert queue.take(n) == model[:n]
            del model[:n]
        elif queue.room() > 0:
            number += 1
            queue.put(number)
            model.append(number)
        else:
            with pytest.raises(FullError):
                queue.put(0)
        assert len(queue) == len(model) <= queue.capacity == capacity


@pytest.mark.parametrize(
    ("make", "kept", "dropped", "conflated"),
    [
        (lambda: DropNewestQueue(3), [1, 2, 3], 1, 0),
        (lambda: DropOldestQueue(3), [2, 3, 4], 1, 0),
        (lambda: LatestQueue(lambda item: item, 3), [2, 3, 4], 1, 0),
        (lambda: LatestQueue(lambda item: item % 3, 3), [4, 2, 3], 0, 1),
    ],
    ids=["newest", "oldest", "latest-new-key", "latest-same-key"],
)
def test_nothing_is_dropped_at_the_limit_and_one_item_beyond_it(make, kept, dropped, conflated):
    queue = make()
    for item in (1, 2, 3):
        queue.put(item)
    assert (len(queue), queue.dropped, queue.conflated) == (3, 0, 0)
    queue.put(4)
    assert (queue.dropped, queue.conflated) == (dropped, conflated)
    assert queue.take(9) == kept


@pytest.mark.parametrize("make", [PlainQueue, DropNewestQueue, DropOldestQueue])
def test_a_capacity_of_zero_is_refused(make):
    with pytest.raises(ValueError, match="at least 1"):
        make(0)
