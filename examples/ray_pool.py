"""Goal: a pool of Ray actors behind one stream of items, and no item lost when one is killed.

Each item goes to one actor that has free demand, so the slow actor gets fewer. One actor kills
itself in the middle of an item: another one gets that item, with a mark.

Needs: pip install ".[ray]"
Run: python examples/ray_pool.py
"""

import os
import signal
import sys
import time

import ray

import rstream

COUNT, DIES_AT = 300, 20
COSTS_S = (0.002, 0.002, 0.02)  # of an item at each actor


class Worker:
    """Squares numbers."""

    def __init__(self, cost_s: float, dies: bool, results: rstream.ray.StreamHandle) -> None:
        self.cost_s = cost_s
        self.dies = dies
        self.results = results.publisher()
        self.end = rstream.ray.reader(share="work")
        self.end.start(self.on_item)

    def on_item(self, work: rstream.ray.WorkItem) -> None:
        if self.dies and work.item >= DIES_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.cost_s)  # the work
        self.results.send({"square": work.item**2, "again": work.is_redelivered, "by": self.cost_s})

    def handle(self) -> rstream.ray.StreamHandle:
        return self.end.handle

    def finish(self) -> None:
        self.end.finish()
        self.results.close()


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    got: list[dict] = []
    with rstream.ray.reader() as results:
        results.start(got.append)
        actors = [
            ray.remote(num_cpus=0)(Worker).remote(cost_s, number == 0, results.handle)
            for number, cost_s in enumerate(COSTS_S)
        ]
        handles = ray.get([actor.handle.remote() for actor in actors])
        with rstream.ray.Pool(handles, connect_timeout_s=1.0) as pool:
            for number in range(COUNT):
                pool.send(number)
            pool.wait_consumed(timeout_s=30)
            unfinished = pool.statistics()["unfinished"]
        ray.get([actor.finish.remote() for actor in actors[1:]])
        results.finish()
    fast, slow = (sum(one["by"] == cost_s for one in got) for cost_s in COSTS_S[1:])
    squares = {one["square"] for one in got}
    print(f"{len(squares)} of {COUNT} items done, {unfinished} left, one actor killed")
    print(f"{sum(one['again'] for one in got)} item was given to another actor again")
    print(f"the fast actors did {fast} items, the slow one {slow}")
    ray.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    sys.exit(main())
