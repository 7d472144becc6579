"""Streams over UDP whose ends have different keys: what each end is told.

Each end has a driver of its own, as on two hosts.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import rstream
from rstream import aio, rx, work
from rstream.driver import Driver
from rstream.errors import NoServer, NotConnected, ReadTimeout, RegistrationError
from rstream.keys import GroupKey
from tests.compat.__main__ import BUILT
from tests.support import free_port, in_thread, until, until_async
from tests.system.both_ends import (
    PATIENCE_S,
    both_ends,
    errors_of,
    flows,
    refusal,
    refusals,
    screen,
)

ROOT = Path(__file__).resolve().parents[2]

#: What the reader has, what the publisher has, and the meaningful words of both ends' texts.
DIFFERENT: dict[str, tuple[str, str, str, str]] = {
    "another key": (
        "key",
        "other",
        r"127\.0\.0\.1:\d+ seals with key OTHER; this channel has key KEY",
        r"127\.0\.0\.1:\d+ asks for key KEY; this channel has key OTHER",
    ),
    "a plain publisher": (
        "key",
        "none",
        r"127\.0\.0\.1:\d+ sends plain datagrams; this channel has key KEY",
        r"127\.0\.0\.1:\d+ asks for key KEY; this channel has no key",
    ),
    "a plain reader": (
        "none",
        "other",
        r"127\.0\.0\.1:\d+ seals with key OTHER; this channel has no key",
        r"127\.0\.0\.1:\d+ takes plain datagrams only; this channel has key OTHER",
    ),
}

#: What the user can do, behind what is wrong.
REMEDY = r": give both ends one key \(key=, or RSTREAM_KEY_FILE\)"


@pytest.mark.parametrize("case", DIFFERENT)
def test_each_end_is_told_what_the_other_one_has(
    hosts: tuple[str, str], udp: str, name: str, case: str
) -> None:
    """events(), the errors of send and get, `rstream stat` and `rstream errors`, at both ends."""
    near, far = hosts
    group = {"key": GroupKey.new(), "other": GroupKey.new(), "none": None}
    of_reader, of_publisher, *texts = DIFFERENT[case]
    for word in ("key", "other"):
        key = group[word].id  # type: ignore[union-attr]
        texts = [text.replace(word.upper(), key) for text in texts]
    at_reader, at_publisher = texts
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=group[of_reader]) as sub,
        rstream.publisher(
            name, channel=udp, dir=far, key=group[of_publisher], connect_timeout_s=1.0
        ) as pub,
    ):
        assert re.fullmatch(at_reader + REMEDY, refusal(sub))
        assert re.fullmatch(at_publisher + REMEDY, refusal(pub))
        with pytest.raises(NotConnected, match=at_publisher) as refused:
            pub.send("x")
        assert not str(refused.value).rstrip().endswith(";")
        with pytest.raises(ReadTimeout, match=at_reader) as waited:
            sub.get(timeout_s=1.0)
        assert not str(waited.value).rstrip().endswith(";")
        for directory, text in ((near, at_reader), (far, at_publisher)):
            assert re.search(f"  refused: {text}", screen("stat", "--once", "--dir", directory))
            assert re.search(text, screen("errors", "--dir", directory))
            assert len(re.findall(text, errors_of(directory))) == 1
        assert refusals(sub) == refusals(pub) == []  # each peer is told once
        for one in (group["key"], group["other"]):
            for directory in hosts:
                assert one is not None
                assert one.secret.hex() not in screen("stat", "--all", "--once", "--dir", directory)


def test_the_counter_of_a_refusal_goes_when_it_is_over(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    """A peer that comes back with the right key is nobody's problem any more; another one is."""
    near, far = hosts
    with rstream.subscriber(name, channel=udp, dir=near, key=key) as sub:
        with rstream.publisher(name, channel=udp, dir=far, key=None, connect_timeout_s=0.1):
            refusal(sub)
        with rstream.publisher(name, channel=udp, dir=far, key=key) as pub:
            flows(sub, pub, "x")
            until(lambda: "refused" not in screen("stat", "--once", "--dir", near))


@pytest.mark.parametrize("is_aio", [False, True], ids=["thread", "event loop"])
def test_an_event_loop_is_told_alike(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, is_aio: bool
) -> None:
    near, far = hosts
    other = GroupKey.new()
    if not is_aio:
        with rstream.publisher(name, channel=udp, dir=far, key=other, connect_timeout_s=2.0) as pub:
            with rstream.subscriber(name, channel=udp, dir=near, key=key):
                with pytest.raises(NotConnected, match=f"asks for key {key.id}"):
                    pub.send("x")
        return

    async def talk() -> None:
        async with (
            aio.subscriber(name, channel=udp, dir=near, key=key) as sub,
            aio.publisher(name, channel=udp, dir=far, key=other, connect_timeout_s=2.0) as pub,
        ):
            with pytest.raises(NotConnected, match=f"asks for key {key.id}"):
                await pub.send("x")
            told: list[str] = []

            def both() -> bool:
                told.extend([*refusals(sub), *refusals(pub)])
                return len(told) == 2

            await until_async(both)

    anyio.run(talk)


@pytest.mark.parametrize("face", ["thread", "event loop", "Rx"])
@pytest.mark.parametrize("comes", ["before", "after"])
def test_a_waiting_reader_logs_the_refusal(
    hosts: tuple[str, str],
    udp: str,
    name: str,
    key: GroupKey,
    comes: str,
    face: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The wrong publisher comes before the reader's notice, or after it; the log names it once."""
    near, far = hosts
    other = GroupKey.new()
    late_s = 0.5 if comes == "before" else 0.1
    monkeypatch.setattr("rstream.stream._reading._notices.NOTICE_EVERY_S", late_s)
    for module in ("_reading._notices", "_refusals"):
        monkeypatch.setattr(f"rstream.stream.{module}.LOOK_EVERY_S", 0.3)
    options: dict[str, Any] = {"channel": udp, "dir": near, "key": key}

    def lines() -> list[str]:
        return [text for text in caplog.messages if f"seals with key {other.id}" in text]

    async def wait() -> None:
        async with aio.subscriber(name, **options) as sub:
            with pytest.raises(ReadTimeout, match=f"seals with key {other.id}; this channel has"):
                await sub.get(timeout_s=3.0)

    def read() -> None:
        if face == "event loop":
            anyio.run(wait)
        elif face == "thread":
            with rstream.subscriber(name, **options) as sub, pytest.raises(ReadTimeout):
                sub.get(timeout_s=3.0)
        else:
            disposable = rx.from_stream(name, **options).subscribe(lambda _: None)
            until(lines)
            disposable.dispose()

    thread = in_thread(read)
    if comes == "after":
        anyio.run(anyio.sleep, 1.0)
    with rstream.publisher(name, channel=udp, dir=far, key=other, linger_s=0):
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
    (line,) = lines()
    assert re.search(rf"waits for a publisher; 127\.0\.0\.1:\d+ seals with key {other.id}", line)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_time_out_names_a_publisher_that_has_gone(
    hosts: tuple[str, str], udp: str, key: GroupKey, name: str, is_named: bool
) -> None:
    near, far = hosts
    stream_of = name if is_named else 1001
    with rstream.subscriber(stream_of, channel=udp, dir=near, key=key) as sub:
        with rstream.publisher(stream_of, channel=udp, dir=far, key=None, linger_s=0):
            with pytest.raises(ReadTimeout, match="sends plain datagrams"):
                sub.get(timeout_s=1.0)
        until(lambda: "refused" not in screen("stat", "--once", "--dir", near))
        with pytest.raises(ReadTimeout, match=r"\d+ s ago 127\.0\.0\.1:\d+ sends plain datagrams"):
            sub.get(timeout_s=0)


@pytest.mark.parametrize("key", [None, GroupKey.new()], ids=["plain", "sealed"])
def test_a_driver_that_requires_keys(
    driver_dir: str, udp: str, name: str, key: GroupKey | None
) -> None:
    """`key-required`: nothing leaves the host plain; shared memory needs no key."""
    directory = f"{driver_dir}-strict"
    options = {"key-required": "true"}
    with Driver(dir=directory, config=rstream.DriverConfig(options=options)):
        for channel in (None, udp):
            refused = key is None and channel is not None
            for opening in (rstream.publisher, rstream.subscriber):
                with (
                    pytest.raises(RegistrationError, match="RSTREAM_KEY_FILE")
                    if refused
                    else contextlib.nullcontext(),
                    opening(
                        name,
                        channel=channel,
                        dir=directory,
                        key=None if channel is None else key,
                    ),
                ):
                    assert not refused


def test_why_names_the_refusal(hosts: tuple[str, str], udp: str, name: str, key: GroupKey) -> None:
    near, far = hosts
    other = GroupKey.new()
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=key) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=other, linger_s=0) as pub,
    ):
        assert refusal(sub)
        assert refusal(pub)
        text = rf"refused: 127\.0\.0\.1:\d+ asks for key {key.id}; this channel has key {other.id}"
        assert re.search(text, screen("why", name, "--dir", far))
        done = subprocess.run(
            [sys.executable, "-m", "rstream", "why", name, "--dir", near],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert re.search(rf"refused: .* seals with key {other.id}; this channel", done.stderr)
        others = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        with rstream.publisher(f"{name}-2", channel=others, dir=far, linger_s=0):
            assert "refused" not in screen("why", f"{name}-2", "--dir", far)


def test_a_service_with_another_key(hosts: tuple[str, str], udp: str, name: str) -> None:
    near, far = hosts
    one, other = GroupKey.new(), GroupKey.new()
    answer = rstream.serve(name, channel=f"{udp}|rs-key={one.reference}", dir=near)(lambda q: q)
    channel = f"{udp}|rs-key={other.reference}"
    with answer, rstream.service.requester(name, channel=channel, dir=far) as asks:
        with pytest.raises(NoServer, match=f"asks for key {one.id}; this channel has key"):
            asks.request("x", timeout_s=2.0)


def test_shared_work_with_another_key(hosts: tuple[str, str], udp: str, name: str) -> None:
    near, far = hosts
    one, other = GroupKey.new(), GroupKey.new()
    with (
        work.subscriber(name, channel=f"{udp}|rs-key={one.reference}", dir=near) as jobs,
        work.publisher(
            name, channel=f"{udp}|rs-key={other.reference}", dir=far, connect_timeout_s=2.0
        ) as pub,
    ):
        with pytest.raises(NotConnected, match=f"seals with key {one.id}; this channel has key"):
            pub.send("x")
        with pytest.raises(ReadTimeout, match=f"asks for key {other.id}; this channel") as waited:
            jobs.get(timeout_s=1.0)
        assert not str(waited.value).rstrip().endswith(";")


def test_one_wrong_peer_does_not_disturb_the_others(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    with both_ends(hosts, name, channel=udp, key=key) as (sub, pub):
        flows(sub, pub, "before")
        at = f"{udp}|control=127.0.0.1:{free_port()}"
        with rstream.publisher(name, channel=at, dir=hosts[1], key=GroupKey.new()):
            assert "seals with key" in refusal(sub)
            flows(sub, pub, *range(100))
            assert refusals(pub) == []


def test_an_id_that_this_process_has_not(hosts: tuple[str, str], udp: str, name: str) -> None:
    """The driver may have the key of another client: that is not enough."""
    with pytest.raises(rstream.errors.ConfigError, match="this process has no key 0badc0de"):
        rstream.publisher(name, channel=udp, dir=hosts[1], key="id:0badc0de")


def older_python() -> Path | None:
    return next(iter(sorted(BUILT.glob("*/venv/bin/python"))), None)


@pytest.mark.parametrize("role", ["read", "write"])
def test_an_older_release_is_named(
    make_driver_dir: Callable[[], str], udp: str, key: GroupKey, role: str
) -> None:
    """It knows no keys: this end says that the other one sends plainly, or takes nothing else."""
    python = older_python()
    if python is None:
        pytest.skip("no older rstream is built: `make compat` builds one in build/compat")
    old_dir = make_driver_dir()
    ends = str(ROOT / "tests" / "compat" / "ends.py")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(python), "-W", "ignore", ends, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd="/",
        )

    with Driver(make_driver_dir()) as new, contextlib.ExitStack() as stack:
        old = [start("driver", old_dir)]
        stack.callback(lambda: [(one.kill(), one.communicate()) for one in old])
        assert old[0].stdout is not None
        assert old[0].stdout.readline() == "ready\n"
        old.append(start(role, old_dir, udp, "10"))
        face = rstream.publisher if role == "read" else rstream.subscriber
        with face("compat", channel=udp, dir=new.dir, key=key) as end:
            if role == "write":
                assert "sends plain datagrams" in refusal(end)
            else:
                with pytest.raises(NotConnected, match="no subscriber"):
                    end.send(1, timeout_s=2.0)
