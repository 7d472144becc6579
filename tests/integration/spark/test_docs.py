"""The programs about Spark in README and documentation run as they stand there."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

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


def test_the_how_to_page(spark_session: Any, rows: Any, driver_dir: str, tmp_path: Path) -> None:
    import rstream.ray

    got: list[Any] = []
    (text,) = blocks("docs/how-to/spark.md", "python")
    with rstream.Driver(dir=driver_dir), contextlib.ExitStack() as stack:
        ends = [
            stack.enter_context(
                contextlib.closing(
                    rstream.ray.reader(f"docs-{number}", codec="arrow", dir=driver_dir)
                )
            )
            for number in range(2)
        ]
        for end in ends:
            end.start(got.append)
        handles = [end.handle for end in ends]
        run(text, spark=spark_session, rows=rows, handles=handles, folder=str(tmp_path / "cp"))
        for end in ends:
            end.finish()
    assert {row["value"] for batch in got for row in batch.to_pylist()} == set(range(100))
