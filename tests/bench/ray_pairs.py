"""Ray actors: rstream's streams beside Ray's own ways, in pairs within one run.

    send       small dicts from actor to actor: `send` one by one, beside calls nobody waits for
    trip       a small dict there and back: two streams, beside an actor call and a compiled graph
    nodes      as send, between two simulated nodes of one machine by UDP; the driver program begins
    broadcast  one array of 32 MiB to eight actors: a Group, beside ray.put and a get by each
    state      the same with a dict of 100 arrays, 64 MiB in all, to four actors

The pairs alternate, and the medians of all pairs are compared. One line of JSON per row: `ours`,
`reference`, `ratio` (above 1: ours is better), `target`, `met`.

python -m tests.bench.ray_pairs [--pairs 5] [--only send,trip,nodes,broadcast,state]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ITEM = {"symbol": "ABC", "px": 101.25, "qty": 300}
MESSAGES = 100_000
CALLS = 1_000
TRIPS = 2_000
ARRAY_BYTES = 32 << 20
MEMBERS = 8
STATE_BYTES = 64 << 20
STATE_ARRAYS = 100
STATE_MEMBERS = 4
#: Longest wait for one measurement.
LIMIT_S = 40.0


class Actor:
    """Every part: counts, answers, sends, and takes arrays."""

    def __init__(self, directory: str | None = None) -> None:
        self.directory = directory
        self.count = 0
        self.last_s = 0.0
        self.ends: list[Any] = []

    def call(self, item: Any) -> Any:
        self.count += 1
        return item

    def counted(self) -> int:
        count, self.count = self.count, 0
        return count

    def open(self, codec: str | None = None) -> Any:
        import rstream.ray

        end = rstream.ray.reader(codec=codec, dir=self.directory, prefetch=65_536)
        self.ends.append(end)
        return end.handle

    def read(self, count: int) -> float:
        """Read so many messages; returns when the last one came, seconds of this machine."""
        left = count
        for batch in self.ends[-1].source.batches():
            left -= len(batch)
            if left <= 0:
                return time.monotonic()
        raise AssertionError

    def send(self, handle: Any, count: int) -> float:
        """Returns when the first one went."""
        with handle.publisher(driver_dir=self.directory, linger_s=30) as pub:
            pub.send(ITEM)
            began_s = time.monotonic()
            for _ in range(count - 1):
                pub.send(ITEM)
        return began_s

    def fire(self, other: Any, count: int) -> tuple[float, float]:
        """Calls nobody waits for, but the last."""
        import ray

        began_s = time.monotonic()
        for _ in range(count - 1):
            other.call.remote(ITEM)
        ray.get(other.call.remote(ITEM))
        return began_s, time.monotonic()

    def echo(self, back: Any) -> None:
        pub = back.publisher(driver_dir=self.directory)
        self.ends[-1].start(pub.send)

    def trips(self, there: Any, count: int) -> list[float]:
        took: list[float] = []
        source = self.ends[-1].source
        with there.publisher(driver_dir=self.directory) as pub:
            for _ in range(count):
                began_s = time.perf_counter()
                pub.send(ITEM)
                source.get(timeout_s=LIMIT_S)
                took.append(time.perf_counter() - began_s)
        return took[count // 10 :]

    def call_trips(self, other: Any, count: int) -> list[float]:
        import ray

        took: list[float] = []
        for _ in range(count):
            began_s = time.perf_counter()
            ray.get(other.call.remote(ITEM))
            took.append(time.perf_counter() - began_s)
        return took[count // 10 :]

    def start_arrays(self) -> None:
        self.ends[-1].start(self.take_array)

    def take_array(self, array: Any) -> int:
        if isinstance(array, dict):
            self.count += sum(int(one[0]) + int(one[-1]) for one in array.values())
            return self.count
        self.count += int(array[0]) + int(array[-1])  # one page of either end
        self.last_s = time.monotonic()
        return self.count

    def take_reference(self, array: Any) -> int:
        return self.take_array(array)

    def arrays(self) -> int:
        return self.count

    def close(self) -> None:
        while self.ends:
            self.ends.pop().close()


# ---- the rows ----


def send(ray: Any, here: str, pairs: int) -> Iterator[dict[str, Any]]:
    actor = ray.remote(num_cpus=0)(Actor)
    a, b = actor.remote(here), actor.remote(here)
    ours, calls = [], []
    for _ in range(pairs):
        handle = ray.get(b.open.remote())
        reading, sending = b.read.remote(MESSAGES), a.send.remote(handle, MESSAGES)
        ours.append(_rate(ray, reading, sending))
        ray.get(b.close.remote())
        began_s, ended_s = ray.get(a.fire.remote(b, CALLS))
        calls.append(CALLS / (ended_s - began_s))
    yield row("actor to actor, messages/s", ours, calls, target=400.0)
    for one in (a, b):
        ray.kill(one)


def _rate(ray: Any, reading: Any, sending: Any) -> float:
    began_s, ended_s = ray.get([sending, reading], timeout=LIMIT_S)
    return MESSAGES / (ended_s - began_s)


def trip(ray: Any, here: str, pairs: int) -> Iterator[dict[str, Any]]:
    actor = ray.remote(num_cpus=0, max_concurrency=2)(Actor)
    a, b, c = (actor.remote(here) for _ in range(3))
    there, back = ray.get(b.open.remote()), ray.get(a.open.remote())
    ray.get(b.echo.remote(back))
    graph = _graph(ray, c)
    ours, calls, graphs = [], [], []
    for _ in range(pairs):
        ours.append(ray.get(a.trips.remote(there, TRIPS)))
        calls.append(ray.get(a.call_trips.remote(c, TRIPS // 4)) if graph is None else [])
        if graph is not None:
            graphs.append(_graph_trips(ray, graph, TRIPS // 2))
    if graph is not None:
        graph.teardown()
        calls = [ray.get(a.call_trips.remote(b, TRIPS // 4)) for _ in range(pairs)]
    for name, part in (("p50", 0.50), ("p99", 0.99)):
        mine, theirs = _at(ours, part), _at(calls, part)
        yield row(f"round trip {name}, us, beside a call", mine, theirs, target=20.0, is_time=True)
        if graphs:
            graph_us = _at(graphs, part)
            yield row(
                f"round trip {name}, us, beside a graph", mine, graph_us, target=1.0, is_time=True
            )
    for one in (a, b, c):
        ray.kill(one)


def _graph(ray: Any, actor: Any) -> Any:
    """A compiled graph of one actor; None: this Ray cannot."""
    try:
        from ray.dag import InputNode

        with InputNode() as item:
            return actor.call.bind(item).experimental_compile()
    except Exception as error:
        print(f"no compiled graph: {error}", file=sys.stderr)
        return None


def _graph_trips(ray: Any, graph: Any, count: int) -> list[float]:
    took = []
    for _ in range(count):
        began_s = time.perf_counter()
        ray.get(graph.execute(ITEM))
        took.append(time.perf_counter() - began_s)
    return took[count // 10 :]


def _at(runs: list[list[float]], part: float) -> list[float]:
    return [1e6 * sorted(run)[int(part * len(run))] for run in runs]


def broadcast(ray: Any, here: str, pairs: int) -> Iterator[dict[str, Any]]:
    import numpy as np

    array = np.ones(ARRAY_BYTES, dtype="u1")
    ours, rays = _to_all(ray, here, pairs, "numpy", MEMBERS, array, 2)
    yield row("1 to 8 actors, 32 MiB, ms", ours, rays, target=1.0, is_time=True)


def state(ray: Any, here: str, pairs: int) -> Iterator[dict[str, Any]]:
    import numpy as np

    length = STATE_BYTES // STATE_ARRAYS // 4
    weights = {f"layer.{n}": np.ones(length, "f4") for n in range(STATE_ARRAYS)}
    ours, rays = _to_all(ray, here, pairs, None, STATE_MEMBERS, weights, 2 * STATE_ARRAYS)
    yield row("1 to 4 actors, dict of 64 MiB, ms", ours, rays, target=1.0, is_time=True)


def _to_all(
    ray: Any, here: str, pairs: int, codec: str | None, members: int, item: Any, count: int
) -> tuple[list[float], list[float]]:
    """Milliseconds of each pair: our Group, and Ray's store.

    Args:
        count: what an actor counts for one item.
    """
    from rstream.ray import Group

    actor = ray.remote(num_cpus=0)(Actor)
    actors = [actor.remote(here) for _ in range(members)]
    handles = ray.get([one.open.remote(codec) for one in actors])
    ray.get([one.start_arrays.remote() for one in actors])
    ours, rays = [], []
    with Group(handles, driver_dir=here) as group:
        for _ in range(pairs + 1):
            began_s = time.perf_counter()
            group.send(item)
            assert group.wait_consumed(timeout_s=LIMIT_S)
            ours.append(1e3 * (time.perf_counter() - began_s))
            began_s = time.perf_counter()
            reference = ray.put(item)
            ray.get([one.take_reference.remote(reference) for one in actors])
            rays.append(1e3 * (time.perf_counter() - began_s))
            del reference
        assert group.statistics()["shared"] == pairs + 1
    counts = set(ray.get([one.arrays.remote() for one in actors]))
    assert counts == {2 * count * (pairs + 1)}, counts
    for one in actors:
        ray.kill(one)
    return ours[1:], rays[1:]


def nodes(ray: Any, here: str, far: str, pairs: int) -> Iterator[dict[str, Any]]:
    """The actors have tokens of different hosts, so what goes between them goes by UDP."""
    del pairs
    actor = ray.remote(num_cpus=0)(Actor)
    there = {"env_vars": {"RSTREAM_HOST_TOKEN": "another host"}}
    a = actor.options(resources={"first": 0.1}).remote(here)
    b = actor.options(resources={"second": 0.1}, runtime_env=there).remote(far)
    rates = []
    for _ in range(3):
        handle = ray.get(b.open.remote())
        reading, sending = b.read.remote(MESSAGES), a.send.remote(handle, MESSAGES)
        rates.append(_rate(ray, reading, sending))
        ray.get(b.close.remote())
    yield row("two nodes by UDP, messages/s", rates, [400_000.0], target=1.0)


def row(
    name: str, ours: list[float], reference: list[float], *, target: float, is_time: bool = False
) -> dict[str, Any]:
    mine, other = statistics.median(ours), statistics.median(reference)
    ratio = other / mine if is_time else mine / other
    return {
        "name": name,
        "ours": round(mine, 1),
        "reference": round(other, 1),
        "ratio": round(ratio, 2),
        "target": target,
        "met": ratio >= target,
    }


# ---- the clusters ----


@contextlib.contextmanager
def one_node(folder: str) -> Iterator[Any]:
    import ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _temp_dir=folder,
        object_store_memory=600_000_000,
        logging_level="ERROR",
        log_to_driver=False,
    )
    try:
        yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def two_nodes() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        for name in ("first", "second"):
            cluster.add_node(
                num_cpus=1, resources={name: 1}, object_store_memory=100_000_000,
                include_dashboard=False,
            )  # fmt: skip
        ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="send,trip,broadcast,state,nodes")
    options = parser.parse_args()
    os.environ.update(
        RAY_AUTH_MODE="disabled",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    )
    import rstream

    wanted = options.only.split(",")
    folder = tempfile.mkdtemp(prefix="rs-ray-")
    here = f"/dev/shm/rstream-bench-{os.getpid()}"
    far = here + "-far"
    rows: dict[str, Callable[..., Iterator[dict[str, Any]]]] = {
        "send": send,
        "trip": trip,
        "broadcast": broadcast,
        "state": state,
    }
    try:
        rstream.driver.ensure_driver(here)
        with one_node(folder) as ray:
            for name in [name for name in rows if name in wanted]:
                for found in rows[name](ray, here, options.pairs):
                    print(json.dumps(found), flush=True)
        if "nodes" in wanted:
            rstream.driver.ensure_driver(far)
            with two_nodes() as ray:
                for found in nodes(ray, here, far, options.pairs):
                    print(json.dumps(found), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
