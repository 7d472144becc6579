"""Streams over UDP with keys: what flows with the same key, and what each end is told without it.

Each end has a driver of its own, as on two hosts, unless the test says otherwise.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import rstream
from rstream import _core, aio, keys, stream, work
from rstream.config import DriverConfig
from rstream.driver import Driver, ensure_driver
from rstream.errors import NoServer, NotConnected, ReadTimeout, RStreamError
from rstream.keys import GroupKey
from tests.compat.__main__ import BUILT
from tests.hostile.frames import Host, setup
from tests.sealed import Sealer, is_refusal
from tests.support import free_port, in_thread, until, until_async

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 20.0


@pytest.fixture
def key() -> GroupKey:
    return GroupKey.new()


@pytest.fixture
def hosts(make_driver_dir: Callable[[], str]) -> Iterator[tuple[str, str]]:
    """The directories of the reader's driver and of the publisher's."""
    options = {"term_length": 1 << 20, "timer_interval_s": 0.1}  # it looks for changed files then
    with Driver(make_driver_dir(), **options) as near, Driver(make_driver_dir(), **options) as far:
        yield near.dir, far.dir


@pytest.fixture
def udp() -> str:
    return f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


@pytest.fixture
def path(tmp_path: Path, key: GroupKey) -> Path:
    """A file with the key."""
    file = tmp_path / "group.key"
    keys.write_file(file, [key])
    return file


def flows(sub: Any, pub: Any, *items: Any) -> None:
    """The items come, in order."""
    for item in items:
        pub.send(item, timeout_s=PATIENCE_S)
    assert [sub.get(timeout_s=PATIENCE_S) for _ in items] == list(items)


def refusals(end: Any) -> list[str]:
    return [event.reason for event in end.events() if isinstance(event, stream.PeerRefused)]


def refusal(end: Any) -> str:
    """The first refusal that events() tells."""
    return until(lambda: refusals(end))[0]


def errors_of(directory: str) -> str:
    return "\n".join(row[3] for row in _core.read_errors(directory))


def screen(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rstream", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- what flows with the same key ----


@pytest.mark.parametrize("form", ["GroupKey", "file", "env", "channel", "RSTREAM_KEY_FILE"])
def test_one_key_at_both_ends(
    hosts: tuple[str, str],
    udp: str,
    name: str,
    key: GroupKey,
    path: Path,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reader has it in each of the forms, and the publisher as GroupKey or by the file."""
    near, far = hosts
    monkeypatch.setenv("MY_KEY", key.secret.hex())
    given: dict[str, Any] = {"channel": udp}
    given |= {
        "GroupKey": {"key": key},
        "file": {"key": f"file:{path}"},
        "env": {"key": "env:MY_KEY"},
        "channel": {"channel": rstream.Channel.parse(udp).replace(key=key.reference)},
        "RSTREAM_KEY_FILE": {},
    }[form]
    if form == "RSTREAM_KEY_FILE":
        monkeypatch.setenv("RSTREAM_KEY_FILE", str(path))
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
    near, far = hosts
    for given in (key, None, GroupKey.new()):
        with (
            rstream.subscriber(name, channel=udp, dir=near, key=given) as sub,
            rstream.publisher(name, channel=udp, dir=far, key=given) as pub,
        ):
            flows(sub, pub, 1, 2)


def test_large_messages_and_batches(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey
) -> None:
    near, far = hosts
    large = os.urandom(5_000_000)
    with (
        rstream.subscriber(name, bytes, channel=udp, dir=near, key=key) as sub,
        rstream.publisher(name, bytes, channel=udp, dir=far, key=key) as pub,
    ):
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
        rstream.subscriber(name, channel=udp, dir=near.dir, key=key) as sub,
        rstream.publisher(name, channel=udp, dir=far.dir, key=key) as pub,
    ):
        sends = in_thread(pub.send_many, range(20_000))
        assert [sub.get(timeout_s=PATIENCE_S) for _ in range(20_000)] == list(range(20_000))
        sends.join(PATIENCE_S)


@pytest.mark.parametrize("mtu", [None, 1408, 8192, 65504, 128])
def test_datagrams_of_every_length(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, mtu: int | None
) -> None:
    near, far = hosts
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=key) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key, mtu=mtu) as pub,
    ):
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


@pytest.mark.parametrize("form", ["channel", "RSTREAM_KEY_FILE"])
def test_a_service(
    hosts: tuple[str, str],
    udp: str,
    name: str,
    key: GroupKey,
    path: Path,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Questions and answers; the port of the answers has the key too."""
    near, far = hosts
    channel = f"{udp}|rs-key={key.reference}"
    if form == "RSTREAM_KEY_FILE":
        channel = udp
        monkeypatch.setenv("RSTREAM_KEY_FILE", str(path))
    answer = rstream.serve(name, channel=channel, dir=near)(lambda query: query * 2)
    with answer, rstream.service.requester(name, channel=channel, dir=far) as asks:
        assert asks.request(21, timeout_s=PATIENCE_S) == 42
        assert asks.request("x" * 50_000, timeout_s=PATIENCE_S) == "x" * 100_000
        used = {row[6].rpartition("aeron:")[2] for row in _core.read_counters(far)}
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
    near, far = hosts
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=key) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
        rstream.subscriber(name, channel=f"aeron-spy:{udp}", dir=far) as spy,
        rstream.subscriber(name, channel=f"aeron-spy:{udp}", dir=far, key=key) as named,
    ):
        until(lambda: spy.is_connected and named.is_connected)
        flows(sub, pub, "a", "b")
        for one in (spy, named):
            assert [one.get(timeout_s=PATIENCE_S) for _ in range(2)] == ["a", "b"]


PEER = """
import sys, rstream
from rstream.keys import GroupKey
from rstream.driver import Driver
role, directory, name, channel, path, begin = sys.argv[1:]
with Driver(directory), rstream.publisher(
    name, channel=channel, key=f"file:{path}", dir=directory, connect_timeout_s=20
) as pub:
    for number in range(int(begin), int(begin) + 10):
        pub.send(number, timeout_s=20)
    print("sent", flush=True)
    sys.stdin.readline()
"""


def test_a_peer_that_restarts_has_new_salts(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey, path: Path
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
            command = [sys.executable, "-c", PEER, "write", directory, name, udp, str(path)]
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


def test_a_restarted_driver_gets_the_key_again(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey
) -> None:
    """Its directory is made anew, without the keys that clients had left there; they rejoin."""
    config = DriverConfig(client_liveness_timeout_s=3.0, idle_exit_s=5.0)
    near = ensure_driver(make_driver_dir(), config=config)
    with (
        Driver(make_driver_dir()) as far,
        rstream.subscriber(
            name, channel=udp, dir=near, key=key, stays=True, on_lost="event"
        ) as sub,
        rstream.publisher(name, channel=udp, dir=far.dir, key=key) as pub,
    ):
        flows(sub, pub, 1, 2)
        os.kill(_core.driver_info(near)[0], signal.SIGKILL)
        with pytest.raises(ReadTimeout):
            sub.get(timeout_s=1.0)
        until(lambda: sub.statistics()["rejoins"] == 1)
        assert keys.read_file(next((Path(near) / "keys").iterdir())) == [key]
        until(lambda: pub.is_connected)
        flows(sub, pub, 3)


def test_a_killed_driver_of_the_publisher(
    make_driver_dir: Callable[[], str], udp: str, name: str, key: GroupKey
) -> None:
    config = DriverConfig(client_liveness_timeout_s=3.0, idle_exit_s=5.0)
    far = ensure_driver(make_driver_dir(), config=config)
    with (
        Driver(make_driver_dir()) as near,
        rstream.subscriber(
            name, channel=udp, dir=near.dir, key=key, stays=True, on_lost="event"
        ) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
    ):
        flows(sub, pub, 1)
        os.kill(_core.driver_info(far)[0], signal.SIGKILL)

        def has_rejoined() -> bool:
            with contextlib.suppress(RStreamError):
                pub.send("lost or not", timeout_s=PATIENCE_S)
            return bool(pub.statistics()["rejoins"])

        until(has_rejoined)
        pub.send("after", timeout_s=PATIENCE_S)
        while sub.get(timeout_s=PATIENCE_S) != "after":
            pass


# ---- what is told without it ----

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
        assert re.fullmatch(at_reader, refusal(sub))
        assert re.fullmatch(at_publisher, refusal(pub))
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
    near, far = hosts
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=key) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
    ):
        flows(sub, pub, "before")
        at = f"{udp}|control=127.0.0.1:{free_port()}"
        with rstream.publisher(name, channel=at, dir=far, key=GroupKey.new()):
            assert "seals with key" in refusal(sub)
            flows(sub, pub, *range(100))
            assert refusals(pub) == []


def test_an_id_that_this_process_has_not(hosts: tuple[str, str], udp: str, name: str) -> None:
    """The driver may have the key of another client: that is not enough."""
    with pytest.raises(rstream.errors.ConfigError, match="this process has no key 0badc0de"):
        rstream.publisher(name, channel=udp, dir=hosts[1], key="id:0badc0de")


# ---- rotation ----


def copy(of: Path, to: Path) -> None:
    """As a tool that copies files to other hosts does: a whole one takes the place of the other."""
    draft = to.with_suffix(".draft")
    draft.touch(0o600)
    draft.write_bytes(of.read_bytes())
    draft.replace(to)


def step(path: Path) -> None:
    """The next one of `rstream key rotate`."""
    group, second = keys.rotated(path)
    keys.write_file(path, group, second=second)


@pytest.fixture
def files(tmp_path: Path, key: GroupKey) -> tuple[Path, Path]:
    """The file at the reader's host, and at the publisher's."""
    made = tmp_path / "near.key", tmp_path / "far.key"
    for file in made:
        keys.write_file(file, [key])
    return made


@contextlib.contextmanager
def watching(directory: str, path: Path) -> Iterator[Callable[[GroupKey], bool]]:
    """Whether a driver opens what is sealed with a key: it refuses it, or asks for a proof."""
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|rs-key=file:{path}"

    def opens(key: GroupKey) -> bool:
        with Host(dress=Sealer(key.secret).seal) as host:

            def answered() -> bool:
                host.send(setup(5, 1001), ("127.0.0.1", port))
                host.listen(0.02)
                return bool(host.received)

            until(answered)
            return not is_refusal(host.received[0].raw)

    with (
        rstream.Client(directory, start_driver=False) as client,
        client.add_subscription(channel, 1001),
    ):
        yield opens


def sealed_with(directory: str, path: Path) -> str:
    """The notices of a driver about the key that it seals with."""
    return "\n".join(re.findall(rf"file:{path}: .* key (\w+) now", errors_of(directory)))


class Numbers:
    """Sends numbers without a pause from a thread, and reads them."""

    def __init__(self, sub: Any, pub: Any) -> None:
        self.sub, self.pub = sub, pub
        self.sent = self.came = 0
        self.ends = False
        self.error: BaseException | None = None
        self.thread = in_thread(self.send)

    def send(self) -> None:
        try:
            while not self.ends:
                self.pub.send(self.sent, timeout_s=PATIENCE_S)
                self.sent += 1
        except RStreamError as error:
            self.error = error

    def read(self, count: int = 100) -> None:
        """The next ones, in order."""
        for _ in range(count):
            assert self.sub.get(timeout_s=PATIENCE_S) == self.came
            self.came += 1

    def read_until(self, condition: Callable[[], object]) -> None:
        until(lambda: (self.read(), condition())[1])

    def end(self) -> None:
        self.ends = True
        until(lambda: (self.read(self.sent - self.came), not self.thread.is_alive())[1])
        self.read(self.sent - self.came)
        assert self.error is None, self.error


def test_a_rotation_in_three_steps_has_no_gap(
    hosts: tuple[str, str], udp: str, name: str, files: tuple[Path, Path]
) -> None:
    """Numbers flow all the time; the hosts get each file at different times."""
    near, far = hosts
    mine, theirs = files
    (old,) = keys.read_file(mine)
    with (
        watching(near, mine) as near_opens,
        watching(far, theirs) as far_opens,
        rstream.subscriber(name, channel=udp, dir=near, key=f"file:{mine}") as sub,
        rstream.publisher(name, channel=udp, dir=far, key=f"file:{theirs}") as pub,
    ):
        numbers = Numbers(sub, pub)
        try:
            numbers.read(1000)
            step(mine)  # 1: the next key opens
            new = keys.read_file(mine)[1]
            assert not far_opens(new)
            numbers.read_until(lambda: near_opens(new))
            copy(mine, theirs)
            numbers.read_until(lambda: far_opens(new))
            step(mine)  # 2: it seals
            numbers.read_until(lambda: new.id in sealed_with(near, mine))
            assert sealed_with(far, theirs) == ""
            copy(mine, theirs)
            numbers.read_until(lambda: new.id in sealed_with(far, theirs))
            assert near_opens(old)
            assert far_opens(old)
            step(mine)  # 3: the previous one goes
            numbers.read_until(lambda: not near_opens(old))
            assert far_opens(old)
            copy(mine, theirs)
            numbers.read_until(lambda: not far_opens(old))
            numbers.read(1000)
        finally:
            numbers.ends = True
        numbers.end()
        assert refusals(sub) == refusals(pub) == []
        assert sub.statistics()["rejoins"] == pub.statistics()["rejoins"] == 0
        assert keys.read_file(mine) == keys.read_file(theirs) == [new]


def test_a_key_that_was_rotated_away_is_refused(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, files: tuple[Path, Path]
) -> None:
    """The publisher's host missed all three steps: what flowed stops, and both ends say why."""
    near, far = hosts
    mine, theirs = files
    with (
        rstream.subscriber(
            name, channel=udp, dir=near, key=f"file:{mine}", stays=True, on_lost="event"
        ) as sub,
        rstream.publisher(name, channel=udp, dir=far, key=f"file:{theirs}") as pub,
    ):
        flows(sub, pub, 1, 2)
        for _ in range(3):
            step(mine)
        (new,) = keys.read_file(mine)
        said = "(asks for|seals with) key"  # each end refuses what the other one still sends
        assert re.search(f"{said} {key.id}; this channel has key {new.id}", refusal(sub))
        assert re.search(f"{said} {new.id}; this channel has key {key.id}", refusal(pub))
        until(lambda: not pub.is_connected)
        copy(mine, theirs)  # the right file heals it; nobody opens anything again
        until(lambda: pub.is_connected)
        flows(sub, pub, 3, 4)


# ---- files ----


@pytest.mark.parametrize("face", [rstream.publisher, rstream.subscriber])
@pytest.mark.parametrize(
    ("mode", "text", "words"),
    [
        (None, "", "No such file or directory; key file PATH"),
        (0o644, "KEY\n", r"others may read or write it \(mode 0644\): chmod 600 it; key file PATH"),
        (0o600, "nonsense\n", "a line that is no key of 64 hex digits; key file PATH"),
        (0o600, "KEY\nKEY\nKEY\n", "more than 2 keys; key file PATH"),
        (0o600, "\n# KEY\n", "no key; key file PATH"),
        (0o600, "KEY" + " " * 4096, "no regular file of at most 4096 bytes; key file PATH"),
    ],
    ids=["missing", "mode", "nonsense", "three", "none", "long"],
)
def test_a_file_that_cannot_be_used(
    hosts: tuple[str, str],
    udp: str,
    tmp_path: Path,
    key: GroupKey,
    face: Callable[..., object],
    mode: int | None,
    text: str,
    words: str,
) -> None:
    """Both ends name the file and what is wrong; nothing is opened plainly instead."""
    path = tmp_path / "my.key"
    if mode is not None:
        path.touch(mode)
        path.write_text(text.replace("KEY", key.secret.hex()))
        path.chmod(mode)
    with pytest.raises(RStreamError, match=words.replace("PATH", str(path))) as refused:
        face("x", channel=udp, dir=hosts[0], key=f"file:{path}")
    assert key.secret.hex() not in f"{refused.value!r} {refused.value} {refused.value.hint}"
    assert key.secret.hex() not in errors_of(hosts[0])


@pytest.mark.parametrize("how", ["nonsense", "mode", "gone"])
def test_a_file_that_becomes_useless_changes_nothing(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, path: Path, how: str
) -> None:
    """The keys stay, new streams too, and the error log of the driver says so."""
    near, far = hosts
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=f"file:{path}") as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
    ):
        flows(sub, pub, 1)
        if how == "nonsense":
            path.write_text(f"{key.secret.hex()[:-2]}\n")
        elif how == "mode":
            path.chmod(0o644)
        else:
            path.unlink()
        if how != "gone":
            word = "others may" if how == "mode" else "no key of 64 hex digits"
            until(lambda: re.search(f"keys stay as they are: .*{word}.*{path}", errors_of(near)))
            assert f"key file {path}" in screen("errors", "--dir", near)
            assert key.secret.hex()[:-2] not in errors_of(near)
        flows(sub, pub, 2)
        with rstream.publisher(f"{name}-2", channel=udp, dir=far, key=key) as late:
            with rstream.subscriber(f"{name}-2", channel=udp, dir=near, key=f"file:{path}") as more:
                flows(more, late, 3)
        keys.write_file(path, [new := GroupKey.new()])  # a right one is read again
        assert f"this channel has key {new.id}" in refusal(sub)


# ---- an older release ----


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
