"""The commands that look at a driver: top, watch, metrics and the JSON of stat."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

import rstream
from rstream import metrics
from rstream.cli import _top_rows as top_rows
from tests.support import free_port, in_thread, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RSTREAM = [sys.executable, "-m", "rstream"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RSTREAM, *arguments], capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def started(*arguments: str, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*RSTREAM, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def await_note(process: subprocess.Popen[str], *texts: str) -> str:
    """The next line on standard error that has one of the texts."""
    assert process.stderr is not None
    for line in process.stderr:
        if any(text in line for text in texts):
            return line
    raise AssertionError(f"it ended without {texts!r}")


@pytest.fixture
def ends(driver: rstream.Driver, driver_dir: str) -> Iterator[tuple[Any, Any]]:
    """A subscriber and a publisher of ``ticks`` that are connected."""
    with (
        rstream.subscriber("ticks", dir=driver_dir) as reader,
        rstream.publisher("ticks", dir=driver_dir, linger_s=0) as writer,
    ):
        writer.send({"n": -1})
        assert reader.get(timeout_s=20) == {"n": -1}
        yield reader, writer


@pytest.mark.parametrize("command", [["top"], ["watch", "ticks"], ["metrics", "--once"]])
def test_a_directory_without_a_driver_is_told_in_a_sentence(
    driver_dir: str, command: list[str]
) -> None:
    done = run(*command, "--dir", driver_dir)
    assert done.returncode == 1
    assert done.stderr.startswith(f"rstream: no driver in {driver_dir}")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "ready"),
    [
        (["top", "--follow"], "driver pid"),
        (["metrics", "--port", "0"], "http://"),
        (["watch", "ticks"], ""),
    ],
    ids=["top", "metrics", "watch"],
)
def test_ctrl_c_ends_it_at_once(
    ends: tuple[Any, Any], driver_dir: str, command: list[str], ready: str
) -> None:
    """Users are promised 0.2 s; a busy machine gets more before the test fails."""
    with started(*command, "--dir", driver_dir) as process:
        assert process.stdout is not None
        if ready:
            assert ready in process.stdout.readline()
        else:
            await_note(process, "reading aeron:ipc")
        begin_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        print(f"{command[0]} ended {time.monotonic() - begin_s:.3f} s after Ctrl-C")
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


# ---- stat --json ----


def test_json_has_the_documented_keys(ends: tuple[Any, Any], driver_dir: str) -> None:
    until(lambda: metrics.publications(driver_dir)[0].slowest)  # the driver looks once a second
    found = json.loads(run("stat", "--json", "--dir", driver_dir).stdout)
    assert (found["version"], found["dir"]) == (1, driver_dir)
    assert set(found) == {
        "version", "rstream", "dir", "driver", "publications", "readers", "subscriptions",
        "losses", "counters",
    }  # fmt: skip
    assert found["driver"] == {
        "state": "alive",
        "is_aeron": False,
        "pid": os.getpid(),
        "heartbeat_age_ms": found["driver"]["heartbeat_age_ms"],
    }

    def keys(kind: type, *more: str) -> set[str]:
        return {field.name for field in dataclasses.fields(kind)} | set(more)

    (publication,), (reader,), (subscription,) = (
        found[key] for key in ("publications", "readers", "subscriptions")
    )
    more = ["name", "sent", "sent_bytes", "consumed_bytes", "queued_bytes", "fill", "waits_for"]
    more += ["holder", "keys"]
    assert set(publication) == keys(metrics.PublicationState, *more)
    assert set(reader) == keys(metrics.ImageState, "name", "keys")
    assert set(subscription) == keys(metrics.SubscriptionState, "name", "keys")
    assert set(found["counters"][0]) == keys(metrics.Counter)
    assert publication["name"] == reader["name"] == subscription["name"] == "ticks"
    assert (publication["waits_for"], publication["fill"]) == (None, 0.0)
    assert publication["slowest"]["name"].endswith(
        f"(subscription {subscription['registration_id']} of client {subscription['client_id']})"
    )
    assert reader["registration_id"] == subscription["registration_id"]


def test_json_says_who_holds_a_stream(ends: tuple[Any, Any], driver_dir: str) -> None:
    _, writer = ends

    def look() -> Any:
        while writer.offer({"fill": "x" * 1000}) > 0:  # the law may stop it below the window
            pass
        (found,) = json.loads(run("stat", "--json", "--dir", driver_dir).stdout)["publications"]
        # The driver looks once a second; meanwhile the law may say go on.
        return found if found["fill"] > 0.9 and found["waits_for"] == "window" else None

    found = until(look, timeout_s=30)
    assert found["queued_bytes"] == found["sent"] - found["slowest"]["position"]
    assert f"pid {os.getpid()}" in found["slowest"]["name"]


# ---- top ----


def test_top_once_shows_rates(ends: tuple[Any, Any], driver_dir: str) -> None:
    reader, writer = ends
    with started("top", "--once", "--interval", "0.5", "--dir", driver_dir) as process:
        while process.poll() is None:
            writer.send({"n": 1})
            reader.poll()
            time.sleep(0.001)
        assert process.stdout is not None
        title, headings, line = process.stdout.read().splitlines()
    assert title == f"{driver_dir}, driver pid {os.getpid()}"
    assert headings.split()[:4] == ["stream", "session", "way", "rate"]
    assert re.match(rf"ticks +{writer.session_id}  ipc  +\d+(\.\d+)? kB/s ", line)
    assert line.endswith("flows")


def test_top_in_a_terminal(ends: tuple[Any, Any], driver_dir: str) -> None:
    """By rich where it is installed, with whole lines in the height of the terminal."""
    master, slave = pty.openpty()
    with started("top", "--interval", "0.1", "--dir", driver_dir, stdout=slave) as process:
        os.close(slave)
        text = ""
        while "ticks" not in text or "flows" not in text:
            text += os.read(master, 4096).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the terminal has hung up
            while os.read(master, 4096):
                pass
        assert process.wait(10) == 130
    os.close(master)


def test_top_ends_with_its_driver(driver_dir: str) -> None:
    driver = rstream.Driver(dir=driver_dir)
    with started("top", "--follow", "--interval", "0.1", "--dir", driver_dir) as process:
        assert process.stdout is not None
        assert "driver pid" in process.stdout.readline()
        driver.close()
        assert process.wait(20) == 1
        assert process.stderr is not None
        assert process.stderr.read().startswith("rstream: ")


# ---- watch ----


def test_watch_prints_what_the_reader_gets(ends: tuple[Any, Any], driver_dir: str) -> None:
    reader, writer = ends
    with started("watch", "ticks", "--count", "3", "--dir", driver_dir) as process:
        await_note(process, "reading aeron:ipc")
        for n in range(3):
            writer.send({"n": n})
        assert process.wait(20) == 0
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines] == [f"{{'n': {n}}}" for n in range(3)]
    assert {line.split()[0] for line in lines} == {str(writer.session_id)}
    assert [reader.get(timeout_s=20) for _ in range(3)] == [{"n": n} for n in range(3)]


def test_watch_says_what_it_waits_for(ends: tuple[Any, Any], driver_dir: str) -> None:
    with started("watch", "tick", "--dir", driver_dir) as process:
        line = await_note(process, "waits for")
    assert line == (
        "rstream watch: waits for a publisher of 'tick'; did you mean 'ticks'? published here: "
        "'ticks'\n"
    )


def test_watch_counts_as_no_reader(driver: rstream.Driver, driver_dir: str) -> None:
    with (
        rstream.publisher("ticks", dir=driver_dir, connect_timeout_s=0.5, linger_s=0) as writer,
        started("watch", "ticks", "--dir", driver_dir) as process,
    ):
        assert "--alone" in await_note(process, "has no reader")
        with pytest.raises(rstream.errors.NotConnected):
            writer.send(1)
        with rstream.subscriber("ticks", dir=driver_dir) as reader:
            writer.send(2)
            assert reader.get(timeout_s=20) == 2
            await_note(process, "reading aeron:ipc")
        await_note(process, ": left")
        until(lambda: not writer.is_connected, timeout_s=20)


def test_watch_alone_is_a_reader(driver: rstream.Driver, driver_dir: str) -> None:
    with (
        rstream.publisher("ticks", dir=driver_dir, linger_s=0) as writer,
        started("watch", "ticks", "--alone", "--count", "1", "--json", "--dir", driver_dir) as one,
    ):
        writer.send([1, "a"])
        assert one.wait(20) == 0
        assert one.stdout is not None
        assert json.loads(one.stdout.read())["value"] == [1, "a"]


@pytest.mark.parametrize("is_stopped", [False, True], ids=["full-pipe", "stopped"])
def test_a_watch_that_does_not_read_holds_nobody_up(
    ends: tuple[Any, Any], driver_dir: str, is_stopped: bool
) -> None:
    """Nobody reads its output, or its process is stopped; six windows still pass."""
    reader, writer = ends
    with started("watch", "ticks", "--dir", driver_dir) as process:
        await_note(process, "reading aeron:ipc")
        if is_stopped:
            process.send_signal(signal.SIGSTOP)
        payload, begin_s = {"data": "x" * 1000}, time.monotonic()
        for _ in range(3_000):
            writer.send(payload, timeout_s=20)
            reader.get(timeout_s=20)
        print(f"3 MB in {time.monotonic() - begin_s:.1f} s")
        if is_stopped:
            lines: list[str] = []
            in_thread(lambda: lines.extend(process.stdout or ()))
            process.send_signal(signal.SIGCONT)
            # The second one on a machine so busy that it was stopped for more than ten seconds.
            await_note(process, "was left behind", "gave it up")
            while not any("'after'" in line for line in lines):
                writer.send({"after": 1}, timeout_s=20)
                reader.get(timeout_s=20)
                time.sleep(0.01)


def test_watch_goes_on_with_what_came_later(ends: tuple[Any, Any], driver_dir: str) -> None:
    """A printer that was behind: the bytes between are told, and no message comes twice."""
    reader, writer = ends
    with started("watch", "ticks", "--json", "--dir", driver_dir) as process:
        await_note(process, "reading aeron:ipc")
        for n in range(20_000):
            writer.send({"n": n, "data": "x" * 200}, timeout_s=20)
            reader.get(timeout_s=20)
        found: list[Any] = []
        in_thread(lambda: found.extend(map(json.loads, process.stdout or ())))
        while not found or found[-1]["value"]["n"] != -2:
            writer.send({"n": -2}, timeout_s=20)
            reader.get(timeout_s=20)
            time.sleep(0.01)
    numbers = [one["value"]["n"] for one in found if one["value"]["n"] >= 0]
    assert numbers == sorted(set(numbers))
    assert sum(one["skipped_bytes"] for one in found) > 0


def test_watch_puts_large_messages_together(ends: tuple[Any, Any], driver_dir: str) -> None:
    reader, writer = ends
    with started("watch", "ticks", "--count", "1", "--json", "--dir", driver_dir) as process:
        await_note(process, "reading aeron:ipc")
        received: list[Any] = []
        in_thread(lambda: received.extend(reader.get(timeout_s=20) for _ in range(2)))
        writer.send("y" * (5 << 20), timeout_s=20)
        await_note(process, "a message of 5,242,885 bytes not shown")
        writer.send("x" * (1 << 20), timeout_s=20)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["value"] == "x" * (1 << 20)
        assert process.wait(20) == 0
    until(lambda: len(received) == 2)


def test_watch_spies_on_a_publication_over_udp(driver: rstream.Driver, driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.subscriber("ticks", channel=channel, dir=driver_dir) as reader,
        rstream.publisher("ticks", channel=channel, dir=driver_dir, linger_s=0) as writer,
        started("watch", "ticks", "--count", "1", "--dir", driver_dir) as process,
    ):
        await_note(process, "reading aeron-spy:")
        writer.send({"n": 1})
        assert reader.get(timeout_s=20) == {"n": 1}
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert process.stdout.read().endswith(" {'n': 1}\n")


def test_watch_reads_beside_the_reader_of_another_host(
    make_driver_dir: Callable[[], str],
) -> None:
    here, there = make_driver_dir(), make_driver_dir()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.Driver(dir=here, timer_interval_s=0.1),
        rstream.Driver(dir=there),
        rstream.subscriber("ticks", channel=channel, dir=here) as reader,
        rstream.publisher("ticks", channel=channel, dir=there, linger_s=0) as writer,
    ):
        writer.send({"n": 0})
        assert reader.get(timeout_s=20) == {"n": 0}
        with started("watch", "ticks", "--count", "2", "--dir", here) as process:
            await_note(process, "reading aeron:udp")
            for n in range(1, 3):
                writer.send({"n": n})
                assert reader.get(timeout_s=20) == {"n": n}
            assert process.wait(20) == 0
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
        assert [line.split(maxsplit=2)[2] for line in lines] == ["{'n': 1}", "{'n': 2}"]
        (row,) = top_rows.rows(None, top_rows.look(here))
        assert row.way.startswith("from 127.0.0.1:")


def test_watch_ends_with_a_closed_pipe(ends: tuple[Any, Any], driver_dir: str) -> None:
    reader, writer = ends
    with started("watch", "ticks", "--dir", driver_dir) as process:
        await_note(process, "reading aeron:ipc")
        assert process.stdout is not None
        process.stdout.close()
        writer.send(1)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert reader.get(timeout_s=20) == 1


# ---- metrics ----


def test_prometheus_scrapes_what_metrics_says(ends: tuple[Any, Any], driver_dir: str) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    with started("metrics", "--port", "0", "--dir", driver_dir) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
        with urllib.request.urlopen(url, timeout=20) as answer:
            text = answer.read().decode()
    found = {family.name: family for family in parser.text_string_to_metric_families(text)}
    (state,) = metrics.publications(driver_dir)
    (sample,) = found["rstream_publication_offered_bytes"].samples
    assert sample.labels == {
        "stream": str(state.stream_id),
        "name": "ticks",
        "session": str(state.session_id),
        "channel": state.channel,
    }
    assert sample.name == "rstream_publication_offered_bytes_total"
    assert sample.value == state.position > 0
    assert found["rstream_driver_up"].samples[0].value == 1
    assert found["rstream_driver_counter"].samples


def test_the_number_of_series_is_bounded(driver: rstream.Driver, driver_dir: str) -> None:
    prometheus_client = pytest.importorskip("prometheus_client")
    registry = prometheus_client.CollectorRegistry()
    registry.register(rstream.prometheus.Collector(driver_dir, streams_max=2))
    with rstream.Client(dir=driver_dir) as client:
        made = [client.add_publication("aeron:ipc?term-length=64k", n) for n in range(1, 5)]
        text = prometheus_client.generate_latest(registry).decode()
        for publication in made:
            publication.close()
    lines = [line for line in text.splitlines() if line.startswith("rstream_publication_room")]
    assert [re.findall(r'stream="(\d+)"', line) for line in lines] == [["1"], ["2"]]
    assert "rstream_left_out 2.0" in text


def test_a_driver_that_starts_later_is_found(driver_dir: str) -> None:
    prometheus_client = pytest.importorskip("prometheus_client")
    registry = prometheus_client.CollectorRegistry()
    registry.register(rstream.prometheus.Collector(driver_dir))
    assert registry.get_sample_value("rstream_driver_up") == 0
    with rstream.Driver(dir=driver_dir):
        assert registry.get_sample_value("rstream_driver_up") == 1
    assert registry.get_sample_value("rstream_driver_up") == 0


def test_a_port_that_is_taken_is_told(driver_dir: str) -> None:
    pytest.importorskip("prometheus_client")
    with started("metrics", "--port", "0", "--dir", driver_dir) as process:
        assert process.stdout is not None
        port = re.findall(r":(\d+)/", process.stdout.readline())[0]
        done = run("metrics", "--port", port, "--dir", driver_dir)
    assert done.returncode == 1
    assert f"--port {port}: Address already in use" in done.stderr


def test_without_the_extra_metrics_says_which(driver_dir: str) -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from rstream.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "metrics", "--dir", driver_dir],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert 'whl[prometheus]"' in done.stderr
    assert "Traceback" not in done.stderr
