"""Stream handles between Ray actors: shared memory on one host, UDP to "another host", restart."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

import pytest

from tests.support import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Reader:
    """Collects the received items in the background."""

    def __init__(self, name: str, directory: str, port: int = 0, start: bool = True) -> None:
        import rstream.ray

        self.got: list[Any] = []
        self.end = rstream.ray.reader(name, dir=directory, port=port, host="127.0.0.1")
        if start:
            self.end.start(self.got.append)

    def handle(self) -> Any:
        return self.end.handle

    def items(self) -> list[Any]:
        return list(self.got)

    def events(self) -> list[tuple[str, str]]:
        return [(type(event).__name__, str(event)) for event in self.end.events()]

    def finish(self) -> list[Any]:
        self.end.finish()
        self.end.close()
        return self.got


class Writer:
    def send(self, handle: Any, items: list[Any], directory: str | None = None) -> str:
        with handle.publisher(driver_dir=directory, linger_s=10) as publisher:
            for item in items:
                publisher.send(item)
            return publisher.channel


def test_the_same_host_uses_shared_memory(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    import rstream

    with rstream.Driver(dir=driver_dir):
        reader = ray.remote(num_cpus=0)(Reader).remote("ray-same", driver_dir)
        writer = ray.remote(num_cpus=0)(Writer).remote()
        handle = ray.get(reader.handle.remote())
        items = [{"n": number} for number in range(1000)]
        channel = ray.get(writer.send.remote(handle, items))
        assert channel.startswith("aeron:ipc")
        assert ray.get(reader.finish.remote()) == items


def test_another_host_uses_udp(ray_session: Any, driver_dir: str, make_driver_dir: Any) -> None:
    """The writer has another host token and a driver directory of its own."""
    ray = ray_session
    import rstream

    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = ray.remote(num_cpus=0)(Reader).remote("ray-far", driver_dir)
        other = {"env_vars": {"RSTREAM_HOST_TOKEN": "another host"}}
        writer = ray.remote(num_cpus=0, runtime_env=other)(Writer).remote()
        handle = ray.get(reader.handle.remote())
        items = [{"n": number, "text": "x" * (number % 5000)} for number in range(1000)]
        channel = ray.get(writer.send.remote(handle, items, far))
        assert channel.startswith("aeron:udp")
        assert ray.get(reader.finish.remote()) == items


def test_restarted_actor_rejoins_its_stream(ray_session: Any, driver_dir: str) -> None:
    """After kill -9 Ray restarts the reading actor; the same handle and UDP port reach it."""
    ray = ray_session
    import rstream

    options = {"client-liveness-timeout": "1s", "timer-interval": "100ms"}
    with rstream.Driver(dir=driver_dir, options=options):
        actor = ray.remote(num_cpus=0, max_restarts=1, max_task_retries=10)(Reader)
        reader = actor.remote("ray-again", driver_dir)
        handle = ray.get(reader.handle.remote())
        with handle.publisher() as publisher:
            publisher.send({"n": 1})
            until(lambda: ray.get(reader.items.remote()) == [{"n": 1}], 20)
            ray.kill(reader, no_restart=False)
            again = ray.get(reader.handle.remote())
            assert again == handle

            def arrives() -> bool:
                publisher.send({"n": 2})
                return {"n": 2} in ray.get(reader.items.remote())

            until(arrives, 20)


class Broken(Reader):
    """Its on_item has a bug that the third item finds."""

    def start(self) -> None:
        self.end.start(self.on_item)

    def on_item(self, item: Any) -> None:
        if item["n"] == 2:
            raise ZeroDivisionError("a bug in the actor")

    def open_again(self, name: str, directory: str) -> Any:
        import rstream.ray

        self.end = rstream.ray.reader(name, dir=directory, host="127.0.0.1")
        self.end.start(self.got.append)
        return self.end.handle


def test_a_bug_in_an_actor_reaches_its_writers(
    ray_session: Any, driver_dir: str, make_driver_dir: Any
) -> None:
    """From one process to another, in shared memory and over UDP."""
    ray = ray_session
    import rstream
    from rstream.errors import RemoteError

    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = ray.remote(num_cpus=0)(Broken).remote("ray-bug", driver_dir, start=False)
        handle = ray.get(reader.handle.remote())
        with (
            handle.publisher(driver_dir=driver_dir, linger_s=0) as near_pub,
            handle.publisher(driver_dir=far, linger_s=0) as far_pub,
        ):
            for publisher in (near_pub, far_pub):
                publisher.send({"n": 0})
            ray.get(reader.start.remote())
            near_pub.send({"n": 2})
            for publisher in (near_pub, far_pub):
                with pytest.raises(RemoteError, match="ZeroDivisionError: a bug in the actor"):
                    until(lambda: publisher.send({"n": 1}) and False, 30)  # noqa: B023 - at once
        for directory in (driver_dir, far):  # and those that come later
            with (
                pytest.raises(RemoteError, match="ZeroDivisionError: a bug in the actor"),
                handle.publisher(driver_dir=directory) as late,
            ):
                late.send({"n": 3})
        assert ray.get(reader.open_again.remote("ray-bug", driver_dir)) == handle
        for directory in (driver_dir, far):
            with handle.publisher(driver_dir=directory, linger_s=10) as late:
                late.send({"n": 4})
        until(lambda: ray.get(reader.items.remote()) == [{"n": 4}] * 2, 20)
        ray.kill(reader)


def test_a_failing_task_ends_nothing_for_the_others(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    import rstream

    with rstream.Driver(dir=driver_dir):
        reader = ray.remote(num_cpus=0)(Reader).remote("ray-task", driver_dir)
        writer = ray.remote(num_cpus=0)(Writer).remote()
        handle = ray.get(reader.handle.remote())
        with pytest.raises(ray.exceptions.RayTaskError, match="CodecError"):
            ray.get(writer.send.remote(handle, [{"n": 1}, 1j]))
        ray.get(writer.send.remote(handle, [{"n": 2}]))
        events = ray.get(reader.events.remote())
        assert [event for event in events if event[0] == "Failed" and "CodecError" in event[1]]
        assert ray.get(reader.finish.remote()) == [{"n": 1}, {"n": 2}]


def test_handle_survives_text_and_pickle() -> None:
    import pickle

    from rstream.errors import ConfigError
    from rstream.ray import StreamHandle

    handle = StreamHandle(
        name="a", stream_id=7, ipc_channel="aeron:ipc", endpoint="", udp_channel="",
        host_token=str(os.getpid()), driver_dir="/dev/shm/none", node="n", codec="raw",
    )  # fmt: skip
    assert StreamHandle.from_text(handle.to_text()) == handle
    assert pickle.loads(pickle.dumps(handle)) == handle
    with pytest.raises(ConfigError, match="not a stream handle"):
        StreamHandle.from_text("{}")
    with pytest.raises(ConfigError, match="version 9"):
        StreamHandle.from_text(handle.to_text().replace("v=3", "v=9"))
    with pytest.raises(ConfigError, match="udp=True"):
        handle.publisher()


def test_a_handle_carries_the_rate(driver_dir: str) -> None:
    import rstream
    from rstream import rate
    from rstream.ray import StreamHandle, reader

    limit = rate.Fixed("2MB/s")
    with (
        rstream.Driver(dir=driver_dir),
        contextlib.closing(reader("ray-rate", dir=driver_dir, host="127.0.0.1", rate=limit)) as end,
    ):
        handle = StreamHandle.from_text(end.handle.to_text())
        assert "rs-rate=fixed,r:2000000" in handle.ipc_channel
        assert "rs-rate=fixed,r:2000000" in handle.udp_channel
        with handle.publisher(linger_s=0) as publisher:
            assert "rs-rate=fixed,r:2000000" in publisher.channel
        with handle.publisher(linger_s=0, rate=rate.Adaptive()) as publisher:
            assert "rs-rate=adaptive" in publisher.channel
            assert "fixed" not in publisher.channel


def test_a_slow_endpoint_keeps_the_newest(driver_dir: str) -> None:
    import rstream
    from rstream import policy
    from rstream.ray import reader

    got: list[Any] = []
    busy = threading.Event()

    def take(item: Any) -> None:
        got.append(item)
        assert busy.wait(20)

    slow = policy.DropOldest(10)
    with (
        rstream.Driver(dir=driver_dir),
        contextlib.closing(
            reader("ray-slow", dir=driver_dir, udp=False, prefetch=1, on_slow=slow)
        ) as end,
    ):
        end.start(take)
        with end.handle.publisher(driver_dir=driver_dir, linger_s=10) as publisher:
            for number in range(1000):
                publisher.send(number)
        until(lambda: end.statistics()["dropped"] >= 980, 20)
        busy.set()
        end.finish()
        assert got[-10:] == list(range(990, 1000))
        assert len(got) + end.statistics()["dropped"] == 1000


def test_an_endpoint_drops_nothing_at_its_end(driver_dir: str) -> None:
    import rstream
    from rstream import policy
    from rstream.ray import reader

    got: list[int] = []
    with (
        rstream.Driver(dir=driver_dir),
        contextlib.closing(
            reader("ray-end", dir=driver_dir, udp=False, on_slow=policy.Buffer(100_000))
        ) as end,
    ):
        end.start(got.append)
        with end.handle.publisher(driver_dir=driver_dir, linger_s=0) as publisher:
            for number in range(3000):
                publisher.send(number)
            end.finish()
    assert got == list(range(3000))


def test_an_unusable_policy_opens_nothing(driver_dir: str) -> None:
    from rstream import policy
    from rstream.errors import ConfigError
    from rstream.ray import reader

    with pytest.raises(ConfigError, match="on_slow"):
        reader("ray-wrong", dir=driver_dir, on_slow=policy.Buffer(0))
    assert not os.path.exists(driver_dir)
