"""Signals, fork, threads, and the shared driver as a program."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rstream import _core, errors
from rstream.client import Client
from rstream.config import DriverConfig
from rstream.driver import Driver, ensure_driver, rstreamd_path
from tests.binding._util import IPC, pair, receive, run_python, send, until

WAITS = {
    "subscription": "subscription.wait()",
    "publication": "publication.wait()",
    "waiter": "waiter = client.core.waiter(); waiter.attach(other.core); waiter.wait(1e9)",
    "await": "Client(sys.argv[1] + '-absent', start_driver=False)",
}


@pytest.mark.parametrize("kind", WAITS)
def test_ctrl_c_ends_every_wait(driver_dir, kind):
    code = f"""
import sys, time
from rstream.driver import Driver
from rstream.client import Client
with Driver(sys.argv[1]), Client(sys.argv[1], start_driver=False) as client:
    subscription = client.add_subscription("aeron:ipc", 1)
    other = client.add_subscription("aeron:ipc", 2)
    publication = client.add_publication("aeron:ipc", 3)
    print("ready", flush=True)
    try:
        while True:
            {WAITS[kind]}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, driver_dir], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == "ready\n"
        time.sleep(0.15)
        begin_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert output.readline() == "interrupted\n"
        took_s = time.monotonic() - begin_s
    assert process.wait(10) == 0
    assert took_s < 1.0


def test_a_signal_handler_may_close_a_waiting_client(driver_dir):
    run_python(
        """
        import signal, sys
        from rstream import errors
        from rstream.driver import Driver
        from rstream.client import Client
        with Driver(sys.argv[1]):
            client = Client(sys.argv[1], start_driver=False)
            subscription = client.add_subscription("aeron:ipc", 1)
            signal.signal(signal.SIGALRM, lambda *_: client.close())
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            try:
                while True: subscription.wait()
            except errors.ClosedError:
                sys.exit(0)
            sys.exit(1)
        """,
        driver_dir,
    )


def test_handles_of_a_forked_child_raise(driver_dir):
    run_python(
        """
        import os, sys
        from rstream import errors
        from rstream.driver import Driver
        from rstream.client import Client
        driver = Driver(sys.argv[1])
        client = Client(sys.argv[1], start_driver=False)
        subscription = client.add_subscription("aeron:ipc", 1)
        publication = client.add_publication("aeron:ipc", 1)
        counter = client.add_counter(1001, "mine")
        (image,) = subscription.images()
        while publication.offer(b"before") < 0: pass
        view = memoryview(subscription.poll(1).messages()[0])
        pid = os.fork()
        if pid == 0:
            uses = [
                lambda: publication.offer(b"x"), lambda: publication.offer_many([b"x"]),
                lambda: publication.try_claim(3), lambda: client.add_publication("aeron:ipc", 2),
                lambda: client.state, lambda: driver.do_work(), lambda: subscription.wait(0.1),
                lambda: counter.value, lambda: counter.add(1),
                lambda: client.add_counter(1001, "x"),
                lambda: client.read_counter(0), lambda: list(client.counter_events()),
                lambda: client.next_session_id(1), lambda: list(publication.errors()),
                lambda: publication.add_destination("aeron:udp?endpoint=localhost:1"),
                lambda: subscription.add_destination("aeron:udp?endpoint=localhost:1"),
                lambda: subscription.reject(image),
            ]
            for number, use in enumerate(uses):
                try:
                    use()
                except errors.ForkedError:
                    continue
                os._exit(10 + number)
            if bytes(view) != b"before": os._exit(30)
            view.release()
            try:
                subscription.poll(1)
                os._exit(31)
            except errors.ForkedError:
                pass
            subscription.close(); publication.close(); client.close(); driver.close()
            fresh = Client(sys.argv[1], start_driver=False)  # the parent's driver still serves
            p = fresh.add_publication("aeron:ipc", 1)
            while not p.is_connected: p.wait(1)
            while p.offer(b"child") < 0: pass
            fresh.close()
            sys.exit(0)  # atexit must leave the parent's driver alone
        view.release()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        got = []
        while b"child" not in got:
            subscription.wait(5)
            got += subscription.poll(10)
        while publication.offer(b"after") < 0: pass
        client.close(); driver.close()
        """,
        driver_dir,
        flags=("-W", "ignore::DeprecationWarning"),
    )


def test_two_threads_on_one_subscription(client):
    _publication, subscription = pair(client)
    while subscription.wait(0):
        list(subscription.events())
        subscription.poll(10).release()
    entered = threading.Event()

    def wait():
        entered.set()
        with contextlib.suppress(errors.ClosedError):
            subscription.wait(3.0)

    thread = threading.Thread(target=wait)
    thread.start()
    entered.wait()
    time.sleep(0.1)
    try:
        with pytest.raises(errors.ConcurrentUseError):
            subscription.wait(0.1)
        with pytest.raises(errors.ConcurrentUseError, match="one consumer"):
            subscription.poll(1)
    finally:
        subscription.close()
        with pytest.raises(errors.ClosedError):
            subscription.poll(1)
        thread.join()


def test_a_publication_is_shared_by_threads(client):
    publication, subscription = pair(client)
    per_thread, threads = 2000, 4

    def work(number):
        for i in range(per_thread):
            message = b"%d:%d" % (number, i)
            while publication.offer(message) < 0:
                publication_wait()

    def publication_wait():
        time.sleep(0.0005)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    got = receive(subscription, per_thread * threads, 60)
    for worker in workers:
        worker.join()
    for number in range(threads):
        mine = [m for m in got if m.startswith(b"%d:" % number)]
        assert mine == [b"%d:%d" % (number, i) for i in range(per_thread)]


def test_waiter_wakes_for_any_of_many(client):
    first, second = pair(client, 1)[1], pair(client, 2)
    publication, subscription = second
    waiter = client.core.waiter()
    waiter.attach(first.core)
    waiter.attach(subscription.core)
    waiter.attach(subscription.core)
    for one in (first, subscription):
        list(one.events())
        one.poll(10).release()
    until(lambda: not waiter.wait(0.0))
    threading.Timer(0.05, lambda: send(publication, b"x")).start()
    assert waiter.wait(5.0)
    assert receive(subscription, 1) == [b"x"]
    threading.Timer(0.05, waiter.wake).start()
    assert waiter.wait(5.0)
    import select

    until(lambda: not waiter.wait(0.0))
    assert waiter.arm() is False
    send(publication, b"y")
    assert select.select([waiter.fileno()], [], [], 5.0)[0]
    waiter.disarm()
    waiter.detach(subscription.core)
    with pytest.raises(TypeError):
        waiter.attach(client)
    waiter.close()


def test_gil_is_free_while_waiting(client):
    _publication, subscription = pair(client)
    while subscription.wait(0):
        list(subscription.events())
        subscription.poll(10).release()
    count = 0
    done = threading.Event()

    def spin():
        nonlocal count
        while not done.is_set():
            count += 1

    thread = threading.Thread(target=spin)
    thread.start()
    subscription.wait(0.3)
    done.set()
    thread.join()
    assert count > 10_000


# ---- the program ----


def test_shared_driver_starts_itself_and_ends_when_idle(driver_dir):
    config = DriverConfig(idle_exit_s=0.5, timer_interval_s=0.1, ipc_term_length=1 << 16)
    with Client(driver_dir, driver_config=config) as client:
        pid = _core.driver_info(driver_dir).pid
        assert pid != os.getpid()
        assert os.readlink(f"/proc/{pid}/exe") == os.path.realpath(rstreamd_path())
        with open(f"/proc/{pid}/stat") as file:
            # the program has been adopted
            assert int(file.read().rsplit(")", 1)[1].split()[1]) != os.getpid()
        publication, subscription = pair(client)
        send(publication, b"x")
        assert receive(subscription, 1) == [b"x"]
    until(lambda: _core.probe(driver_dir) == 0, 15)
    until(lambda: not os.path.exists(f"/proc/{pid}"))
    assert not os.path.exists(driver_dir)


def test_many_starters_get_one_driver(driver_dir):
    code = """
import sys
from rstream.driver import ensure_driver
from rstream import _core
print(_core.driver_info(ensure_driver(sys.argv[1], timeout_s=30)).pid)
sys.stdout.flush()
sys.stdin.read()
"""
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code, driver_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    pids = {starter.communicate(timeout=60)[0].strip() for starter in starters}
    assert all(starter.returncode == 0 for starter in starters)
    assert len(pids) == 1, pids


def test_killed_driver_is_replaced_by_the_next_use(driver_dir):
    ensure_driver(driver_dir)
    first = _core.driver_info(driver_dir).pid
    os.kill(first, signal.SIGKILL)
    until(lambda: _core.probe(driver_dir) == 1)
    with Client(driver_dir) as client:
        second = _core.driver_info(driver_dir).pid
        assert second != first
        pair(client)


def test_a_driver_that_cannot_start_reports_the_cause(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(errors.DriverError, match="could not be started"):
        ensure_driver(blocked / "driver")
    with pytest.raises(errors.DriverError, match="mtu"):
        ensure_driver(tmp_path / "driver", config=DriverConfig(mtu=7))


def test_log_of_the_program(driver_dir, tmp_path):
    log = tmp_path / "driver.log"
    with pytest.raises(errors.DriverError):
        ensure_driver(driver_dir, config=DriverConfig(mtu=7), log=log)
    assert "mtu" in log.read_text()


def test_embedded_and_shared_exclude_each_other(driver_dir):
    ensure_driver(driver_dir)
    with pytest.raises(errors.DriverInUse):
        Driver(driver_dir)
    with Client(driver_dir, start_driver=False) as client:
        assert client.add_publication(IPC, 1).is_ipc
