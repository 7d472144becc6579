"""The programs of the README, the tutorial and the how-to pages run as they stand there.

A page's programs are started in a folder of their own, as a user would do it. Their output is
compared with what the page shows.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rstream import driver as rstream_driver
from tests.support import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ray and Spark alone take a minute to start on a busy machine.
pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parent.parent
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: `name.py` in the sentence that ends at a block names the block's file.
NAMED = re.compile(
    r"`(\w+\.(?:py|c))`(?:(?!```)[^`]|`[^`]+`)*?:?\n\n```\w+\n(.*?)^```$", re.M | re.S
)
TICKS = "".join(f"{{'n': {n}, 'px': {100 + n}}}\n" for n in range(5))


def blocks(page: str, language: str) -> list[str]:
    return [
        match[2] for match in FENCED.finditer((ROOT / page).read_text()) if match[1] == language
    ]


def save_programs(page: str, folder: Path) -> None:
    for match in NAMED.finditer((ROOT / page).read_text()):
        (folder / match[1]).write_text(match[2])


class Shell:
    """Starts programs in a folder with a driver directory, and ends those that are left."""

    def __init__(self, folder: Path, driver_dir: str) -> None:
        self.folder = folder
        self.driver_dir = driver_dir
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "RSTREAM_DIR": self.driver_dir, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def python(self, name: str) -> subprocess.Popen[str]:
        return self.start(sys.executable, "-W", "error", name)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


def output(process: subprocess.Popen[str]) -> str:
    text, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return text


@pytest.fixture
def shell(tmp_path: Path, driver_dir: str) -> Iterator[Shell]:
    shell = Shell(tmp_path, driver_dir)
    with contextlib.ExitStack() as stack:
        stack.callback(shell.end)
        yield shell


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_program_sends_and_reads(shell: Shell, page: str) -> None:
    text = next(text for text in blocks(page, "python") if "with rstream.publisher(" in text)
    sends, reads = text.split("\nwith rstream.subscriber(")
    reader = shell.python(
        shell.write("reads.py", f"import rstream\nwith rstream.subscriber({reads}")
    )
    writer = shell.python(shell.write("sends.py", sends))
    output(writer)
    lines = output(reader).splitlines()
    assert lines == re.findall(r"\{'px': [\d.]+\}", "\n".join(lines))
    assert lines


def test_two_processes(shell: Shell) -> None:
    page = "docs/tutorial/two-processes.md"
    save_programs(page, shell.folder)
    reader = shell.python("reader.py")
    writer = shell.python("writer.py")
    assert output(writer) == "".join(f"sent {n}\n" for n in range(5))
    printed = output(reader)
    assert printed == TICKS
    assert printed in blocks(page, "")


def test_sharing_work(shell: Shell) -> None:
    save_programs("docs/how-to/sharing-work.md", shell.folder)
    # One: a second one that begins after the last job would wait for another publisher.
    worker = shell.python("worker.py")
    assert output(shell.python("dispatch.py")) == "all acknowledged\n"
    assert sorted(output(worker).splitlines()) == [f"{n} {n * n}" for n in range(6)]


def test_requests(shell: Shell) -> None:
    page = "docs/how-to/request-response.md"
    save_programs(page, shell.folder)
    shell.python("prices.py")
    assert output(shell.python("asks.py")) == blocks(page, "")[0]


def test_the_last_value(shell: Shell) -> None:
    page = "docs/how-to/late-subscribers.md"
    save_programs(page, shell.folder)
    server = shell.python("settings.py")
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.read(1)  # it asks for the key that ends it
    follower = shell.python("follows.py")
    assert follower.stdout is not None
    line = follower.stdout.readline()
    server.stdin.write("\n")
    server.stdin.flush()
    assert line + output(follower) == blocks(page, "")[0]
    output(server)


@pytest.mark.integration
def test_pipeline(shell: Shell) -> None:
    pytest.importorskip("reactivex", reason="reactivex is not installed")
    page = "docs/tutorial/pipeline.md"
    save_programs(page, shell.folder)
    scores = shell.python("scores.py")
    pipeline = shell.python("pipeline.py")
    ticks = output(shell.python("ticks.py"))
    shown = next(text for text in blocks(page, "") if "scores.py" in text).splitlines()
    assert re.fullmatch(r"100000 ticks sent in \d+\.\d s\n", ticks)
    assert output(pipeline) == "pipeline: 9 scores sent\n"
    printed = output(scores).splitlines()
    assert len(printed) == 9
    assert [*printed[:2], printed[-1]] == [line for line in shown if line.startswith("{")]


def test_the_newest_tick(shell: Shell) -> None:
    save_programs("docs/tutorial/pipeline.md", shell.folder)
    latest = shell.python("latest.py")
    output(shell.python("ticks.py"))
    assert re.fullmatch(r"\d+ older ticks were replaced by newer ones\n", output(latest))


@pytest.mark.ci
@pytest.mark.integration
def test_ray(shell: Shell) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    page = "docs/tutorial/ray.md"
    save_programs(page, shell.folder)
    scorer = shell.start(sys.executable, "scorer.py")  # Ray itself warns
    shown = next(text for text in blocks(page, "") if "scorer.py" in text)
    assert output(scorer) == shown.partition("...\n")[2]


def test_testing(shell: Shell) -> None:
    page = "docs/how-to/testing.md"
    save_programs(page, shell.folder)
    names = {path.name for path in shell.folder.glob("*.py")}
    assert len(names) == len(blocks(page, "python"))
    shell.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")
    text = output(shell.start(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"))
    passed = re.search(r"^(\d+) passed, \d+ skipped", text, re.MULTILINE)
    assert passed is not None, text
    # The page's own tests, and those of its four verifications that can be tested.
    assert int(passed[1]) > 80


SENSORS = """
async def main():
    for number in range(3):
        async with rstream.aio.publisher(f"sensor-{number}", linger_s=30) as pub:
            await pub.send(number)


asyncio.run(main())
"""


def test_asyncio(shell: Shell) -> None:
    pytest.importorskip("anyio", reason="anyio is not installed")
    sends, items, batches, timeout, many = blocks("docs/how-to/asyncio.md", "python")
    writes = shell.write("sends.py", sends)
    ticks = [str({"n": n}) for n in range(-1, 3)]

    reader = shell.python(shell.write("items.py", items))
    output(shell.python(writes))
    assert output(reader).splitlines() == ticks

    reader = shell.python(shell.write("batches.py", batches))
    output(shell.python(writes))
    first, *lengths = output(reader).splitlines()
    assert (first, sum(map(int, lengths))) == (ticks[0], 3)

    reader = shell.start(sys.executable, "-u", shell.write("timeout.py", timeout))
    assert reader.stdout is not None
    assert reader.stdout.readline() == "and now something else; nothing was lost\n"
    output(shell.python(writes))
    assert output(reader).splitlines() == ticks

    reader = shell.python(shell.write("many.py", many))
    output(shell.python(shell.write("sensors.py", "import asyncio, rstream" + SENSORS)))
    assert sorted(output(reader).splitlines()) == [f"sensor-{n} {n}" for n in range(3)]


def test_flow_control_in_c(shell: Shell) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    save_programs("docs/how-to/own-flow-control.md", shell.folder)
    build = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", "half", "half.c"]
    build += ["-I", rstream_driver.get_include(), rstream_driver.get_library()]
    build += rstream_driver.get_link_flags()
    output(shell.start(*build))
    driver = shell.start("./half", shell.driver_dir)
    assert driver.stdout is not None
    assert driver.stdout.readline() == "ready; Enter ends it\n"
    udp = f"channel=rstream.Channel.udp('127.0.0.1:{free_port()}')"
    first = blocks("docs/index.md", "python")[0].replace('("ticks")', f'("ticks", {udp})')
    sends, reads = first.split("\nwith rstream.subscriber(")
    reader = shell.python(
        shell.write("reads.py", f"import rstream\nwith rstream.subscriber({reads}")
    )
    output(shell.python(shell.write("sends.py", sends)))
    assert output(reader) == "{'px': 1.0}\n"
    text, errors = driver.communicate("\n", timeout=90)
    assert driver.returncode == 0, text + errors
