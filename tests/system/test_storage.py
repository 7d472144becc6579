"""A driver directory in a file system that is full: who is told, and that it mends by itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time

import pytest

import rstream
from rstream import aio, metrics
from rstream.cli import _stat
from rstream.driver import Driver
from rstream.errors import BackPressured, StorageError

PAYLOAD = b"x" * 1000
TERM = 1 << 20
SIZE = 32 << 20


@pytest.fixture
def mount(tmp_path):
    """A tmpfs of 32 MiB."""
    path = tmp_path / "shm"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no right to mount a tmpfs")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture
def directory(mount):
    with Driver(dir=str(mount / "driver")) as driver:
        yield driver.dir


class Ballast:
    """A file that leaves so many bytes of the file system."""

    def __init__(self, path):
        self._path = path

    def leave(self, count):
        status = os.statvfs(self._path)
        free = status.f_bavail * status.f_frsize
        with open(self._path / "ballast", "ab") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size + free - count)

    def drop(self):
        os.unlink(self._path / "ballast")


@pytest.fixture
def ballast(mount):
    return Ballast(mount)


def read_all(subscriber):
    def run():
        for _ in subscriber:
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def send_until_refused(publisher, **options):
    for sent in range(10 * TERM // len(PAYLOAD)):
        try:
            publisher.send(PAYLOAD, **options)
        except StorageError as error:
            return sent, error
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("timeout_s", [None, 0.2])
def test_a_send_without_storage_says_how_much_is_missing(directory, ballast, name, timeout_s):
    codec = rstream.codecs.raw()
    with (
        rstream.subscriber(name, codec=codec, dir=directory) as subscriber,
        rstream.publisher(name, codec=codec, dir=directory) as publisher,
    ):
        reader = read_all(subscriber)
        publisher.send(PAYLOAD)
        ballast.leave(65536)
        began_s = time.monotonic()
        sent, error = send_until_refused(publisher, timeout_s=timeout_s)
        assert time.monotonic() - began_s < 30  # and not for ever
        assert 0 < sent < 3 * TERM // len(PAYLOAD)
        assert (error.needed, error.missing) == (TERM, TERM - 65536)
        assert not isinstance(error, BackPressured)
        assert error.held_by == publisher.held_by == "storage"
        text = str(error)
        assert f"{TERM - 65536} bytes are missing" in text
        assert directory in text
        assert "--shm-size" in text
        assert "slower" not in text

        (state,) = metrics.publications(directory)
        assert state.held_by == "storage"
        assert (state.storage_needed, state.storage_usable) == (TERM, 65536)
        lines = "\n".join(_stat.publication_lines([state]))
        assert "no room in the driver directory" in lines
        assert "1,048,576 bytes, 65,536 are usable" in lines

        ballast.drop()
        for _ in range(4 * TERM // len(PAYLOAD)):
            publisher.send(PAYLOAD, timeout_s=30)
        assert publisher.held_by != "storage"
    reader.join(30)
    assert not reader.is_alive()


def test_an_awaited_send_is_told_too(directory, ballast, name):
    codec = rstream.codecs.raw()

    async def run():
        async with aio.publisher(name, codec=codec, dir=directory) as publisher:
            await publisher.send(PAYLOAD)
            ballast.leave(4096)
            with pytest.raises(StorageError, match=f"{TERM - 4096} bytes are missing"):
                for _ in range(3 * TERM // len(PAYLOAD)):
                    await publisher.send(PAYLOAD, timeout_s=0.2)
            ballast.drop()

    with rstream.subscriber(name, codec=codec, dir=directory) as subscriber:
        reader = read_all(subscriber)
        asyncio.run(run())
    reader.join(30)
    assert not reader.is_alive()


def test_a_stream_that_does_not_fit_is_refused_as_storage(directory, ballast, name):
    ballast.leave(TERM)
    with pytest.raises(StorageError, match="bytes are missing; enlarge") as caught:
        rstream.publisher(name, dir=directory)
    assert caught.value.code == "RST_ESTORAGE"
    assert caught.value.detail == 12  # Aeron's number
    ballast.drop()
    rstream.publisher(name, dir=directory).close()
