"""``rstreamd`` in the place of Aeron's driver: started by Aeron's names, used by Aeron's client.

What must hold: nothing on standard error, nothing in its directory that a copying tool waits on,
and the behaviours on which Aeron's own programs and tests rely.
"""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from rstream.driver import rstreamd_path
from tests.interop.aeron import JAVA_CURRENT, JAVA_OLDER
from tests.interop.java import Java, MissingError
from tests.support import free_port, until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def fifos(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if stat.S_ISFIFO(path.lstat().st_mode)]


@pytest.mark.parametrize("version", [JAVA_CURRENT, JAVA_OLDER])
def test_aerons_client_finds_what_it_relies_on(version: str, driver_dir: str) -> None:
    """O2."""
    try:
        java = Java.prepare(version)
    except MissingError as error:
        pytest.skip(f"no Java peer: {error}")
    directory = Path(driver_dir)
    names = ["dir=" + driver_dir, "dir.delete.on.shutdown=true", "no.such.option=1"]
    driver = subprocess.Popen(
        [rstreamd_path(), *(f"-Daeron.{name}" for name in names)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: (directory / "cnc.dat").exists(), 15)
        endpoint = f"127.0.0.1:{free_port()}"
        result = subprocess.run(
            java.command("DropIn", driver_dir, endpoint),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.splitlines() == ["ok late reader", "ok refusals", "ok small window"]
        assert fifos(directory) == []
        beside = Path(f"{driver_dir}.wake")
        assert fifos(beside)
    finally:
        driver.terminate()
        _, errors = driver.communicate(timeout=30)
    assert errors == ""
    assert driver.returncode == 0
    assert not directory.exists()
    assert not beside.exists()
