"""Spark: a streaming sink, ``df.writeStream.format("rstream")``.

    rstream.spark.register(spark)
    query = (rows.writeStream.format("rstream")
        .option("handles", json.dumps([handle.to_text() for handle in handles]))
        .option("partitionBy", "carrier")
        .option("checkpointLocation", folder).start())

The reader gets each element as a ``pyarrow.RecordBatch``. Rows are delivered at least once: see
:func:`marks_of` and docs/how-to/spark.md::

    for batch in reader:
        marks = rstream.spark.marks_of(batch)
        if (marks.query, marks.epoch, marks.partition) not in finished:
            ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rstream.ray  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.spark._sink import OPTIONS, Marks, marks_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ("OPTIONS", "Marks", "marks_of", "register")


def register(spark: SparkSession) -> None:
    """Register the format ``rstream`` with this session.

    Workers import :mod:`rstream.spark`, so it must be installed in their Python
    (``PYSPARK_PYTHON``).
    """
    from rstream.spark._sink import RstreamDataSource

    spark.dataSource.register(RstreamDataSource)
