"""One Ray and one Spark for all integration tests.

Their files lie in temporary folders that are removed at the end of the session.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _environment() -> None:
    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
        PYTHONPATH=os.pathsep.join(
            part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part
        ),
        SPARK_LOCAL_IP="127.0.0.1",
        RAY_AUTH_MODE="disabled",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    )


@pytest.fixture(scope="session")
def ray_session() -> Iterator[Any]:
    """A running Ray on this machine only."""
    _environment()
    ray = pytest.importorskip(
        "ray", reason="ray is not installed: pip install rstream-transport[ray]"
    )
    folder = tempfile.mkdtemp(prefix="rs-ray-")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _temp_dir=folder,
        object_store_memory=100_000_000,
        logging_level="ERROR",
    )
    yield ray
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark that retries a failed task twice."""
    _environment()
    pytest.importorskip(
        "pyspark", reason="pyspark is not installed: pip install rstream-transport[spark]"
    )
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    spark = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:-UsePerfData")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()
