"""Spark's part: read and join the tables, and compute in one batch what the actors stream."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Aggregates by carrier and month, all integers, so that equality is exact.
AGGREGATES = ("flights", "delayed", "delay_min", "distance", "no_weather", "temp_centi")

FLIGHTS_SCHEMA = (
    "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, "
    "sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, "
    "origin STRING, dest STRING, air_time INT, distance INT, hour INT, minute INT, "
    "time_hour TIMESTAMP"
)
WEATHER_SCHEMA = (
    "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, "
    "humid DOUBLE, wind_dir DOUBLE, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, "
    "pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP"
)

#: So about 25 rows a message: the sink divides each batch among three actors. Long batches would
#: let one actor wait while the task sends to another.
ROWS_PER_ARROW_BATCH = 75

#: Log4j settings: only errors, on standard error.
LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


def session(work: Path) -> SparkSession:
    """A local Spark with two task threads, quiet, that keeps its files below ``work``."""
    from pyspark.sql import SparkSession

    # Only settings in the launcher's configuration folder reach the JVM before it prints.
    conf = work / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "log4j2.properties").write_text(LOGGING)
    os.environ["SPARK_CONF_DIR"] = str(conf)
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-java-options -XX:-UsePerfData pyspark-shell"
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("rstream-flights")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(work / "spark"))
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.driver.memory", "1g")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(ROWS_PER_ARROW_BATCH))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def read(spark: SparkSession, tables: Path, flights: DataFrame) -> DataFrame:
    """Left-join flights with airlines and weather; each flight stays one row."""
    from pyspark.sql import functions as f

    airlines = (
        spark.read.option("header", "true").csv(str(tables / "airlines.csv"))
        .withColumnRenamed("name", "airline")
    )  # fmt: skip
    weather = (
        spark.read.schema(WEATHER_SCHEMA).option("header", "true").option("nullValue", "NA")
        .csv(str(tables / "weather.csv"))
        .select("origin", "time_hour",
                f.round(f.col("temp") * 100).cast("long").alias("temp_centi"),
                f.lit(1).alias("has_weather"))
    )  # fmt: skip
    return (
        flights.join(f.broadcast(airlines), "carrier", "left")
        .join(f.broadcast(weather), ["origin", "time_hour"], "left")
        .select("carrier", "airline", "month", "day", "origin", "dest", "flight", "tailnum",
                "sched_dep_time", "dep_time", "dep_delay", "sched_arr_time", "arr_time",
                "arr_delay", "air_time", "distance",
                "temp_centi", f.coalesce("has_weather", f.lit(0)).alias("has_weather"))
    )  # fmt: skip


def stream_of(spark: SparkSession, files: str) -> DataFrame:
    """The flights of the files as a structured stream: one file per micro-batch.

    Args:
        files: path with wildcards, as Spark reads them.
    """
    return (
        spark.readStream.schema(FLIGHTS_SCHEMA).option("header", "true").option("nullValue", "NA")
        .option("maxFilesPerTrigger", "1").csv(files)
    )  # fmt: skip


def batch_answer(spark: SparkSession, tables: Path) -> dict[tuple[str, int], tuple[int, ...]]:
    """Every aggregate over the whole table, by (carrier, month)."""
    from pyspark.sql import functions as f

    flights = (
        spark.read.schema(FLIGHTS_SCHEMA).option("header", "true").option("nullValue", "NA")
        .csv(str(tables / "flights.csv"))
    )  # fmt: skip
    rows = (
        read(spark, tables, flights)
        .groupBy("carrier", "month")
        .agg(
            f.count("*").alias("flights"),
            f.coalesce(f.sum((f.col("dep_delay") > 0).cast("long")), f.lit(0)).alias("delayed"),
            f.coalesce(f.sum("dep_delay"), f.lit(0)).alias("delay_min"),
            f.sum("distance").alias("distance"),
            f.sum((f.col("has_weather") == 0).cast("long")).alias("no_weather"),
            f.coalesce(f.sum("temp_centi"), f.lit(0)).alias("temp_centi"),
        )
        .collect()
    )
    return {
        (row["carrier"], row["month"]): tuple(int(row[name]) for name in AGGREGATES) for row in rows
    }
