"""A publisher, a hop and a slow reader under the default law: every tool names the slow one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rstream
from rstream import metrics
from rstream.prometheus._families import families, look_at
from tests.support import free_port, until

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKER = str(Path(__file__).with_name("why_worker.py"))


def tool(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rstream", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["ipc", "udp"])
def chain(request, driver: rstream.Driver, driver_dir: str) -> Iterator[dict[str, int]]:
    """The pids of three programs, once both streams are held."""
    ends = ("one", "two")
    if request.param == "udp":
        ends = tuple(f"{name}@aeron:udp?endpoint=127.0.0.1:{free_port()}" for name in ends)
    environment = os.environ | {"RSTREAM_DIR": driver_dir}
    programs: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for kind, of in (("slow", ends[1:]), ("hop", ends), ("publish", ends[:1])):
            programs[kind] = subprocess.Popen([sys.executable, WORKER, kind, *of], env=environment)
        pids = {kind: program.pid for kind, program in programs.items()}
        until(lambda: holders(driver_dir) == {"one": pids["hop"], "two": pids["slow"]})
        yield pids
    finally:
        for program in programs.values():
            program.kill()
            program.wait()


def holders(driver_dir: str) -> dict[str, int | None]:
    return {
        str(state.name): state.holder.pid
        for state in metrics.publications(driver_dir)
        if state.holder is not None
    }


def test_every_tool_names_the_program_that_is_slow(chain: dict[str, int], driver_dir: str) -> None:
    host = os.uname().nodename
    slow, hop = (f"why_worker.py, pid {chain[kind]} on {host} (" for kind in ("slow", "hop"))

    def stat_names() -> bool:
        lines = tool("stat", "--dir", driver_dir).split("\n")
        at = next(i for i, line in enumerate(lines) if 'stream "two"' in line)
        assert f"    publisher: why_worker.py, pid {chain['hop']}" in lines
        assert f"    reader: why_worker.py, pid {chain['slow']}" in lines
        return slow in "\n".join(lines[at : at + 8])

    def top_names() -> bool:
        shown = tool("top", "--once", "--dir", driver_dir)
        return f": {slow}" in shown and f": {hop}" in shown

    def json_names() -> bool:
        found: dict[str, Any] = json.loads(tool("stat", "--json", "--dir", driver_dir))
        holders = {each["name"]: each["holder"] or {} for each in found["publications"]}
        is_slow = holders["two"].get("pid") == chain["slow"]
        return is_slow and holders["one"].get("name", "").startswith(hop)

    # A publisher that the host does not run just now is held by nobody.
    for names in (stat_names, top_names, json_names):
        until(names)

    def exported() -> set[tuple[str, ...]]:
        (family,) = [
            one
            for one in families(look_at(driver_dir, 10))
            if one.name == "rstream_publication_holder"
        ]
        named = [dict(zip(family.labels, labels, strict=True)) for labels, _ in family.samples]
        return {(one["name"], one["reader"], one["pid"], one["host"]) for one in named}

    expected = {
        ("one", "why_worker.py", str(chain["hop"]), host),
        ("two", "why_worker.py", str(chain["slow"]), host),
    }
    until(lambda: exported() == expected)


def test_why_walks_to_the_program_that_is_slow(chain: dict[str, int], driver_dir: str) -> None:
    lines: list[str] = []

    def walks() -> bool:  # also where the host does not run a publisher just now
        lines[:] = tool("why", "one", "--dir", driver_dir).rstrip().split("\n")
        return len(lines) == 3 and "is slow: it takes " in lines[2]

    until(walks)
    assert lines[0].startswith('"one"')
    assert f"pid {chain['hop']}" in lines[0]
    assert lines[1].startswith('  "two"')
    assert lines[2].strip().startswith(f"=> why_worker.py, pid {chain['slow']} on ")
    done = subprocess.run(
        [sys.executable, "-m", "rstream", "why", "three", "--dir", driver_dir],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "nobody publishes 'three'" in done.stderr


def test_an_error_names_the_reader(driver: rstream.Driver, driver_dir: str) -> None:
    """It reads nothing, so the window fills: pid and program are in the text."""
    with (
        rstream.subscriber("ticks", dir=driver_dir),
        rstream.publisher("ticks", dir=driver_dir, linger_s=0) as publisher,
    ):
        until(publisher.slowest_reader)  # the driver looks once a second
        with pytest.raises(rstream.errors.BackPressured, match=rf"pid {os.getpid()} on "):
            for _ in range(100_000):
                publisher.send(b"x" * 1000, timeout_s=0.1)


def test_an_idle_publisher_does_not_wait_for_its_rate(
    driver: rstream.Driver, driver_dir: str
) -> None:
    for channel in (None, f"aeron:udp?endpoint=127.0.0.1:{free_port()}"):
        with (
            rstream.subscriber("idle", dir=driver_dir, channel=channel) as reader,
            rstream.publisher(
                "idle",
                dir=driver_dir,
                channel=channel,
                linger_s=0,
                rate=rstream.rate.Fixed("1MB/s"),
            ) as publisher,
        ):
            publisher.send(b"x")
            assert reader.get(timeout_s=20) == b"x"

            def flows() -> bool:
                (state,) = metrics.publications(driver_dir)
                return state.waits_for is None and state.holder is None

            until(flows)
