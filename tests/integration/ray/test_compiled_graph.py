"""Edges of compiled graphs over streams."""

from __future__ import annotations

import functools
import time
from typing import Any

import pytest

from tests.test_docs_snippets import blocks

pytest.importorskip("ray.dag", reason="this Ray has no compiled graphs")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Stage:
    def __init__(self, step: int) -> None:
        self.step = step

    def run(self, value: Any) -> Any:
        if value == "fail":
            raise ValueError("no such value")
        return value + self.step

    def join(self, left: Any, right: Any) -> Any:
        return left, right

    def alive(self) -> bool:
        return True


def test_values_and_errors_go_through_a_graph(ray_session: Any, driver_dir: str) -> None:
    """One writer with two readers, an edge from the driver program, and the end of all loops."""
    ray = ray_session
    from ray.dag import InputNode

    import rstream

    with rstream.Driver(dir=driver_dir):
        through = functools.partial(rstream.ray.through_stream, dir=driver_dir)
        stage = ray.remote(num_cpus=0)(Stage)
        first, second, third = (stage.remote(step) for step in (1, 10, 100))
        with InputNode() as inp:
            begin = through(first.run.bind(through(inp)))
            left = through(second.run.bind(begin))
            graph = third.join.bind(left, begin).experimental_compile()
        try:
            for number in range(50):
                assert ray.get(graph.execute(number)) == (number + 11, number + 1)
            with pytest.raises(Exception, match="no such value"):
                ray.get(graph.execute("fail"))
            assert ray.get(graph.execute(5)) == (16, 6)
        finally:
            graph.teardown()
        for actor in (first, second, third):  # their loops have ended
            assert ray.get(actor.alive.remote(), timeout=30)
            ray.kill(actor)


def test_the_how_to_page(
    ray_session: Any, driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = ray_session
    from ray.dag import InputNode

    import rstream

    through = functools.partial(rstream.ray.through_stream, dir=driver_dir)
    monkeypatch.setattr(rstream.ray, "through_stream", through)
    with rstream.Driver(dir=driver_dir):
        stage = ray.remote(num_cpus=0)(Stage)
        first, second = (stage.remote(step) for step in (1, 10))
        names: dict[str, Any] = {"InputNode": InputNode, "rstream": rstream}
        names |= {"first": first, "second": second}
        exec(blocks("docs/how-to/ray.md", "python")[9], names)
        assert ray.get(names["graph"].execute(1)) == 12
        names["graph"].teardown()
        for actor in (first, second):
            ray.kill(actor)


def test_a_value_that_the_driver_program_reads_is_refused(
    ray_session: Any, driver_dir: str
) -> None:
    ray = ray_session
    from ray.dag import InputNode

    import rstream

    actor = ray.remote(num_cpus=0)(Stage).remote(1)
    with InputNode() as inp:
        node = rstream.ray.through_stream(actor.run.bind(inp), dir=driver_dir)
        with pytest.raises(Exception, match="the driver program reads this one"):
            node.experimental_compile()
    ray.kill(actor)


def test_closing_ends_both_sides(ray_session: Any, driver_dir: str) -> None:
    import threading

    import rstream
    from rstream.ray import _dag

    with rstream.Driver(dir=driver_dir):
        handle = _dag._open_endpoint(None, "here", False, driver_dir)
        reading, writing = (_dag.RstreamChannel("here", {"a": handle}) for _ in range(2))
        writing.write(1, 5)
        assert reading.read(5) == 1
        with pytest.raises(_dag.RayChannelTimeoutError):
            reading.read(0)
        errors: list[str] = []

        def forever(work: Any) -> None:
            try:
                while True:
                    work()
            except _dag.RayChannelError as error:
                errors.append(type(error).__name__)

        reader = threading.Thread(target=forever, args=(lambda: reading.read(-1),))
        reader.start()
        time.sleep(0.05)
        reading.close()
        reader.join(20)
        assert errors == ["RayChannelError"]
        writer = threading.Thread(target=forever, args=(lambda: writing.write(b"x" * 9999, -1),))
        writer.start()
        time.sleep(0.05)
        writing.close()
        writer.join(20)
        assert errors == ["RayChannelError"] * 2
        writing.close()
