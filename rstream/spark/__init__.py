"""Spark: a sink and a source for streams and batches, ``format("rstream")``.

    rstream.spark.register(spark)
    query = (rows.writeStream.format("rstream")
        .option("handles", json.dumps([handle.to_text() for handle in handles]))
        .option("partitionBy", "carrier")
        .option("checkpointLocation", folder).start())

Readers, opened by ``rstream.ray.committed_reader()``, get ``pyarrow.RecordBatch`` objects, each row
once (``delivery="committed"``). :func:`marks_of` tells where a batch comes from.

Faster, from the program that drives Spark::

    rstream.spark.send(df, handle)
    query = rows.writeStream.foreachBatch(rstream.spark.foreach_batch(handle)).start()

The other way round a query reads a stream, and a restart from its checkpoint loses nothing::

    ticks = (session.readStream.format("rstream").schema("symbol STRING, px DOUBLE")
        .option("stream", "ticks").option("spoolDir", f"{folder}/spool").load())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rstream.codecs  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.ledger  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.ray  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream._checks import short
from rstream.ledger import Marks, marks_of
from rstream.spark._frames import Sent, foreach_batch, send
from rstream.spark._options import OPTIONS
from rstream.spark._source_options import READ_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = (
    "OPTIONS",
    "READ_OPTIONS",
    "Marks",
    "Sent",
    "foreach_batch",
    "marks_of",
    "register",
    "send",
)


def register(spark: SparkSession) -> None:
    """Register the format ``rstream`` with this session.

    Workers import :mod:`rstream.spark`, so it must be installed in their Python
    (``PYSPARK_PYTHON``).

    Raises:
        TypeError: ``spark`` is no session.

    Example::

        rstream.spark.register(spark)
        df.write.format("rstream").option("handles", handle.to_text()).mode("append").save()
    """
    from rstream.spark._sink import RstreamDataSource

    if isinstance(spark, type) or not hasattr(spark, "dataSource"):
        raise TypeError(
            f"rstream.spark.register: {short(spark)} is no session of Spark; give what "
            "SparkSession.builder.getOrCreate() returns"
        )
    spark.dataSource.register(RstreamDataSource)
