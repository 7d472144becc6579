"""Goal: one trainer broadcasts its weights to many Ray actors, and the host holds them once.

A Group encodes each update once. It lies in one shared block; every actor on the host maps that
block, and the array it gets is a view of it: no copy per actor, and no object store.

Needs: pip install ".[ray,numpy]"
Run: python examples/ray_weights.py
"""

import os
import sys
import time

import numpy as np
import ray

import rstream

WORKERS, UPDATES = 4, 5
LENGTH = 32 << 20 >> 2  # float32: 32 MiB


class Rollout:
    """Plays with the latest weights."""

    def __init__(self) -> None:
        self.end = rstream.ray.reader(type=np.ndarray)
        self.weights = np.zeros(0)
        self.updates = self.views = 0
        self.end.start(self.on_weights)

    def on_weights(self, weights: np.ndarray) -> None:
        self.weights = weights  # read-only; stays valid as long as it is kept
        self.updates += 1
        self.views += not weights.flags.owndata

    def handle(self) -> rstream.ray.StreamHandle:
        return self.end.handle

    def finish(self) -> tuple[int, int, float]:
        self.end.finish()
        return self.updates, self.views, float(self.weights[-1])


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    actors = [ray.remote(num_cpus=0)(Rollout).remote() for _ in range(WORKERS)]
    handles = ray.get([actor.handle.remote() for actor in actors])
    weights = np.zeros(LENGTH, np.float32)
    with rstream.ray.Group(handles) as group:
        started_s = time.monotonic()
        for _ in range(UPDATES):
            weights += 1  # a step of training
            group.send(weights)
        if not group.wait_consumed(timeout_s=30):
            raise TimeoutError(f"not consumed by all within 30 s: {group.events()}")
        took_s = time.monotonic() - started_s
        shared = group.statistics()["shared"]
    for number, (updates, views, last) in enumerate(
        ray.get([actor.finish.remote() for actor in actors])
    ):
        print(f"actor {number}: {updates} updates, {views} of them views; the last one is {last}")
    print(f"{shared} of {UPDATES} updates lay once for all {WORKERS} actors")
    print(f"{UPDATES * weights.nbytes >> 20} MiB reached {WORKERS} actors in {took_s:.2f} s")
    ray.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    sys.exit(main())
