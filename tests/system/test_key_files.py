"""Files with the keys of streams over UDP: their rotation, and those that cannot be used.

Each end has a driver of its own, as on two hosts.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import rstream
from rstream import keys
from rstream.config import DriverConfig
from rstream.driver import Driver
from rstream.errors import NotConnected, PublisherLost, RStreamError
from rstream.keys import GroupKey
from tests.hostile.frames import Host, setup
from tests.sealed import Sealer, is_refusal
from tests.support import free_port, in_thread, until
from tests.system.both_ends import PATIENCE_S, errors_of, flows, refusal, refusals, screen

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
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, key_file: Path, how: str
) -> None:
    """The keys stay, new streams too, and the error log of the driver says so."""
    near, far = hosts
    with (
        rstream.subscriber(name, channel=udp, dir=near, key=f"file:{key_file}") as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
    ):
        flows(sub, pub, 1)
        if how == "nonsense":
            key_file.write_text(f"{key.secret.hex()[:-2]}\n")
        elif how == "mode":
            key_file.chmod(0o644)
        else:
            key_file.unlink()
        word = {"mode": "others may", "nonsense": "no key of 64 hex digits", "gone": "No such file"}
        said = f"keys stay as they are: .*{word[how]}.*{key_file}"
        until(lambda: re.search(said, errors_of(near)))
        assert f"key file {key_file}" in screen("errors", "--dir", near)
        assert key.secret.hex()[:-2] not in errors_of(near)
        flows(sub, pub, 2)
        with rstream.publisher(f"{name}-2", channel=udp, dir=far, key=key) as late:
            with rstream.subscriber(
                f"{name}-2", channel=udp, dir=near, key=f"file:{key_file}"
            ) as more:
                flows(more, late, 3)
        keys.write_file(key_file, [new := GroupKey.new()])  # a right one is read again
        assert f"this channel has key {new.id}" in refusal(sub)


def test_the_ids_of_each_channel_are_shown(
    hosts: tuple[str, str], udp: str, name: str, key: GroupKey, key_file: Path
) -> None:
    """By `rstream stat`, as text and as JSON; also after a rotation."""
    near, far = hosts
    plain = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"

    def shown(kind: str, directory: str) -> dict[str, Any]:
        return {
            one["name"]: one["keys"]
            for one in json.loads(screen("stat", "--json", "--dir", directory))[kind]
        }

    with (
        rstream.subscriber(name, channel=udp, dir=near, key=f"file:{key_file}") as sub,
        rstream.publisher(name, channel=udp, dir=far, key=key) as pub,
        rstream.publisher(f"{name}-2", channel=plain, dir=far, linger_s=0),
        rstream.publisher(f"{name}-3", dir=far, linger_s=0),
        rstream.subscriber(f"{name}-4", channel=plain, dir=near),
    ):
        flows(sub, pub, 1)
        assert shown("publications", far) == {name: [key.id], f"{name}-2": [], f"{name}-3": None}
        assert shown("readers", near) == {name: [key.id]}
        assert shown("subscriptions", near) == {name: [key.id], f"{name}-4": []}
        text = screen("stat", "--once", "--dir", far)
        assert len(re.findall(rf"\n    sealed: {key.id}\n", text)) == 1
        assert len(re.findall(r"\n    plain: no key seals its datagrams\n", text)) == 1
        step(key_file)
        both = [one.id for one in keys.read_file(key_file)]
        until(lambda: shown("readers", near) == {name: both})
        text = screen("stat", "--once", "--dir", near)
        assert f"    sealed: {both[0]}, opens also {both[1]}\n" in text


def test_the_errors_after_a_rotation_that_went_wrong_name_it(
    make_driver_dir: Callable[[], str],
    udp: str,
    name: str,
    key: GroupKey,
    files: tuple[Path, Path],
) -> None:
    """The publisher's host has another key at once: both ends lose each other, and say why."""
    mine, theirs = files
    new = GroupKey.new()
    options = {"image-liveness-timeout": "2s", "publication-connection-timeout": "1s"}
    config = DriverConfig(term_length=1 << 20, timer_interval_s=0.1, options=options)
    with (
        Driver(make_driver_dir(), config=config) as near,
        Driver(make_driver_dir(), config=config) as far,
        rstream.publisher(
            name,
            channel=udp,
            dir=far.dir,
            key=f"file:{theirs}",
            connect_timeout_s=9.0,
            linger_s=0,
        ) as pub,
    ):
        with rstream.subscriber(name, channel=udp, dir=near.dir, key=f"file:{mine}") as sub:
            flows(sub, pub, 1, 2)
            keys.write_file(theirs, [new])
            with pytest.raises(PublisherLost, match=f"seals with key {new.id}; this channel has"):
                sub.get(timeout_s=PATIENCE_S)
            until(lambda: not pub.is_connected)
            errors: list[RStreamError] = []
            sending = in_thread(lambda: errors.append(failure(lambda: pub.send(3))))
            until(lambda: f"key {key.id}" in errors_of(far.dir))
            anyio.run(anyio.sleep, 2.5)  # until the publisher's notice
        sending.join(PATIENCE_S)
        (error,) = errors
        assert isinstance(error, NotConnected)
        said = rf"\d+ s ago 127\.0\.0\.1:\d+ (asks for|seals with) key {key.id}; this channel"
        assert re.search(said, str(error))


def failure(action: Callable[[], object]) -> RStreamError:
    with pytest.raises(RStreamError) as caught:
        action()
    return caught.value
