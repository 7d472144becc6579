"""Streams over UDP with one key at both ends: everything flows as without it.

Each end has a driver of its own, as on two hosts, unless the test says otherwise.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import rstream
from rstream import _core, aio, keys, work
from rstream.config import DriverConfig
from rstream.driver import Driver, ensure_driver
from rstream.errors import ReadTimeout, RStreamError
from rstream.keys import GroupKey
from tests.support import free_port, in_thread, until
from tests.system.both_ends import PATIENCE_S, both_ends, errors_of, flows, refusals

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def given(
    request: pytest.FixtureRequest,
    udp: str,
    key: GroupKey,
    key_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    """The channel and the key as arguments, in one of the forms that a key may have."""
    monkeypatch.setenv("MY_KEY", key.secret.hex())
    if request.param == "RSTREAM_KEY_FILE":
        monkeypatch.setenv("RSTREAM_KEY_FILE", str(key_file))
    forms: dict[str, dict[str, Any]] = {
        "GroupKey": {"key": key},
        "file": {"key": f"file:{key_file}"},
        "env": {"key": "env:MY_KEY"},
        "channel": {"channel": rstream.Channel.parse(udp).replace(key=key.reference)},
        "RSTREAM_KEY_FILE": {},
    }
    return {"channel": udp} | forms[request.param]


@pytest.mark.parametrize(
    "given", ["GroupKey", "file", "env", "channel", "RSTREAM_KEY_FILE"], indirect=True
)
def test_one_key_at_both_ends(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, given: dict[str, Any]
) -> None:
    """The reader has it in each of the forms, and the publisher as GroupKey."""
    near, far = hosts
    with (
        rstream.subscriber(name, dir=near, **given) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
    ):
        flows(sub, pub, "text", 7, {"px": 1.5}, b"x" * 5000)
        assert pub.wait_consumed(timeout_s=PATIENCE_S)
        assert refusals(sub) == refusals(pub) == []
    assert errors_of(near) == errors_of(far) == ""


def test_a_port_takes_another_key_once_its_reader_has_left(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    """The socket stays a while for the publisher's sake; the next reader waits for its end."""
    for one in (key, None, GroupKey.new()):
        with both_ends(hosts, name, channel=udp, key=one) as (sub, pub):
            flows(sub, pub, 1, 2)


def test_large_messages_and_batches(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    large = os.urandom(5_000_000)
    with both_ends(hosts, name, bytes, channel=udp, key=key) as (sub, pub):
        sends = in_thread(pub.send, large)
        assert sub.get(timeout_s=PATIENCE_S) == large
        sends.join(PATIENCE_S)
        many = [b"%d" % number for number in range(20_000)]
        sends = in_thread(pub.send_many, many)
        assert [sub.get(timeout_s=PATIENCE_S) for _ in many] == many
        sends.join(PATIENCE_S)


def test_lost_and_reordered_datagrams_are_repaired(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey
) -> None:
    """The injected losses are above the seals, so every repair is sealed anew."""
    options = {"fault-receive-data-loss": "0.05", "fault-seed": "3"}
    with (
        Driver(make_driver_dir(), options=options) as near,
        Driver(make_driver_dir()) as far,
        both_ends((near.dir, far.dir), name, channel=udp, key=key) as (sub, pub),
    ):
        sends = in_thread(pub.send_many, range(20_000))
        assert [sub.get(timeout_s=PATIENCE_S) for _ in range(20_000)] == list(range(20_000))
        sends.join(PATIENCE_S)


@pytest.mark.parametrize("mtu", [None, 1408, 8192, 65504, 128])
def test_datagrams_of_every_length(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, mtu: int | None
) -> None:
    with both_ends(hosts, name, channel=udp, key=key, mtu=mtu) as (sub, pub):
        flows(sub, pub, b"x", b"y" * 70_000)


def test_a_datagram_without_room_for_the_seal_is_refused(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    with pytest.raises(RStreamError, match="mtu=96: with rs-key at least 128, since 48 bytes"):
        rstream.publisher(name, channel=udp, dir=hosts[1], key=key, mtu=96)


def test_event_loops(hosts: tuple[str, str], udp: str, name: str, key: GroupKey) -> None:
    near, far = hosts

    async def talk() -> None:
        async with (
            aio.subscriber(name, channel=udp, dir=near, key=key) as sub,
            aio.publisher(name, channel=udp, dir=far, key=key) as pub,
        ):
            for number in range(100):
                await pub.send(number)
            with anyio.fail_after(PATIENCE_S):
                assert [await sub.get() for _ in range(100)] == list(range(100))

    anyio.run(talk)


@pytest.mark.parametrize("given", ["channel", "RSTREAM_KEY_FILE"], indirect=True)
def test_a_service(hosts: tuple[str, str], name: str, given: dict[str, Any]) -> None:
    """Questions and answers; the port of the answers has the key too."""
    near, far = hosts
    answer = rstream.serve(name, dir=near, **given)(lambda query: query * 2)
    with answer, rstream.service.requester(name, dir=far, **given) as asks:
        assert asks.request(21, timeout_s=PATIENCE_S) == 42
        assert asks.request("x" * 50_000, timeout_s=PATIENCE_S) == "x" * 100_000
        used = {one.label.rpartition("aeron:")[2] for one in _core.read_counters(far)}
    sockets = [one for one in used if one.startswith("udp")]
    assert sockets
    assert all("rs-key=" in one for one in sockets)


def test_shared_work(hosts: tuple[str, str], udp: str, name: str, key: GroupKey) -> None:
    near, far = hosts
    channel = f"{udp}|rs-key={key.reference}"
    with (
        work.subscriber(name, channel=channel, dir=near) as jobs,
        work.publisher(name, channel=channel, dir=far) as pub,
    ):
        sends = in_thread(lambda: [pub.send(n, timeout_s=PATIENCE_S) for n in range(500)])
        came: list[int] = []
        while len(came) < 500:
            job = jobs.get(timeout_s=PATIENCE_S)
            came.append(job.item)
            job.ack()
        sends.join(PATIENCE_S)
    assert sorted(came) == list(range(500))


def test_multicast(hosts: tuple[str, str], name: str, key: GroupKey) -> None:
    """Two readers of one group, on two hosts."""
    near, far = hosts
    group = f"aeron:udp?endpoint=224.20.30.53:{free_port()}|interface=127.0.0.1|fc=min,g:/2"
    with (
        rstream.subscriber(name, channel=group, dir=near, key=key) as one,
        rstream.subscriber(name, channel=group, dir=far, key=key) as other,
        rstream.publisher(name, channel=group, dir=far, key=key) as pub,
    ):
        pub.send_many(range(500), timeout_s=PATIENCE_S)
        for sub in (one, other):
            assert [sub.get(timeout_s=PATIENCE_S) for _ in range(500)] == list(range(500))


def test_dynamic_destinations(hosts: tuple[str, str], name: str, key: GroupKey) -> None:
    near, far = hosts
    at = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    with (
        rstream.publisher(name, channel=f"aeron:udp?{at}|fc=min,g:/2", dir=far, key=key) as pub,
        contextlib.ExitStack() as stack,
    ):
        subs = [
            stack.enter_context(
                rstream.subscriber(
                    name,
                    channel=f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{at}",
                    dir=directory,
                    key=key,
                )
            )
            for directory in (near, far)
        ]
        pub.send_many(range(500), timeout_s=PATIENCE_S)
        for sub in subs:
            assert [sub.get(timeout_s=PATIENCE_S) for _ in range(500)] == list(range(500))


def test_manual_destinations(hosts: tuple[str, str], udp: str, key: GroupKey) -> None:
    near, far = hosts
    manual = f"aeron:udp?control-mode=manual|rs-key={key.reference}"
    with (
        rstream.Client(far, start_driver=False) as client,
        rstream.Client(near, start_driver=False) as reads,
        reads.add_subscription(f"{udp}|rs-key={key.reference}", 1001) as sub,
        client.add_publication(manual, 1001) as pub,
    ):
        pub.add_destination(udp)
        until(lambda: pub.is_connected and sub.is_connected)
        assert pub.offer(b"x") > 0

        def came() -> list[bytes]:
            with sub.poll(10) as batch:
                return batch.to_list()

        assert until(came) == [b"x"]


def test_a_spy_reads_what_its_driver_sends(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    """In the publisher's own memory, where nothing is sealed. It may name the key and need not."""
    _, far = hosts
    with (
        both_ends(hosts, name, channel=udp, key=key) as (sub, pub),
        rstream.subscriber(name, channel=f"aeron-spy:{udp}", dir=far) as spy,
        rstream.subscriber(name, channel=f"aeron-spy:{udp}", dir=far, key=key) as named,
    ):
        until(lambda: spy.is_connected and named.is_connected)
        flows(sub, pub, "a", "b")
        for one in (spy, named):
            assert [one.get(timeout_s=PATIENCE_S) for _ in range(2)] == ["a", "b"]


PEER = """
import sys, rstream
from rstream.driver import Driver
directory, name, channel, path, begin = sys.argv[1:]
with Driver(directory), rstream.publisher(
    name, channel=channel, key=f"file:{path}", dir=directory, connect_timeout_s=20
) as pub:
    for number in range(int(begin), int(begin) + 10):
        pub.send(number, timeout_s=20)
    print("sent", flush=True)
    sys.stdin.readline()
"""


def test_a_peer_that_restarts_has_new_salts(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey, key_file: Path
) -> None:
    """Its process is killed with its driver, and comes again in the same directory."""
    directory = make_driver_dir()
    with (
        Driver(make_driver_dir()) as near,
        rstream.subscriber(
            name, channel=udp, dir=near.dir, key=key, stays=True, on_lost="event"
        ) as sub,
    ):
        for begin in (0, 10, 20):
            command = [sys.executable, "-c", PEER, directory, name, udp, str(key_file)]
            with subprocess.Popen(
                [*command, str(begin)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            ) as peer:
                try:
                    assert peer.stdout is not None
                    assert peer.stdout.readline() == "sent\n"
                    expected = list(range(begin, begin + 10))
                    assert [sub.get(timeout_s=PATIENCE_S) for _ in range(10)] == expected
                finally:
                    peer.send_signal(signal.SIGKILL)
        assert refusals(sub) == []


#: Drivers that start themselves again after a kill, and end soon after the test.
SHORT_LIVED = DriverConfig(client_liveness_timeout_s=3.0, idle_exit_s=5.0)


def test_a_restarted_driver_gets_the_key_again(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey
) -> None:
    """Its directory is made anew, without the keys that clients had left there; they rejoin."""
    near = ensure_driver(make_driver_dir(), config=SHORT_LIVED)
    with (
        Driver(make_driver_dir()) as far,
        rstream.subscriber(
            name, channel=udp, dir=near, key=key, stays=True, on_lost="event"
        ) as sub,
        rstream.publisher(name, channel=udp, dir=far.dir, key=key) as pub,
    ):
        flows(sub, pub, 1, 2)
        os.kill(_core.driver_info(near).pid, signal.SIGKILL)
        with pytest.raises(ReadTimeout):
            sub.get(timeout_s=1.0)
        until(lambda: sub.statistics()["rejoins"] == 1)
        assert keys.read_file(next((Path(near) / "keys").iterdir())) == [key]
        until(lambda: pub.is_connected)
        flows(sub, pub, 3)


def test_a_killed_driver_of_the_publisher(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey
) -> None:
    far = ensure_driver(make_driver_dir(), config=SHORT_LIVED)
    with (
        Driver(make_driver_dir()) as near,
        rstream.subscriber(
            name, channel=udp, dir=near.dir, key=key, stays=True, on_lost="event"
        ) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
    ):
        flows(sub, pub, 1)
        os.kill(_core.driver_info(far).pid, signal.SIGKILL)

        def has_rejoined() -> bool:
            with contextlib.suppress(RStreamError):
                pub.send("lost or not", timeout_s=PATIENCE_S)
            return bool(pub.statistics()["rejoins"])

        until(has_rejoined)
        pub.send("after", timeout_s=PATIENCE_S)
        while sub.get(timeout_s=PATIENCE_S) != "after":
            pass
