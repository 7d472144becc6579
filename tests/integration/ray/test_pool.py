"""Ray actors that share work: what a killed one had is done by the others."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Worker:
    """Does what it is given; one kills itself in the middle of an item."""

    def __init__(self, directory: str, die_at: int = -1, cost_s: float = 0.005) -> None:
        import rstream.ray

        self.die_at = die_at
        self.cost_s = cost_s
        self.done: list[tuple[int, bool]] = []
        self.end = rstream.ray.reader(dir=directory, host="127.0.0.1", share="work")
        self.end.start(self.on_item)

    def on_item(self, work: Any) -> None:
        if work.item >= self.die_at >= 0 and not work.is_redelivered:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.cost_s)
        self.done.append((work.item, work.is_redelivered))

    def handle(self) -> Any:
        return self.end.handle

    def finish(self) -> list[tuple[int, bool]]:
        self.end.finish()
        self.end.close()
        return self.done


def test_a_killed_worker_s_items_are_done_by_others(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    import rstream

    with rstream.Driver(dir=driver_dir):
        remote = ray.remote(num_cpus=0)(Worker)
        dying = remote.remote(driver_dir, die_at=5)
        living = [remote.remote(driver_dir), remote.remote(driver_dir, cost_s=0.05)]
        handles = ray.get([actor.handle.remote() for actor in (dying, *living)])
        with rstream.ray.Pool(handles, connect_timeout_s=1.0) as pool:
            for number in range(100):
                pool.send(number)
            assert pool.wait_consumed(timeout_s=60)
            assert pool.statistics()["redelivered"] == 1
            assert pool.statistics()["unfinished"] == 0
        fast, slow = ray.get([actor.finish.remote() for actor in living])
        done = [number for number, _ in fast + slow]
        again = [number for number, is_redelivered in fast + slow if is_redelivered]
        assert len(again) == 1
        assert len(done) == len(set(done))
        # What is missing was done by the one that died, before it met what it was to die at.
        assert set(range(100)) - set(done) <= set(range(5))
        assert len(fast) > len(slow) > 0


def test_a_worker_that_ray_restarts_has_its_place_again(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    import rstream

    with rstream.Driver(dir=driver_dir):
        # The program may hear later than the stream that the actor is back; the retry is its own.
        remote = ray.remote(num_cpus=0, max_restarts=1, max_task_retries=-1)(Worker)
        worker = remote.remote(driver_dir, die_at=3)
        handle = ray.get(worker.handle.remote())
        with rstream.ray.Pool([handle], connect_timeout_s=60) as pool:
            for number in range(4):
                pool.send(number)
            assert pool.wait_consumed(timeout_s=60)
            assert pool.events() == []
            assert pool.members == [handle]
        assert ray.get(worker.finish.remote()) == [(3, True)]
