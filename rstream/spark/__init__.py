"""Spark: a streaming sink, ``df.writeStream.format("rstream")``.

    rstream.spark.register(spark)
    query = (rows.writeStream.format("rstream")
        .option("handles", json.dumps([handle.to_text() for handle in handles]))
        .option("partitionBy", "carrier")
        .option("checkpointLocation", folder).start())

Each element at the reader is a ``pyarrow.RecordBatch``; rows are one ``flat_map`` away. At least once: see
:mod:`rstream.spark._sink` and docs/ray-spark.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.spark._sink import OPTIONS, Marks, marks_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ("OPTIONS", "Marks", "marks_of", "register")


def register(spark: SparkSession) -> None:
    """Make the format ``rstream`` known to this session.

    Workers import :mod:`rstream.spark`: it must be installed in their Python (``PYSPARK_PYTHON``).
    """
    from rstream.spark._sink import RstreamDataSource

    spark.dataSource.register(RstreamDataSource)
