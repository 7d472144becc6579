"""Ray Data writes to endpoints and reads from streams, on a real Ray."""

from __future__ import annotations

from typing import Any

import pytest

from tests.test_docs_snippets import blocks

pytest.importorskip("ray.data", reason="Ray Data is not installed")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Reader:
    """Counts the rows that it receives, and can break down."""

    def __init__(self, directory: str) -> None:
        import rstream.ray

        self.ids: list[int] = []
        self.end = rstream.ray.reader("data-sink", codec="arrow", dir=directory, host="127.0.0.1")
        self.end.start(self.on_batch)

    def on_batch(self, batch: Any) -> None:
        ids = batch.column("id").to_pylist()
        if -1 in ids:
            raise ValueError("a row that no model takes")
        self.ids += ids

    def handle(self) -> Any:
        return self.end.handle

    def received(self) -> list[int]:
        return sorted(self.ids)


class XReader(Reader):
    def on_batch(self, batch: Any) -> None:
        self.ids += batch.column("x").to_pylist()


@pytest.fixture
def data(ray_session: Any) -> Any:
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data


def test_a_dataset_is_written_to_an_actor(ray_session: Any, data: Any, driver_dir: str) -> None:
    """By handle and by name; when write_datasink returns, everything is consumed."""
    ray = ray_session
    import rstream

    with rstream.Driver(dir=driver_dir):
        reader = ray.remote(num_cpus=0)(Reader).remote(driver_dir)
        handle = ray.get(reader.handle.remote())
        rows = data.range(2000, override_num_blocks=3)
        rows.write_datasink(rstream.ray.datasink(handle, batch_bytes=4000))
        assert ray.get(reader.received.remote()) == list(range(2000))
        rows.write_datasink(rstream.ray.datasink("data-sink"))
        assert ray.get(reader.received.remote()) == sorted(2 * list(range(2000)))
        with pytest.raises(Exception, match="a row that no model takes"):
            data.from_items([{"id": -1}]).write_datasink(rstream.ray.datasink(handle))
        ray.kill(reader)


class Writer:
    def send(self, name: str, count: int) -> int:
        import pyarrow as pa

        import rstream.ray

        with rstream.ray.handle(name, timeout_s=60).publisher(linger_s=30) as pub:
            for number in range(count):
                pub.send(pa.table({"x": [number] * 10}))
        return count


def test_a_stream_becomes_a_dataset(ray_session: Any, data: Any, driver_dir: str) -> None:
    ray = ray_session
    import pyarrow as pa

    import rstream

    with rstream.Driver(dir=driver_dir):
        source = rstream.ray.datasource(
            "data-source", dir=driver_dir, schema=pa.schema([("x", pa.int64())])
        )
        read = data.read_datasource(source)
        assert read.schema().names == ["x"]  # nothing is read for it
        writer = ray.remote(num_cpus=0)(Writer).remote()
        sent = writer.send.remote("data-source", 50)
        batches = list(read.iter_batches(batch_size=100, batch_format="numpy"))
        assert ray.get(sent) == 50
        assert [len(batch["x"]) for batch in batches] == [100] * 5
        assert sum(int(batch["x"].sum()) for batch in batches) == 10 * sum(range(50))


def test_the_how_to_page(
    ray_session: Any, data: Any, driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's workers do not have the test's environment, so the functions get the directory."""
    ray = ray_session
    import functools

    import rstream

    monkeypatch.setattr(
        rstream.ray, "datasource", functools.partial(rstream.ray.datasource, dir=driver_dir)
    )
    with rstream.Driver(dir=driver_dir):
        reader = ray.remote(num_cpus=0)(XReader).remote(driver_dir)
        writer = ray.remote(num_cpus=0)(Writer).remote()
        sent = writer.send.remote("ticks", 100)
        handle = ray.get(reader.handle.remote())
        names: dict[str, Any] = {"ray": ray, "rstream": rstream, "handle": handle}
        exec(blocks("docs/how-to/ray.md", "python")[6], names)
        assert ray.get(sent) == 100
        assert names["ticks"].count() == 1000
        assert ray.get(reader.received.remote()) == [2 * number for number in range(1000)]
        ray.kill(reader)


class Model:
    def __init__(self) -> None:
        self.rows = 0

    def fit(self, x: Any, y: Any) -> None:
        assert len(x) == len(y)
        self.rows += len(x)


def test_the_training_loop_of_the_how_to_page_gets_all_that_is_written(
    data: Any, driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's sink and its loop together; the loop ended with the first write task."""
    import functools

    import rstream
    from tests.support import in_thread

    monkeypatch.setattr(
        rstream.ray, "reader", functools.partial(rstream.ray.reader, dir=driver_dir)
    )
    model = Model()
    names: dict[str, Any] = {"rstream": rstream, "model": model}
    text = blocks("docs/how-to/ray.md", "python")[7]
    with rstream.Driver(dir=driver_dir):
        reading = in_thread(exec, text, names)
        rows = data.range(20_000, override_num_blocks=20).map_batches(
            lambda batch: {"x": batch["id"], "y": batch["id"]}
        )
        rows.write_datasink(rstream.ray.datasink("features", connect_timeout_s=30))
        reading.join(60)
        assert not reading.is_alive()
    assert model.rows == 20_000


def test_a_task_that_is_started_again_says_what_is_lost(ray_session: Any) -> None:
    """Its first attempt had read from the stream; a second one would hide that."""
    ray = ray_session

    @ray.remote(num_cpus=0, max_retries=1)
    def read_twice() -> str:
        import os

        from rstream.ray._cluster import attempt_number

        if attempt_number() == 0:
            os._exit(1)
        import rstream.ray

        (task,) = rstream.ray.datasource("never-opened").get_read_tasks(1)
        try:
            return str(list(task()))
        except rstream.RStreamError as error:
            return str(error)

    assert "is gone: a stream is not stored" in ray.get(read_twice.remote())
