"""No order of closing and releasing crashes, leaks or exposes freed memory."""

from __future__ import annotations

import gc
import itertools
import os
import random
import threading
import time

import pytest

from rstream import _core, errors
from rstream.client import Client
from rstream.driver import Driver
from tests.binding._util import IPC, pair, receive, run_python, send, until


def test_release_with_living_views_is_refused(client):
    publication, subscription = pair(client)
    send(publication, b"abc", b"def")
    batch = subscription.poll(10)
    view = memoryview(batch.messages()[0])
    with pytest.raises(BufferError, match="1 living view"):
        batch.release()
    with pytest.raises(BufferError, match="before the next poll"):
        subscription.poll(1)
    assert view.readonly
    assert bytes(view) == b"abc"
    view.release()
    batch.release()
    batch.release()


def test_next_poll_releases_the_last_batch(client):
    publication, subscription = pair(client)
    send(publication, b"abc", b"def")
    first = subscription.poll(1)
    message = first.messages()[0]
    assert list(subscription.poll(1)) == [b"def"]
    assert len(first) == 1
    for use in (
        first.to_list,
        first.messages,
        first.headers,
        lambda: list(first),
        lambda: first.common_header,
        lambda: first.end_position,
    ):
        with pytest.raises(errors.ClosedError, match="released"):
            use()
    with pytest.raises(errors.ClosedError, match="released"):
        bytes(message)
    with pytest.raises(BufferError, match="released"):
        memoryview(message)


def test_unreleased_batch_is_back_pressure(client):
    publication, subscription = pair(client)
    send(publication, b"x")
    batch = subscription.poll(1)
    filled = until(lambda: publication.offer(b"y" * 1000) < 0 and publication.position)
    batch.release()
    until(lambda: publication.offer(b"z") > 0 or len(subscription.poll(1000)) < 0)
    assert publication.position > filled


def test_views_outlive_close(driver_dir, driver):
    client = Client(driver_dir, start_driver=False)
    publication, subscription = pair(client)
    send(publication, b"precious")
    view = memoryview(subscription.poll(1).messages()[0])
    claim = publication.try_claim(4)
    writable = memoryview(claim)
    client.close()
    assert client.state == 1
    assert subscription.is_closed
    assert bytes(view) == b"precious"
    writable[:] = b"late"
    assert publication.offer(b"x") == -4
    with pytest.raises(errors.ClosedError):
        subscription.poll(1)
    del client, subscription, publication
    gc.collect()
    assert bytes(view) == b"precious"
    view.release()
    writable.release()
    del claim


def test_a_view_kept_beyond_its_claim_aborts_the_claim(client):
    publication, subscription = pair(client)
    kept = []
    with pytest.raises(BufferError, match="living view"), publication.try_claim(4) as view:
        kept.append(memoryview(view))
    send(publication, b"next")
    assert receive(subscription, 1) == [b"next"]
    publication.close()
    kept[0][:] = b"safe"  # the memory still exists
    kept[0].release()


NAMES = (
    "client",
    "publication",
    "subscription",
    "batch",
    "message",
    "view",
    "claim",
    "waiter",
    "driver",
)


@pytest.mark.parametrize("seed", range(12))
def test_references_may_be_dropped_in_any_order(driver_dir, seed):
    order = list(NAMES)
    random.Random(seed).shuffle(order)
    things = {}
    things["driver"] = _core.Driver({"dir": driver_dir, "ipc-term-buffer-length": "64k"})
    things["driver"].start()
    client = things["client"] = _core.Client(driver_dir, "", 5000, 500_000_000)
    subscription = things["subscription"] = client.add_subscription(IPC, 1, 5.0)
    publication = things["publication"] = client.add_publication(IPC, 1, seed % 2 == 0, 5.0)
    until(
        lambda: things["publication"].available_window > 0 and things["subscription"].is_connected
    )
    things["waiter"] = client.waiter()
    things["waiter"].attach(subscription)
    things["waiter"].attach(publication)
    assert publication.offer(b"x" * 50) > 0
    assert subscription.wait(1.0)
    things["batch"] = subscription.poll(1)
    things["message"] = things["batch"].messages()[0]
    things["view"] = memoryview(things["message"])
    things["claim"] = publication.try_claim(8)
    del client, subscription, publication
    for number, name in enumerate(order):
        thing = things.pop(name)
        if hasattr(thing, "close") and (seed + number) % 2:
            thing.close()
        del thing
        gc.collect()


def test_pairs_of_closes_in_every_order(driver, driver_dir):
    for order in itertools.permutations(range(4)):
        core = _core.Client(driver_dir, "", 5000, 500_000_000)
        waiter = core.waiter()
        subscription = core.add_subscription(IPC, 1, 5.0)
        publication = core.add_publication(IPC, 1, False, 5.0)
        waiter.attach(subscription)
        closers = [core.close, waiter.close, subscription.close, publication.close]
        for index in order:
            closers[index]()
            closers[index]()
        assert core.state == 1


def test_use_after_close_raises_closed(client):
    """A5."""
    publication, subscription = pair(client)
    waiter = client.core.waiter()
    waiter.attach(subscription.core)
    client.close()
    for use in (
        lambda: client.add_publication(IPC, 1),
        lambda: client.add_subscription(IPC, 1),
        lambda: subscription.wait(0),
        lambda: publication.wait(0),
        lambda: subscription.poll(1),
        lambda: waiter.wait(0.0),
        lambda: waiter.fileno(),
        lambda: waiter.arm(),
        lambda: client.core.waiter(),
    ):
        with pytest.raises(errors.ClosedError):
            use()
    subscription.request(1)
    assert (subscription.demand, subscription.fill, subscription.image_count) == (0, (0, 0), 0)
    assert subscription.next_event() is None
    assert subscription.local_address is None
    waiter.wake()
    waiter.disarm()
    waiter.detach(subscription.core)


def test_messages_come_before_the_error_of_a_closed_driver(driver_dir):
    driver = Driver(driver_dir, ipc_term_length=1 << 16)
    with Client(driver_dir, start_driver=False) as client:
        publication, subscription = pair(client)
        send(publication, b"left behind")
        driver.close()
        until(lambda: client.state == 2)
        assert publication.offer(b"x") == -4
        assert list(subscription.poll(10)) == [b"left behind"]
        with pytest.raises(errors.DriverLost):
            for _ in range(10):
                subscription.poll(10)
        with pytest.raises(errors.DriverLost):
            client.add_publication(IPC, 2)


def test_unclosed_client_is_named(driver, driver_dir):
    client = Client(driver_dir, start_driver=False)
    client_id = client.client_id
    with pytest.warns(ResourceWarning, match=rf"Client {client_id} in .*test_lifetimes.py:\d+"):
        del client
        gc.collect()


def test_unclosed_driver_is_named(driver_dir):
    driver = Driver(driver_dir)
    named = rf"Driver {driver_dir}> was not closed; made at .*test_lifetimes.py:\d+"
    with pytest.warns(ResourceWarning, match=named):
        del driver
        gc.collect()
    assert not os.path.exists(driver_dir)


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del client", "subscription.wait(0.01)"])
def test_exit_without_closing_leaves_nothing(driver_dir, end):
    run_python(
        f"""
        import sys
        from rstream.driver import Driver
        from rstream.client import Client
        driver = Driver(sys.argv[1])
        client = Client(sys.argv[1], start_driver=False)
        subscription = client.add_subscription("aeron:ipc", 1)
        publication = client.add_publication("aeron:ipc", 1)
        while publication.offer(b"x") < 0: pass
        view = memoryview(subscription.poll(1).messages()[0])
        {end}
        """,
        driver_dir,
        flags=("-W", "ignore::ResourceWarning"),
    )
    assert not os.path.exists(driver_dir)


def test_close_wakes_threads_that_wait(client):
    _publication, subscription = pair(client)
    waiter = client.core.waiter()
    waiter.attach(subscription.core)
    raised: list[BaseException] = []

    def wait(use):
        try:
            while True:
                use(60.0)
        except errors.RStreamError as error:
            raised.append(error)

    while subscription.wait(0):
        list(subscription.events())
        subscription.poll(10).release()
    threads = [
        threading.Thread(target=wait, args=(use,)) for use in (subscription.wait, waiter.wait)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    begin_s = time.monotonic()
    client.close()
    for thread in threads:
        thread.join(5)
    assert time.monotonic() - begin_s < 2
    assert [type(error) for error in raised] == [errors.ClosedError] * 2


LEAK = """
    import gc, resource, sys
    from rstream import _core
    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    driver = _core.Driver({"dir": sys.argv[1], "ipc-term-buffer-length": "64k"})
    driver.start()
    client = _core.Client(sys.argv[1], "", 5000, 500_000_000)
    def setup():
        s = client.add_subscription("aeron:ipc", 1, 5.0)
        p = client.add_publication("aeron:ipc", 1, False, 5.0)
        while not (p.is_connected and s.is_connected): pass
        return p, s
    def traffic(p, s, rounds):
        items = [bytes([i]) * 300 for i in range(20)]
        big = b"b" * 5000
        for _ in range(rounds):
            p.offer_many(items); p.offer_many([bytearray(b"x")])
            p.offer_parts([b"a", b"b"]); p.offer(big)
            claim = p.try_claim(10)
            if not isinstance(claim, int):
                with claim as view: view[:] = b"0123456789"
            with s.poll(30) as batch:
                list(batch); batch.headers(); batch.positions(); batch.session_ids()
                batch.common_header; batch.end_position
                views = [memoryview(m) for m in batch.messages()]
                for view in views: view.release()
            s.next_event(); s.wait(0); s.images(); s.held; s.segments
            p.left; p.left_who; p.demand; p.next_error(); _core.last_error()
            try: p.offer_many([b"x", 1], p.offer_many([b"x", 1])[0])
            except TypeError: pass
            try: batch.to_list()
            except Exception: pass
    def handles():
        p, s = setup()
        w = client.waiter(); w.attach(s); w.attach(p); w.wait(0); w.close()
        traffic(p, s, 3)
        p.close(); s.close()
        try: client.add_publication("aeron:nonsense", 1, False, 1.0)
        except Exception: pass
    def clients():
        c = _core.Client(sys.argv[1], "x", 5000, 500_000_000)
        c.add_subscription("aeron:ipc", 1, 5.0)
        c.close()
    def tools():
        for _ in range(20):
            _core.read_counters(sys.argv[1]); _core.read_errors(sys.argv[1])
            _core.read_clients(sys.argv[1]); _core.read_holders(sys.argv[1])
            for read in (_core.read_held_by, _core.read_last_reader, _core.read_segments):
                read(sys.argv[1], steady[0].registration_id)
            _core.driver_info(sys.argv[1]); _core.aeron_names(); client.read_counter(0)
            _core.probe(sys.argv[1]); _core.driver_options(); _core.build_config()
    steady = setup()
    kinds = {
        "traffic": lambda: traffic(*steady, 300),
        "handles": handles, "clients": clients, "tools": tools,
    }
    action = kinds[sys.argv[2]]
    rounds = int(sys.argv[3])
    for _ in range(rounds): action()
    gc.collect()
    before = rss()
    for _ in range(3 * rounds): action()
    gc.collect()
    grown = rss() - before
    print(grown)
    assert grown < 768 * 1024, f"grew by {grown} bytes in {3 * rounds} rounds"
"""


@pytest.mark.parametrize(
    ("kind", "rounds"), [("traffic", 20), ("handles", 60), ("clients", 20), ("tools", 20)]
)
def test_no_leak(driver_dir, kind, rounds):
    run_python(LEAK, driver_dir, kind, str(rounds))


CLOSE_TOGETHER = """
    import sys, threading, time
    from rstream import errors
    from rstream.client import Client
    from rstream.driver import Driver

    def wait(waiter):
        try:
            while True:
                waiter.wait(60.0)
        except errors.ClosedError:
            pass

    def close(waiter):
        waiter.close()

    with Driver(sys.argv[1]):
        for _ in range(100):
            client = Client(sys.argv[1], start_driver=False)
            waiter = client.core.waiter()
            waiter.attach(client.add_subscription("aeron:ipc", 1).core)
            threads = [threading.Thread(target=use, args=(waiter,)) for use in (wait, close)]
            for thread in threads:
                thread.start()
            try:
                while True:
                    waiter.fileno()
                    time.sleep(0)
            except errors.ClosedError:
                client.close()  # the other thread has begun and has not ended, or it has
            for thread in threads:
                thread.join()
"""


def test_a_client_closes_while_another_thread_closes_its_waiter(driver_dir):
    """It runs in a process of its own: a deadlock that keeps the interpreter lock cannot be stopped
    from within.
    """
    run_python(CLOSE_TOGETHER, driver_dir)
