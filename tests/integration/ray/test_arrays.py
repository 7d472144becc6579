"""Arrays between Ray actors: no object store, no pickle, no word about dtype and shape."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Reader:
    """Sums what it receives."""

    def __init__(self, name: str, directory: str) -> None:
        import numpy as np

        import rstream.ray

        self.sums: list[float] = []
        self.end = rstream.ray.reader(name, np.ndarray, dir=directory, host="127.0.0.1")
        self.end.start(lambda array: self.sums.append(float(array.sum())))

    def handle(self) -> Any:
        return self.end.handle

    def finish(self) -> list[float]:
        self.end.finish()
        self.end.close()
        return self.sums


class Writer:
    def send(self, handle: Any, count: int) -> None:
        import numpy as np

        with handle.publisher(linger_s=10) as pub:
            for number in range(count):
                pub.send(np.full(100_000, float(number)))


def test_a_100_000_float_array_between_actors(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    import rstream

    with rstream.Driver(dir=driver_dir):
        reader = ray.remote(num_cpus=0)(Reader).remote("ray-arrays", driver_dir)
        writer = ray.remote(num_cpus=0)(Writer).remote()
        ray.get(writer.send.remote(ray.get(reader.handle.remote()), 5))
        assert ray.get(reader.finish.remote()) == [100_000.0 * number for number in range(5)]
