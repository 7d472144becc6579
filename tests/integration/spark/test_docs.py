"""The programs about Spark in README and documentation run as they stand there."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import until
from tests.test_docs_snippets import blocks

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture
def rows(spark_session: Any, tmp_path: Path) -> Any:
    """A stream of a hundred rows that ends, as far as a query's trigger lets it."""
    folder = tmp_path / "in"
    folder.mkdir()
    lines = ["carrier,value", *(f"k{value % 7},{value}" for value in range(100))]
    (folder / "rows.csv").write_text("\n".join(lines))
    return (
        spark_session.readStream.schema("carrier STRING, value LONG")
        .option("header", "true")
        .csv(str(folder))
    )


def run(text: str, **names: Any) -> dict[str, Any]:
    """Run a program of a page, and its query to the end of what is there."""
    import rstream

    names["rstream"] = rstream
    exec(text, names)
    if "query" in names:
        names["query"].processAllAvailable()
        names["query"].stop()
    return names


def test_readme(
    spark_session: Any,
    rows: Any,
    driver_dir: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import rstream

    monkeypatch.setenv("RSTREAM_DIR", driver_dir)
    got: list[Any] = []
    text = next(text for text in blocks("README.md", "python") if "writeStream" in text)
    with rstream.Driver(dir=driver_dir):
        names = run(
            text, spark=spark_session, rows=rows, folder=str(tmp_path / "cp"), on_batch=got.append
        )
        names["end"].finish()
    assert {row["value"] for batch in got for row in batch.to_pylist()} == set(range(100))


def test_the_how_to_page(
    spark_session: Any,
    rows: Any,
    driver_dir: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import rstream.ray

    monkeypatch.setenv("RSTREAM_DIR", driver_dir)

    got: list[Any] = []
    texts = blocks("docs/how-to/spark.md", "python")
    by_format, by_batch, faster, with_ledger = texts[:4]
    with rstream.Driver(dir=driver_dir), contextlib.ExitStack() as stack:
        ends = [
            stack.enter_context(
                contextlib.closing(rstream.ray.committed_reader(f"docs-{number}", dir=driver_dir))
            )
            for number in range(2)
        ]
        for end in ends:
            end.start(got.append)
        handles = [end.handle for end in ends]
        names = {"spark": spark_session, "rows": rows, "handles": handles, "handle": handles[0]}
        run(by_format, **names, folder=str(tmp_path / "cp"))
        df = spark_session.range(100, 110).selectExpr("id AS value")
        run(by_batch, **names, df=df)
        run(faster, **names, df=df, folder=str(tmp_path / "other"))
        for end in ends:
            end.finish()
        folder = str(tmp_path / "rows.ledger")
        end = run(with_ledger.replace("/var/lib/rows.ledger", folder))["end"]
        stack.enter_context(contextlib.closing(end))
    values = Counter(row["value"] for batch in got for row in batch.to_pylist())
    assert values == Counter([*range(100), *range(100), *range(100, 110), *range(100, 110)])


def test_reading_on_the_how_to_page(spark_session: Any, driver_dir: str, tmp_path: Path) -> None:
    import rstream

    # Spark's processes have the environment of the session, not the directory of this test.
    by_stream, by_batch = (
        text.replace(".load(", f'.option("driverDir", {driver_dir!r}).load(')
        for text in blocks("docs/how-to/spark.md", "python")[4:]
    )
    got: list[Any] = []

    def send(name: str) -> None:
        with rstream.publisher(name, dir=driver_dir, connect_timeout_s=30) as pub:
            pub.send_many({"symbol": "a", "px": float(number)} for number in range(100))

    with rstream.Driver(dir=driver_dir):
        names = {
            "rstream": rstream,
            "spark": spark_session,
            "folder": str(tmp_path / "cp"),
            "on_batch": lambda df, epoch: got.extend(df.collect()),
        }
        exec(by_stream, names)
        send("ticks")
        until(lambda: len(got) >= 100, 60)  # processAllAvailable may look a moment too early
        names["query"].stop()
        assert {row.px for row in got} == set(range(100))
        # The process of the query reads "ticks" for a moment longer.
        thread = threading.Thread(target=send, args=("prices",))
        thread.start()
        exec(by_batch.replace('"ticks"', '"prices"'), names)
        thread.join()
        assert {row.px for row in names["rows"]} == set(range(100))
