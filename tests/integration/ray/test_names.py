"""Names of endpoints: who finds whom, who is refused, and what stays behind."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any

import pytest

import rstream
from rstream.errors import NameTaken, NoReader
from rstream.ray._cluster import answer_of
from tests.support import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Reader:
    """Reads in the background what is sent to its name, or to its handle."""

    def __init__(self, name: str | None, directory: str) -> None:
        import rstream.ray

        self.began_s = time.monotonic()
        self.got: list[Any] = []
        self.end = rstream.ray.reader(name, dir=directory, host="127.0.0.1")
        self.end.start(self.got.append)
        self.opened_s = time.monotonic() - self.began_s

    def handle(self) -> Any:
        return self.end.handle

    def items(self) -> list[Any]:
        return list(self.got)

    def pid(self) -> int:
        return os.getpid()

    def took_s(self) -> float:
        return self.opened_s

    def close(self) -> None:
        self.end.close()


class Writer:
    """Has only a name."""

    def send(self, name: str, item: Any) -> str:
        import rstream.ray

        with rstream.ray.handle(name, timeout_s=20).publisher(linger_s=10) as pub:
            pub.send(item)
            return pub.channel


def stored(prefix: bytes = b"rstream:endpoint:") -> list[bytes]:
    """What is kept of endpoints. The secret of the cluster stays as long as the cluster."""
    from ray.experimental import internal_kv

    return internal_kv._internal_kv_list(prefix)


def test_a_name_is_found_by_actors_and_by_the_program(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        writer = ray.remote(num_cpus=0)(Writer).remote()
        sending = writer.send.remote("names-found", 1)  # before there is a reader
        reader = ray.remote(num_cpus=0)(Reader).remote("names-found", driver_dir)
        assert ray.get(sending).startswith("aeron:ipc")
        handle = rstream.ray.handle("names-found", timeout_s=20)
        assert handle == ray.get(reader.handle.remote())
        with handle.publisher(linger_s=10) as pub:
            pub.send(2)
        until(lambda: ray.get(reader.items.remote()) == [1, 2], 20)
        with pytest.raises(NoReader, match=r"'names-fuond'.*did you mean 'names-found'"):
            rstream.ray.handle("names-fuond", timeout_s=0.2)
        ray.get(reader.close.remote())
        with pytest.raises(NoReader):  # the actor with the names hears of the close a little later
            until(lambda: rstream.ray.handle("names-found", timeout_s=0.2) is None, 20)
        for actor in (reader, writer):
            ray.kill(actor)


def test_two_actors_of_one_class_share_a_stream_by_accident(
    ray_session: Any, driver_dir: str
) -> None:
    """Without a name each has its own; with one the second is refused until the first is dead."""
    ray = ray_session
    actor = ray.remote(num_cpus=0)(Reader)
    with rstream.Driver(dir=driver_dir):
        plain = [actor.remote(None, driver_dir) for _ in range(2)]
        handles = ray.get([one.handle.remote() for one in plain])
        for number, handle in enumerate(handles):
            assert handle.name.startswith("Reader-")
            with handle.publisher(linger_s=10) as pub:
                pub.send(number)
        got = [ray.get(one.items.remote()) for one in plain]
        until(lambda: [ray.get(one.items.remote()) for one in plain] == [[0], [1]], 20), got
        first = actor.remote("names-twin", driver_dir)
        ray.get(first.handle.remote())
        second = actor.remote("names-twin", driver_dir)
        with pytest.raises(ray.exceptions.RayActorError, match=r"NameTaken.*names-twin.*Reader\("):
            ray.get(second.handle.remote())
        ray.kill(first)
        third = actor.remote("names-twin", driver_dir)
        ray.get(third.handle.remote())
        for one in (*plain, third):
            ray.kill(one)


def test_a_restarted_actor_is_never_found_again(ray_session: Any, driver_dir: str) -> None:
    """It is: by its name and by its old handle, over both media, soon after its constructor."""
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        reader = (
            ray.remote(num_cpus=0, max_restarts=2, max_task_retries=-1)(Reader)
            .remote("names-again", driver_dir)
        )  # fmt: skip
        handle = ray.get(reader.handle.remote())
        for life in range(2):
            pid = ray.get(reader.pid.remote())
            ray.kill(reader, no_restart=False)
            until(lambda: ray.get(reader.pid.remote()) != pid, 60)  # noqa: B023 - at once
            found = rstream.ray.handle("names-again", timeout_s=60)
            assert found == handle
            with found.publisher(linger_s=10) as pub:
                pub.send(life)
            until(lambda: ray.get(reader.items.remote()) == [life], 20)  # noqa: B023 - at once
            assert ray.get(reader.took_s.remote()) < 5  # not the 10 s of a heartbeat
        ray.kill(reader)
        with pytest.raises(NoReader):
            rstream.ray.handle("names-again", timeout_s=0.2)


def test_a_name_in_the_program_is_held_by_the_job(ray_session: Any, driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir):
        with rstream.ray.reader("names-program", dir=driver_dir) as end:
            with pytest.raises(NameTaken, match="the driver program"):
                rstream.ray.reader("names-program", dir=driver_dir)
            assert rstream.ray.handle("names-program") == end.handle
        with rstream.ray.reader("names-program", dir=driver_dir):
            pass


@pytest.mark.ci
def test_nothing_stays_behind(ray_session: Any, driver_dir: str) -> None:
    """Killed actors leave no key, and the registry ends when there is nothing to remember."""
    ray = ray_session
    actor = ray.remote(num_cpus=0, max_restarts=-1)(Reader)
    task = ray.remote(num_cpus=0)(named_in_a_task)
    with rstream.Driver(dir=driver_dir):
        readers = [actor.remote(name, driver_dir) for name in (None, "names-left")]
        ray.get([reader.handle.remote() for reader in readers])
        ray.get(task.remote("names-task", driver_dir))
        assert stored()
        for reader in readers:
            ray.kill(reader)
        until(lambda: not stored(), 35)

        def is_gone() -> bool:
            with contextlib.suppress(ValueError):
                ray.get_actor("rstream-registry", namespace="rstream")
                return False
            return True

        until(is_gone, 35)
        with rstream.ray.reader("names-left", dir=driver_dir):  # another registry is started
            rstream.ray.handle("names-left")


def named_in_a_task(name: str, directory: str) -> None:
    """A task that does not close what it has opened, and whose process ends."""
    import os

    import rstream.ray

    rstream.ray.reader(name, dir=directory, host="127.0.0.1")
    threading.Timer(1.0, os._exit, (0,)).start()


class Slow:
    """Takes a while to start, and to answer."""

    def __init__(self) -> None:
        time.sleep(8)

    def answer(self, after_s: float) -> str:
        time.sleep(after_s)
        return "here"

    def fail(self) -> None:
        raise TimeoutError("of its own")


def test_the_start_of_an_actor_does_not_count_as_its_silence(
    ray_session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    actor = ray_session.remote(num_cpus=0)(Slow).remote()
    assert answer_of(actor, actor.answer.remote(1), 5) == "here"
    assert "waiting for Ray to start Actor(Slow" in caplog.text
    with pytest.raises(TimeoutError, match=r"Actor\(Slow.* did not answer within"):
        answer_of(actor, actor.answer.remote(5), 0.5)
    with pytest.raises(TimeoutError, match="of its own"):
        answer_of(actor, actor.fail.remote(), 60)
    ray_session.kill(actor)
    with pytest.raises(ray_session.exceptions.RayActorError):
        answer_of(actor, actor.answer.remote(60), 90)  # the kill takes a moment
