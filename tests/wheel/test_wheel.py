"""The wheel in an empty environment: it runs without a compiler, and C code builds against it."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support import free_port
from tests.wheel.build import ROOT, build

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

OWN_FLOW = Path(__file__).with_name("own_flow.c")
SEND_ONE = """
import sys
from rstream.client import Client
with Client(dir=sys.argv[1], start_driver=False) as client:
    channel = "aeron:udp?endpoint=127.0.0.1:" + sys.argv[2]
    subscription = client.add_subscription(channel, 1)
    publication = client.add_publication(channel, 1)
    while not publication.is_connected:
        publication.wait(0.1)
    publication.offer(b"by the user's own law")
    while not (batch := subscription.poll(1)):
        subscription.wait(0.1)
    print(*(bytes(message).decode() for message in batch))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    wheel = build()
    assert "-cp311-abi3-manylinux" in wheel.name
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", str(wheel)]
    done = run(install, path=None)
    assert done.returncode == 0, done.stderr
    return python


def run(command: list[str], *, path: str | None) -> subprocess.CompletedProcess[str]:
    """In a folder and an environment where nothing of this checkout can be found."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "RSTREAM_")) and name != "VIRTUAL_ENV"
    }
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def value(python: Path, expression: str) -> str:
    done = run([str(python), "-c", f"import rstream.driver as d; print({expression})"], path="")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wheel_is_what_runs(python: Path) -> None:
    assert value(python, "d.__file__").startswith(str(python.parent.parent))
    assert os.access(value(python, "d.rstreamd_path()"), os.X_OK)


def test_the_laboratory_is_left_out_and_its_command_says_so(python: Path) -> None:
    folder = Path(value(python, "d.__file__")).parent
    assert not (folder / "lab").exists()
    assert [path.name for path in folder.glob("**/*.so")] == ["_core.abi3.so"]
    done = run([str(python.with_name("rstream")), "lab", "E1"], path="")
    assert done.returncode == 2
    assert "make setup" in done.stderr


def test_hello_world_runs_without_a_compiler(python: Path, driver_dir: str) -> None:
    hello = str(ROOT / "examples" / "hello.py")
    code = (
        f"import os, runpy, sys; os.environ['RSTREAM_DIR'] = {driver_dir!r}; "
        f"sys.argv = [{hello!r}]; runpy.run_path({hello!r}, run_name='__main__')"
    )
    done = run([str(python), "-c", code], path="")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str({"px": number}) for number in range(3)]


def test_flow_control_in_c_builds_against_the_wheel(
    python: Path, driver_dir: str, tmp_path: Path
) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler is not None
    program = tmp_path / "own_flow"
    done = run(
        [
            compiler,
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
            value(python, "d.get_include()"),
            "-o",
            str(program),
            str(OWN_FLOW),
            value(python, "d.get_library()"),
            *value(python, "' '.join(d.get_link_flags())").split(),
        ],
        path=None,
    )
    assert done.returncode == 0, done.stderr
    with subprocess.Popen(
        [str(program), driver_dir], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        assert driver.stdout.readline() == "ready\n"
        sent = run([str(python), "-c", SEND_ONE, driver_dir, str(free_port())], path="")
        driver.stdin.close()
        heard = int(driver.stdout.read())
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout == "by the user's own law\n"
    assert heard > 0
