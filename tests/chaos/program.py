"""The program that drives Spark in a chaos run: streams files to a handle; it is killed, too.

python -m tests.chaos.program FOLDER HANDLE DELIVERY
"""

from __future__ import annotations

import faulthandler
import os
import sys
from pathlib import Path

#: How often its threads are written to its log: a program that is killed lives shorter.
STACKS_EVERY_S = 100.0


def spark_home(folder: Path) -> Path:
    """A folder with all of Spark. Executors of a ``local-cluster`` log under its ``work``."""
    import pyspark

    home = folder / "spark-home"
    home.mkdir(exist_ok=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        link = home / entry.name
        if entry.name != "work" and not link.is_symlink():
            link.symlink_to(entry)
    return home


def main() -> int:
    folder, handle, delivery = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    faulthandler.dump_traceback_later(STACKS_EVERY_S, repeat=True)
    from pyspark.sql import SparkSession

    # Executors of their own are started by scripts of Spark's folder.
    os.environ["SPARK_HOME"] = str(spark_home(folder))

    import rstream.spark

    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(folder / "spark"))
        .config("spark.driver.memory", "1g")
        .config("spark.python.worker.tracebackDumpIntervalSeconds", "30")  # into the executor's log
        .config("spark.driver.extraJavaOptions", "-XX:-UsePerfData")
        .getOrCreate()
    )
    (folder / f"started-{os.getpid()}").touch()
    spark.sparkContext.setLogLevel("OFF")
    rstream.spark.register(spark)
    query = (
        spark.readStream.schema("value LONG")
        .option("maxFilesPerTrigger", "1")
        .parquet(str(folder / "in"))
        .writeStream.format("rstream")
        .option("handles", handle)
        .option("delivery", delivery)
        .option("rowsPerMessage", "1000")
        .option("offerTimeout", "30")
        .option("commitTimeout", "15")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        print(f"query failed: {str(error).splitlines()[0][:300]}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
