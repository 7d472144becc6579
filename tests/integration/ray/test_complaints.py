"""What users of other streams between actors have complained about; one test for each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import rstream
from rstream.stream import Connected, Disconnected, Gap
from tests.support import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Reader:
    """Reads in the background; each item may cost time."""

    def __init__(self, directory: str, cost_s: float = 0.0, name: str | None = None) -> None:
        import rstream.ray

        self.cost_s = cost_s
        self.count = 0
        self.lost: list[str] = []
        self.end = rstream.ray.reader(name, dir=directory, host="127.0.0.1")
        self.end.start(
            self.on_item, on_writer_lost=lambda event: self.lost.append(type(event).__name__)
        )

    def on_item(self, item: Any) -> None:
        self.count += 1
        time.sleep(self.cost_s)

    def handle(self) -> Any:
        return self.end.handle

    def facts(self) -> dict[str, Any]:
        with open("/proc/self/statm") as statm:
            rss_bytes = int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        return {
            "pid": os.getpid(),
            "count": self.count,
            "lost": self.lost,
            "rss_bytes": rss_bytes,
        }

    def close(self) -> None:
        self.end.close()

    def hang(self) -> None:
        """A call that only the actor's death ends."""
        time.sleep(600)


class Producer:
    """Sends until it is told that nobody reads; makes the rest of a chain, too."""

    def __init__(self) -> None:
        self.sent = 0
        self.error = ""

    def run(self, handle: Any, length_bytes: int = 100, directory: str | None = None) -> None:
        def send() -> None:
            try:
                with handle.publisher(
                    linger_s=0, connect_timeout_s=0.5, driver_dir=directory
                ) as pub:
                    while True:
                        pub.send("x" * length_bytes)
                        self.sent += 1
            except rstream.RStreamError as error:
                self.error = type(error).__name__

        threading.Thread(target=send, daemon=True).start()

    def facts(self) -> tuple[int, str]:
        return self.sent, self.error

    def pass_on(self, other: Any, handle: Any) -> Any:
        import ray

        return ray.get(other.use.remote({"inside": [handle], "closure": lambda: handle}))

    def use(self, parts: Any) -> bool:
        (first,) = parts["inside"]
        for handle in (first, parts["closure"]()):
            with handle.publisher(linger_s=10) as pub:
                pub.send(1)
        return first == parts["closure"]()


def started(ray: Any, kind: Any, *args: Any, **options: Any) -> Any:
    return ray.remote(num_cpus=0, **options)(kind).remote(*args)


def test_a_dropped_consumer_lets_the_producer_run_on(ray_session: Any, driver_dir: str) -> None:
    """It stops within a window of messages and is told why, whether the consumer closes or dies."""
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        for how in ("close", "kill"):
            reader, producer = started(ray, Reader, driver_dir), started(ray, Producer)
            ray.get(producer.run.remote(ray.get(reader.handle.remote())))
            until(lambda: ray.get(reader.facts.remote())["count"] > 100, 30)  # noqa: B023
            if how == "close":
                ray.get(reader.close.remote())
            else:
                ray.kill(reader)
            until(lambda: ray.get(producer.facts.remote())[1], 30)  # noqa: B023
            assert ray.get(producer.facts.remote())[1] == "NotConnected"
            for actor in (reader, producer):
                ray.kill(actor)


def test_a_queue_cannot_be_passed_to_another_actor(ray_session: Any, driver_dir: str) -> None:
    """A handle can: through actors, inside containers and closures, as text to a plain program."""
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        reader, first, second = (
            started(ray, Reader, driver_dir), started(ray, Producer), started(ray, Producer)
        )  # fmt: skip
        handle = ray.get(reader.handle.remote())
        assert ray.get(first.pass_on.remote(second, handle))
        program = "import rstream.ray, sys\n" + (
            "with rstream.ray.StreamHandle.from_text(sys.argv[1]).publisher(linger_s=10) as pub:\n"
            "    pub.send(1)"
        )
        subprocess.run([sys.executable, "-c", program, str(handle)], check=True, timeout=60)
        until(lambda: ray.get(reader.facts.remote())["count"] == 3, 30)
        for actor in (reader, first, second):
            ray.kill(actor)


def test_a_flooded_actor_runs_out_of_memory(
    ray_session: Any, driver_dir: str, make_driver_dir: Any
) -> None:
    """100 MB/s at an actor that takes ten items a second: it grows by less than its buffers have,
    and the producers are a window ahead."""
    ray = ray_session
    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = started(ray, Reader, driver_dir, 0.1)
        producers = [started(ray, Producer) for _ in range(2)]
        handle = ray.get(reader.handle.remote())
        for producer, directory in zip(producers, (driver_dir, far), strict=True):
            ray.get(producer.run.remote(handle, 10_000, directory))
        until(lambda: ray.get(reader.facts.remote())["count"] >= 3, 30)
        before = ray.get(reader.facts.remote())
        time.sleep(3)
        after = ray.get(reader.facts.remote())
        assert after["count"] > before["count"]
        assert after["rss_bytes"] - before["rss_bytes"] < 20_000_000
        for producer in producers:
            sent, error = ray.get(producer.facts.remote())
            assert error == ""
            assert sent * 10_000 < 4_000_000  # the log, its window, and what the reader holds
        for actor in (reader, *producers):
            ray.kill(actor)


@pytest.mark.parametrize("is_far", [False, True])
def test_a_death_is_told_as_soon_as_ray_tells_it(
    ray_session: Any, driver_dir: str, make_driver_dir: Any, is_far: bool
) -> None:
    ray = ray_session
    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = started(ray, Reader, driver_dir, max_concurrency=4)
        handle = ray.get(reader.handle.remote())
        canary = reader.hang.remote()
        pub = handle.publisher(driver_dir=far if is_far else driver_dir, linger_s=0)
        pub.send(1)
        assert pub.wait_consumed(timeout_s=20)
        pub.events()
        os.kill(ray.get(reader.facts.remote())["pid"], signal.SIGKILL)
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(canary, timeout=60)
        rays_s = time.monotonic()
        until(lambda: any(isinstance(one, Disconnected) for one in pub.events()), 30)
        assert time.monotonic() - rays_s < 0.5  # some milliseconds on a quiet machine
        pub.close()


def test_the_death_of_a_writing_actor_is_told(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        reader, producer = started(ray, Reader, driver_dir), started(ray, Producer)
        ray.get(producer.run.remote(ray.get(reader.handle.remote())))
        until(lambda: ray.get(reader.facts.remote())["count"] > 100, 30)
        ray.kill(producer)
        until(lambda: ray.get(reader.facts.remote())["lost"] == ["Lost"], 30)
        ray.kill(reader)


def test_a_restart_names_the_exact_gap(
    ray_session: Any, driver_dir: str, make_driver_dir: Any
) -> None:
    """Over UDP: what the dead incarnation had not consumed, by positions; nothing else is lost."""
    ray = ray_session
    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = started(ray, Reader, driver_dir, 0.05, max_restarts=1, max_task_retries=-1)
        handle = ray.get(reader.handle.remote())
        pid = ray.get(reader.facts.remote())["pid"]
        events: list[Any] = []
        with handle.publisher(driver_dir=far, linger_s=0, connect_timeout_s=60) as pub:
            length_bytes = pub.send(0)
            for number in range(1, 50):
                pub.send(number)
            until(lambda: pub.statistics()["consumed_position"] > 2 * length_bytes, 30)
            os.kill(pid, signal.SIGKILL)
            until(lambda: ray.get(reader.facts.remote())["pid"] != pid, 60)
            pub.send(50)

            def is_back() -> bool:
                events.extend(pub.events())
                return any(isinstance(one, Connected) for one in events) and any(
                    isinstance(one, Gap) for one in events
                )

            until(is_back, 30)
            (gap,) = (one for one in events if isinstance(one, Gap))
            assert gap.from_position % length_bytes == gap.to_position % length_bytes == 0
            lost = gap.length_bytes // length_bytes
            assert 0 < lost < 49
            rest = 51 - gap.to_position // length_bytes
            until(lambda: ray.get(reader.facts.remote())["count"] == rest, 30)
        ray.kill(reader)


class Learner:
    """A member of a group: its weights are those that came last."""

    def __init__(self, directory: str) -> None:
        import rstream.ray

        self.sums: list[float] = []
        self.end = rstream.ray.reader(codec="numpy", dir=directory, host="127.0.0.1")
        self.end.start(lambda array: self.sums.append(float(array.sum())))

    def handle(self) -> Any:
        return self.end.handle

    def got(self) -> list[float]:
        return self.sums


def test_weights_for_many_actors_lie_once(ray_session: Any, driver_dir: str) -> None:
    """And an actor that dies meanwhile is named; the others miss nothing."""
    np = pytest.importorskip("numpy")
    ray = ray_session
    from rstream.ray import Group, MemberLost, Missed

    with rstream.Driver(dir=driver_dir):
        learners = [started(ray, Learner, driver_dir) for _ in range(3)]
        handles = ray.get([one.handle.remote() for one in learners])
        with Group(handles, connect_timeout_s=0.5) as group:
            told: list[Any] = []

            def is_lost() -> bool:
                told.extend(group.events())
                return any(isinstance(one, MemberLost) for one in told)

            for number in range(20):
                if number == 10:
                    assert group.wait_consumed(timeout_s=30)
                    ray.kill(learners[0])
                group.send(np.full(100_000, float(number)))
            assert group.wait_consumed(timeout_s=30)
            assert group.statistics()["shared"] == 20
            until(is_lost)  # Ray may need so long to kill it that it consumes all before
            *missed, event = told
            assert isinstance(event, MemberLost)
            assert event.number >= 11  # it had consumed ten
            # What was sent before its death was known.
            assert all(isinstance(one, Missed) and one.first >= 11 for one in missed)
            assert {one.handle for one in (*missed, event)} == {handles[0]}
            wanted = [100_000.0 * number for number in range(20)]
            assert ray.get([one.got.remote() for one in learners[1:]]) == [wanted] * 2
            told.clear()
            ray.kill(learners[1])
            until(is_lost)  # though nothing is sent
            assert told[-1].handle == handles[1]
        ray.kill(learners[2])
