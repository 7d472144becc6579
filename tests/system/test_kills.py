"""kill -9 of the publisher, the subscriber and the driver at random moments.

Timeouts are 1.5 seconds or less, timers and keepalives 100 ms. After each kill the survivors report
stream, session and position within two seconds. Every message that was sent and not delivered lies
in a reported gap. Both ends join again by themselves, and at the end no file is left. The oracle is
the journal that each process writes (kill_workers.py). RSTREAM_KILLS is the number of kills of each
victim (3; `make prove`: 50).
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rstream import _core
from tests.support import free_port

KILLS = int(os.environ.get("RSTREAM_KILLS", "3"))
SEED = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
NOTICE_S = 2.0
ROOT = Path(__file__).resolve().parents[2]
NAME = "kills"
# Short, but longer than a busy host stops the whole machine: a client that times out for that
# reason was not killed. The death of a driver is seen by its lock, not by a timeout.
SHORT = {
    "RSTREAM_CLIENT_LIVENESS_TIMEOUT": "1500ms",
    "RSTREAM_IMAGE_LIVENESS_TIMEOUT": "1s",
    "RSTREAM_PUBLICATION_CONNECTION_TIMEOUT": "1s",
    "RSTREAM_PUBLICATION_LINGER_TIMEOUT": "1s",
    "RSTREAM_PUBLICATION_UNBLOCK_TIMEOUT": "2s",
    "RSTREAM_DRIVER_TIMEOUT": "4s",
    "RSTREAM_TIMER_INTERVAL": "100ms",
    "RSTREAM_KEEPALIVE_INTERVAL": "100ms",
    "RSTREAM_IDLE_EXIT": "1s",
}
EMBEDDED = {
    "timer_interval_s": 0.1,
    "client_liveness_timeout_s": 1.5,
    "image_liveness_timeout_s": 1.0,
}


class Process:
    """One life of a worker and its journal, read as it grows."""

    def __init__(self, role: str, path: Path, **task: Any) -> None:
        self.path = path
        self.errors = path.with_suffix(".err")
        task |= {"name": NAME, "journal": str(path)}
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.system.kill_workers", role, json.dumps(task)],
                stdin=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env={
                    key: value
                    for key, value in os.environ.items()
                    if not key.startswith("RSTREAM_")
                }
                | SHORT,
            )
        self.lines: list[list[Any]] = []
        self._offset = 0
        self.until(lambda line: line[0] == "start", 20)

    @property
    def client_id(self) -> int:
        self.read()
        return next(line[4] for line in reversed(self.lines) if line[0] == "start")

    def read(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        self.lines += [json.loads(line) for line in whole.splitlines()]

    def until(
        self, wanted: Callable[[list[Any]], bool], timeout_s: float, since_s: float = 0.0
    ) -> list[Any]:
        """The first wanted line of the journal that was written since then."""
        deadline_s = time.monotonic() + timeout_s
        seen = 0
        while True:
            is_late = time.monotonic() > deadline_s
            self.read()
            for line in self.lines[seen:]:
                if line[1] >= since_s and wanted(line):
                    return line
            seen = len(self.lines)
            if is_late or self.process.poll() is not None:
                tail = [line for line in self.lines if line[0] not in ("sent", "got")][-12:]
                raise AssertionError(
                    f"{self.path.name}: not seen; last lines {tail}\n"
                    f"{self.errors.read_text()[-3000:]}"
                )
            time.sleep(0.005)

    def event(
        self, kind: str, since_s: float, timeout_s: float = 10
    ) -> tuple[float, dict[str, Any]]:
        line = self.until(lambda one: one[0] == "event" and one[2] == kind, timeout_s, since_s)
        return line[1] - since_s, line[3]

    def kill(self) -> float:
        killed_s = time.monotonic()
        self.process.kill()
        self.process.wait()
        self.read()
        self.close()
        return killed_s

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(30) == 0, self.errors.read_text()[-3000:]
        self.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()


class World:
    """A publisher, a subscriber and one driver directory, or two directories as two hosts."""

    def __init__(self, folder: Path, near: str, far: str, channel: str) -> None:
        self.folder, self.near, self.far, self.channel = folder, near, far, channel
        self.random = random.Random(SEED)
        self.publishers: list[Process] = []
        self.subscribers: list[Process] = []
        self.raises = False
        self.slowest_s = 0.0

    @property
    def is_ipc(self) -> bool:
        return self.near == self.far

    @property
    def pub(self) -> Process:
        return self.publishers[-1]

    @property
    def sub(self) -> Process:
        return self.subscribers[-1]

    def publish(self, **more: Any) -> Process:
        life = len(self.publishers)
        burst = self.random.choice((1, 1, 20, 200))
        task = {"dir": self.near, "channel": self.channel, "life": life, "burst": burst} | more
        self.publishers.append(Process("publish", self.folder / f"pub-{life}.log", **task))
        return self.pub

    def subscribe(self) -> Process:
        path = self.folder / f"sub-{len(self.subscribers)}.log"
        self.subscribers.append(
            Process("subscribe", path, dir=self.far, channel=self.channel, raises=self.raises)
        )
        return self.sub

    def flow(self, since_s: float) -> None:
        """Wait until a message sent after then has arrived, and a random moment longer."""
        sent = self.pub.until(lambda line: line[0] == "sent", 15, since_s)
        life = len(self.publishers) - 1
        self.sub.until(
            lambda line: line[0] == "got" and line[2] == life and line[3] >= sent[2], 15, since_s
        )
        time.sleep(self.random.uniform(0.0, 0.5))

    def note(self, seconds: float) -> None:
        self.slowest_s = max(self.slowest_s, seconds)
        assert seconds < NOTICE_S

    def check_return(self, session_id: int, killed_s: float) -> None:
        """The reader's driver was killed then: the reader meets the publisher's session again, and
        is told a gap, unless the session goes on where the reader had left it.
        """

        def is_told(line: list[Any]) -> bool:
            kind, told = line[2:4] if line[0] == "event" else ("", {})
            return kind == "Gap" or (
                kind == "Available"
                and told["session_id"] == session_id
                and told["position"] <= self._delivered_position(line[1])
            )

        line = self.sub.until(is_told, 10, killed_s)
        self.note(line[1] - killed_s)
        assert line[3]["session_id"] == session_id
        if line[2] == "Gap":
            assert line[3]["from_position"] > 0

    def _delivered_position(self, before_s: float) -> int:
        """Where the last message of this session ends that the reader was given before then."""
        self.pub.read()
        got = [line[3] for line in self.sub.lines if line[0] == "got" and line[1] < before_s]
        return next(line[4] for line in self.pub.lines if line[0] == "sent" and line[2] == max(got))

    def session(self) -> int:
        """The publisher's session now."""
        self.pub.read()
        return next(line[3] for line in reversed(self.pub.lines) if line[0] in ("sent", "start"))

    # ---- the oracle ----

    def check(self) -> None:
        """Check order and gaps over all lives."""
        sent: dict[tuple[int, int], tuple[int, int]] = {}
        gaps: list[dict[str, Any]] = []
        for life, pub in enumerate(self.publishers):
            pub.read()
            for line in pub.lines:
                if line[0] == "sent":
                    sent[life, line[2]] = (line[3], line[4])
        for process in self.publishers + self.subscribers:
            process.read()
            gaps += [line[3] for line in process.lines if line[0] == "event" and line[2] == "Gap"]
        # A reader's open gap is closed when it meets the same session again.
        closed = {
            (gap["session_id"], gap["from_position"])
            for gap in gaps
            if gap["to_position"] is not None
        }
        gaps = [
            gap
            for gap in gaps
            if gap["to_position"] is not None
            or (gap["session_id"], gap["from_position"]) not in closed
        ]
        delivered: set[tuple[int, int]] = set()
        for sub in self.subscribers:
            got = [(line[2], line[3]) for line in sub.lines if line[0] == "got"]
            for life in range(len(self.publishers)):
                numbers = [number for one, number in got if one == life]
                assert numbers == sorted(set(numbers)), (
                    f"{sub.path.name}: life {life} is not in order"
                )
            delivered.update(got)
        holes = [key for key in sent if key not in delivered]
        for key in holes:
            session_id, position = sent[key]
            assert any(
                gap["session_id"] == session_id
                and gap["from_position"] < position
                and (gap["to_position"] is None or position <= gap["to_position"])
                for gap in gaps
            ), (
                f"life {key[0]} number {key[1]}: session {session_id} position {position} is in no"
                f" gap of {gaps}"
            )
        assert len(delivered) > 10
        print(
            f"kills: {len(sent)} sent, {len(delivered)} delivered, {len(holes)} in {len(gaps)}"
            f" gaps; noticed in {self.slowest_s:.2f} s"
        )

    def check_files(self) -> None:
        """Only files of the living remain after the dead have timed out."""
        deadline_s = time.monotonic() + 6
        while text := self._strange_files():
            assert time.monotonic() < deadline_s, text
            time.sleep(0.05)

    def _strange_files(self) -> str:
        # Asked each time: a client that a busy machine stopped too long joins again as another.
        living = {0, self.pub.client_id, self.sub.client_id}  # 0: the driver itself
        for folder in {self.near, self.far}:
            publications = len(os.listdir(f"{folder}/publications"))
            images = len(os.listdir(f"{folder}/images"))
            if publications != (folder == self.near) or images != (
                folder == self.far and not self.is_ipc
            ):
                return f"{folder}: {publications} publications, {images} images"
            for name in os.listdir(f"{folder}/wake"):
                owner = name.split(".")[0]
                if int(owner) not in living:
                    return f"{folder}/wake/{name} belongs to none of {living}"
        return ""

    def end(self) -> None:
        """Everything ends cleanly: the drivers end by themselves and leave no file."""
        self.sub.end()
        self.pub.end()
        deadline_s = time.monotonic() + 10
        for folder in {self.near, self.far}:
            while os.path.exists(folder):
                assert time.monotonic() < deadline_s, (folder, os.listdir(folder))
                time.sleep(0.05)
            left = [str(one) for one in Path(folder).parent.glob(f"{Path(folder).name}*")]
            assert left == []

    def close(self) -> None:
        for process in self.publishers + self.subscribers:
            process.close()


@pytest.fixture(params=["ipc", "udp"])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, make_driver_dir: Callable[[], str]
) -> Iterator[World]:
    print(f"RSTREAM_SEED={SEED} RSTREAM_KILLS={KILLS}")
    near = make_driver_dir()
    is_udp = request.param == "udp"
    far = make_driver_dir() if is_udp else near
    made = World(
        tmp_path,
        near,
        far,
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if is_udp else "aeron:ipc",
    )
    yield made
    made.close()


def kill_driver(folder: str) -> float:
    pid, _ = _core.driver_info(folder)
    killed_s = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return killed_s


def finish(world: World) -> None:
    world.check_files()
    world.end()
    world.check()


@pytest.mark.timeout(120 + 10 * KILLS)
@pytest.mark.parametrize("raises", [False, True], ids=["event", "raise"])
def test_kill_the_publisher(world: World, raises: bool) -> None:
    world.raises = raises
    world.subscribe()
    world.publish()
    started_s = 0.0
    for _ in range(KILLS):
        world.flow(started_s)
        session_id = world.session()
        started_s = world.pub.kill()
        # A new publisher at once: it does not wait for the end of the old one.
        world.publish()
        seconds, lost = world.sub.event("Lost", started_s)
        world.note(seconds)
        assert lost["session_id"] == session_id
        positions = [line[4] for line in world.publishers[-2].lines if line[0] == "sent"]
        assert lost["position"] >= positions[-1]
        if raises:
            line = world.sub.until(lambda one: one[0] == "lost", 5, started_s)
            world.note(line[1] - started_s)
            assert line[3:] == [session_id, lost["position"]]
            assert NAME in line[2]
            assert str(session_id) in line[2]
    world.flow(time.monotonic())
    finish(world)


@pytest.mark.timeout(120 + 10 * KILLS)
def test_kill_the_subscriber(world: World) -> None:
    world.subscribe()
    world.publish()
    started_s = 0.0
    for _ in range(KILLS):
        world.flow(started_s)
        killed_s = world.sub.kill()
        seconds, gone = world.pub.event("Disconnected", killed_s)
        world.note(seconds)
        assert gone["session_id"] == world.session()
        started_s = time.monotonic()
        world.subscribe()
        world.pub.event("Connected", started_s)
    world.flow(time.monotonic())
    if world.is_ipc:  # shared memory keeps the messages that the dead reader had not processed
        assert not any(line[0] == "event" and line[2] == "Gap" for line in world.pub.lines)
    finish(world)


@pytest.mark.timeout(120 + 10 * KILLS)
def test_kill_the_driver(world: World) -> None:
    world.subscribe()
    world.publish()
    killed_s = 0.0
    for _ in range(KILLS):
        world.flow(killed_s)
        session_id = world.session()
        where = world.random.choice((world.near, world.far))
        killed_s = kill_driver(where)
        if where == world.near:
            seconds, changed = world.pub.event("SessionChanged", killed_s)
            world.note(seconds)
            assert changed["old_session_id"] == session_id
            assert where in changed["reason"]
        if where == world.far:
            seconds, changed = world.sub.event("SessionChanged", killed_s)
            world.note(seconds)
            assert where in changed["reason"]
            if where != world.near:  # else it knows the end, and tells a gap only if there is one
                world.check_return(session_id, killed_s)
        else:
            seconds, lost = world.sub.event("Lost", killed_s)
            world.note(seconds)
            assert lost["session_id"] == session_id
        # Joined again: the flow above waits for a message sent after this moment.
        killed_s = time.monotonic()
    world.flow(killed_s)
    finish(world)


@pytest.mark.timeout(120 + 10 * KILLS)
def test_kill_an_embedded_driver_with_its_publisher(
    tmp_path: Path, make_driver_dir: Callable[[], str]
) -> None:
    for round_number in range(KILLS):
        folder = tmp_path / str(round_number)
        folder.mkdir()
        near = make_driver_dir()
        world = World(folder, near, near, "aeron:ipc")
        try:
            world.publish(embedded=EMBEDDED)
            world.subscribe()
            world.flow(0.0)
            killed_s = world.pub.kill()
            seconds, _ = world.sub.event("SessionChanged", killed_s)
            world.note(seconds)
            started_s = time.monotonic()
            world.publish()  # the subscriber has started the shared driver instead
            world.flow(started_s)
            finish(world)
        finally:
            world.close()
