"""Views that outlive the lease of their batch: valid until they go, and then nothing is left."""

from __future__ import annotations

import gc
import itertools
import queue
import threading

import pytest

from rstream import errors
from rstream.client import Client
from tests.binding._util import pair, receive, run_python, send, until

LARGE_FRAMES = "aeron:ipc?mtu=65504|term-length=1m"
TERM = 1 << 20
SMALL = b"s" * 100
ONE_FRAME = b"f" * 8000  # with LARGE_FRAMES
FRAMES = b"m" * 100_000


def receive_views(subscription, count, copied_below=4096):
    """The batches of ``count`` messages, and the views of the messages in them."""
    kept = []
    while len(kept) < count:
        batch = subscription.poll(count - len(kept))
        kept += [
            each if type(each) is bytes else memoryview(each) for each in batch.views(copied_below)
        ]
        batch.keep()
        if len(kept) < count:
            subscription.wait(0.1)
    return kept


def test_messages_below_a_length_are_copied(client):
    publication, subscription = pair(client, channel=LARGE_FRAMES)
    send(publication, SMALL, ONE_FRAME, FRAMES)
    kept = receive_views(subscription, 3)
    assert [type(each) for each in kept] == [bytes, memoryview, memoryview]
    assert [bytes(each) for each in kept] == [SMALL, ONE_FRAME, FRAMES]
    assert kept[1].readonly


def test_an_assembled_message_holds_no_part_of_the_log(client):
    publication, subscription = pair(client, channel="aeron:ipc?term-length=1m")
    kept = []
    for number in range(40):  # four terms
        send(publication, bytes([number]) * 100_000)
        kept += receive_views(subscription, 1)
        assert subscription.core.held.held_bytes == 0
    for number, view in enumerate(kept):
        assert bytes(view) == bytes([number]) * 100_000


def test_a_view_in_the_log_stays_as_it_was_and_holds_the_publisher_back(client):
    publication, subscription = pair(client, channel=LARGE_FRAMES)
    send(publication, ONE_FRAME)
    (view,) = receive_views(subscription, 1)
    sent = 0
    while publication.offer(b"x" * 8000) > 0:
        sent += 1
        assert len(receive(subscription, 1)) == 1
    held, window, mtu = subscription.core.held
    assert (window, sent, mtu) == (TERM // 2, TERM // 2 // 8032, 65504)
    assert held > window * 0.95
    assert bytes(view) == ONE_FRAME
    view.release()
    assert subscription.core.held.held_bytes == 0
    for _ in range(3 * sent):
        send(publication, SMALL)
        receive(subscription, 1)


def test_the_oldest_view_holds(client):
    publication, subscription = pair(client, channel=LARGE_FRAMES)
    send(publication, *[ONE_FRAME] * 3)
    first, second, third = receive_views(subscription, 1) + receive_views(subscription, 2)
    frame = 8032
    assert subscription.core.held.held_bytes == 3 * frame
    second.release()
    assert subscription.core.held.held_bytes == 3 * frame
    first.release()
    assert subscription.core.held.held_bytes == 2 * frame  # second and third came in one batch
    third.release()
    assert subscription.core.held.held_bytes == 0


def test_a_batch_without_living_views_is_released(client):
    publication, subscription = pair(client, channel=LARGE_FRAMES)
    send(publication, ONE_FRAME, SMALL)
    batch = subscription.poll(1)
    messages = batch.views(0)
    batch.keep()
    batch.keep()
    assert subscription.core.held.held_bytes == 0
    with pytest.raises(BufferError, match="released"):
        memoryview(messages[0])
    with pytest.raises(errors.ClosedError, match="released"):
        batch.to_list()
    later = subscription.poll(1)
    batch.keep()  # of an old one: the open lease stays
    assert later.to_list() == [SMALL]


def test_polls_use_the_memory_of_views_that_are_gone_again(client):
    """And a larger limit in between changes nothing."""
    publication, subscription = pair(client, channel="aeron:ipc?term-length=1m")
    for number in range(30):
        send(publication, bytes([number]) * 20_000)
        (view,) = receive_views(subscription, 1)
        if number == 10:
            subscription.poll(5000).release()
        assert bytes(view) == bytes([number]) * 20_000


def test_a_view_outlives_what_it_came_from(driver, driver_dir):
    for order in itertools.permutations(["view", "subscription", "client"]):
        client = Client(driver_dir, start_driver=False)
        publication, subscription = pair(client, channel=LARGE_FRAMES)
        send(publication, ONE_FRAME, FRAMES)
        views = receive_views(subscription, 1) + receive_views(subscription, 1)
        for what in order:
            if what == "view":
                assert [bytes(view) for view in views] == [ONE_FRAME, FRAMES]
                views.clear()
            elif what == "subscription":
                subscription.close()
            else:
                client.close()
            gc.collect()
        assert subscription.is_closed


def test_a_closed_subscription_leaves_the_driver_unless_a_view_lies_in_its_log(client):
    for message, is_held in ((FRAMES, False), (ONE_FRAME, True)):
        publication, subscription = pair(client, channel=LARGE_FRAMES)
        send(publication, message)
        (view,) = receive_views(subscription, 1)
        subscription.close()
        if is_held:
            while publication.offer(b"x" * 8000) > 0:
                pass  # up to its window; the bytes of the view stay
            assert publication.is_connected
            assert bytes(view) == message
            assert subscription.core.held.held_bytes == 8032
            view.release()
        until(lambda publication=publication: not publication.is_connected)
        assert subscription.core.held == (0, 0, 0)
        publication.close()


def test_views_are_dropped_by_other_threads_while_one_polls(client):
    publication, subscription = pair(client, channel=LARGE_FRAMES)
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    wrong = []

    def drop():
        while (item := waiting.get()) is not None:
            number, view = item
            if bytes(view) != bytes([number]) * len(view):
                wrong.append(number)
            del item, view

    threads = [threading.Thread(target=drop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(200):
        send(publication, bytes([number]) * (5000 if number % 2 else 70_000))
        waiting.put((number, *receive_views(subscription, 1)))
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join(20)
    assert not wrong
    assert subscription.core.held.held_bytes == 0


def test_an_array_made_of_a_view_holds_it(client):
    np = pytest.importorskip("numpy")
    publication, subscription = pair(client, channel=LARGE_FRAMES)
    send(publication, ONE_FRAME)
    (view,) = receive_views(subscription, 1)
    part = np.frombuffer(view, "u1")[10:20].reshape(2, 5).T
    del view
    assert subscription.core.held.held_bytes > 0
    assert bytes(part.tobytes()) == b"f" * 10
    del part
    assert subscription.core.held.held_bytes == 0


def test_views_do_not_leak_and_survive_the_end_of_the_interpreter(driver_dir):
    code = """
        import resource, sys
        from rstream.client import Client
        from rstream.driver import Driver
        from tests.binding._util import pair, send

        driver = Driver(dir=sys.argv[1])
        client = Client(sys.argv[1], start_driver=False)
        publication, subscription = pair(client, channel="aeron:ipc?mtu=65504|term-length=1m")

        def turn(count):
            for _ in range(count):
                send(publication, b"m" * 100_000)
                batch = subscription.poll(1)
                views = [memoryview(each) for each in batch.views(0)]
                batch.keep()
            return views

        turn(100)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kept = turn(1000)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
        send(publication, b"f" * 8000)
        batch = subscription.poll(1)
        last = memoryview(batch.views(0)[0])
        batch.keep()
        print(len(kept), len(last))
    """
    assert run_python(code, driver_dir).split() == ["1", "8000"]
