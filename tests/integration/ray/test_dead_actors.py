"""An actor that is dead for good holds nobody up: Ray is asked while a reader is away."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Generator
from typing import Any

import pytest

import rstream
from rstream.errors import MessagesLost, NotConnected
from tests.support import until

from .test_complaints import Reader, started
from .test_pool import Worker

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]

#: With it a test fails that waits for the reader instead of asking Ray.
LONG_S = 100.0
SOON_S = 20.0


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_writers_to_a_dead_actor_fail_at_once(
    ray_session: Any, driver_dir: str, make_driver_dir: Any, medium: str
) -> None:
    ray = ray_session
    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = started(ray, Reader, driver_dir)
        handle = ray.get(reader.handle.remote())
        directory = far if medium == "udp" else driver_dir
        with handle.publisher(driver_dir=directory, connect_timeout_s=LONG_S, linger_s=0) as pub:
            pub.send(1)
            assert pub.wait_consumed(timeout_s=SOON_S)
            ray.kill(reader)
            until(lambda: not pub.is_connected)
            began_s = time.monotonic()
            with pytest.raises(NotConnected, match=r"any more: its actor Reader\(\w{8}\) is dead"):
                while True:
                    pub.send(2)
            assert time.monotonic() - began_s < SOON_S

        async def send() -> None:
            async with handle.aio_publisher(
                driver_dir=directory, connect_timeout_s=LONG_S, linger_s=0
            ) as pub:
                while True:
                    await pub.send(3)

        with pytest.raises(NotConnected, match="Ray does not restart it"):
            asyncio.run(asyncio.wait_for(send(), SOON_S))


def test_a_dead_member_leaves_its_group_at_once(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    from rstream.ray import Group, MemberLost

    with rstream.Driver(dir=driver_dir):
        readers = [started(ray, Reader, driver_dir) for _ in range(3)]
        handles = ray.get([one.handle.remote() for one in readers])
        with Group(handles, connect_timeout_s=LONG_S, linger_s=SOON_S) as group:
            group.send(0)
            assert group.wait_consumed(timeout_s=SOON_S)
            ray.kill(readers[1])
            for number in range(1, 100):
                group.send(number, timeout_s=SOON_S)
            assert group.wait_consumed(timeout_s=SOON_S)
            (event,) = group.events()
            assert isinstance(event, MemberLost)
            assert event.handle == handles[1]
            assert "is dead, and Ray does not restart it" in event.reason
        for one in readers[::2]:
            until(lambda one=one: ray.get(one.facts.remote())["count"] == 100)
            ray.kill(one)


def test_an_actor_that_ray_restarts_is_waited_for(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        reader = started(ray, Reader, driver_dir, max_restarts=1, max_task_retries=-1)
        handle = ray.get(reader.handle.remote())
        with handle.publisher(connect_timeout_s=LONG_S, linger_s=0) as pub:
            pub.send(1)
            assert pub.wait_consumed(timeout_s=SOON_S)
            ray.kill(reader, no_restart=False)
            until(lambda: not pub.is_connected)
            pub.send(2)
            assert pub.wait_consumed(timeout_s=LONG_S)
            assert ray.get(reader.facts.remote())["count"] == 1
        ray.kill(reader)


@pytest.mark.parametrize("is_away", [False, True])
def test_a_block_that_ends_waits_for_an_actor_that_ray_restarts(
    ray_session: Any, driver_dir: str, is_away: bool
) -> None:
    """Whether its reader dies before the end or while the end waits."""
    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        reader = started(ray, Reader, driver_dir, 0.05, max_restarts=1, max_task_retries=-1)
        handle = ray.get(reader.handle.remote())
        with handle.publisher(linger_s=LONG_S) as pub:
            for number in range(20):
                pub.send(number)
            ray.kill(reader, no_restart=False)
            if is_away:
                until(lambda: not pub.is_connected)
        assert not any(isinstance(event, rstream.stream.Gap) for event in pub.events())
        assert ray.get(reader.facts.remote())["count"] > 0  # by the new process
        ray.kill(reader)


@contextlib.contextmanager
def no_linger() -> Generator[None]:
    """The block ends sooner than its publisher would linger for a reader that lives."""
    began_s = time.monotonic()
    yield
    assert time.monotonic() - began_s < LONG_S * 0.9


def test_a_block_that_ends_raises_what_a_dead_actor_had_not_read(
    ray_session: Any, driver_dir: str
) -> None:
    ray = ray_session

    async def send(handle: Any, reader: Any) -> None:
        async with handle.aio_publisher(linger_s=LONG_S) as pub:
            for number in range(20):
                await pub.send(number)
            ray.kill(reader)

    with rstream.Driver(dir=driver_dir):
        reader = started(ray, Reader, driver_dir, 0.05)
        with no_linger(), pytest.raises(MessagesLost, match=r"its actor Reader\(\w{8}\) is dead"):
            with ray.get(reader.handle.remote()).publisher(linger_s=LONG_S) as pub:
                for number in range(20):
                    pub.send(number)
                ray.kill(reader)
        reader = started(ray, Reader, driver_dir, 0.05)
        with no_linger(), pytest.raises(MessagesLost, match="Ray does not restart it"):
            asyncio.run(send(ray.get(reader.handle.remote()), reader))
        reader = started(ray, Reader, driver_dir, 0.05)  # one that closes, and lives
        with no_linger(), ray.get(reader.handle.remote()).publisher(linger_s=LONG_S) as pub:
            for number in range(20):
                pub.send(number)
            ray.get(reader.close.remote())
        assert any(isinstance(event, rstream.stream.Gap) for event in pub.events())
        ray.kill(reader)


def test_a_dead_member_leaves_its_pool_at_once(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    from rstream.ray import MemberLost, Pool

    with rstream.Driver(dir=driver_dir):
        dying, living = (started(ray, Worker, driver_dir, at) for at in (5, -1))
        handles = ray.get([one.handle.remote() for one in (dying, living)])
        with Pool(handles, connect_timeout_s=LONG_S) as pool:
            for number in range(30):
                pool.send(number)
            assert pool.wait_consumed(timeout_s=SOON_S)
            until(lambda: pool.members == handles[1:], SOON_S)
            (event,) = pool.events()
            assert isinstance(event, MemberLost)
            assert "is dead, and Ray does not restart it" in event.reason
        ray.get(living.finish.remote())
        ray.kill(living)
