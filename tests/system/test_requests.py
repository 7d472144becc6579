"""A server in another process that is killed: its callers learn it at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

import rstream
from rstream import service
from rstream.errors import NoServer, RemoteError, RStreamError, ServerLost
from tests.support import in_thread, until


@pytest.fixture
def start(driver_dir, name):
    started = []

    def run():
        command = [sys.executable, "-m", "tests.system.request_worker", driver_dir, name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "serves\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_a_killed_server_is_known_at_once(start, driver, driver_dir, name, caplog):
    first = start()
    with service.requester(name, dir=driver_dir) as asks:
        assert asks.request("who") == first.pid
        errors = []

        def wait_for_it():
            try:
                asks.request("hang", timeout_s=60)
            except RStreamError as error:
                errors.append((error, time.monotonic()))

        waits = in_thread(wait_for_it)
        assert first.stdout.readline() == "hangs\n"
        began_s = time.monotonic()
        first.kill()
        waits.join(20)
        (error, ended_s) = errors[0]
        assert isinstance(error, ServerLost)
        assert ended_s - began_s < 5  # not the 60 s of the request, nor the driver's 10 s
        with pytest.raises(NoServer):
            asks.request("who", timeout_s=0.2)
        second = start()  # its place is free at once
        assert asks.request("who") == second.pid
    assert not caplog.messages  # the error has told it


def test_a_server_killed_before_its_first_answer_is_known_too(start, driver, driver_dir, name):
    server = start()
    with service.requester(name, dir=driver_dir) as asks:
        errors = []

        def wait_for_it():
            try:
                asks.request("hang", timeout_s=60)
            except RStreamError as error:
                errors.append(error)

        waits = in_thread(wait_for_it)
        assert server.stdout.readline() == "hangs\n"
        server.kill()
        waits.join(20)
        assert isinstance(errors[0], ServerLost)


def test_a_killed_caller_frees_its_place(driver, driver_dir, name, caplog):
    code = (
        "import sys, rstream\n"
        "stream = rstream.request_stream(sys.argv[1], dir=sys.argv[2])\n"
        "next(stream)\n"
        "print('reads', flush=True)\n"
        "sys.stdin.read()\n"
    )
    closed = []
    caplog.set_level("INFO")

    def numbers(_):
        try:
            yield from range(10**9)
        finally:
            closed.append(True)

    with rstream.serve(name, dir=driver_dir)(numbers) as served:
        command = [sys.executable, "-c", code, name, driver_dir]
        caller = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert caller.stdout.readline() == "reads\n"
        finally:
            caller.kill()
            caller.communicate()
        until(lambda: closed)
        until(lambda: served.statistics()["callers"] == 0)
    assert caplog.messages == [f"service {name!r} on aeron:ipc: a caller has gone; 1 requests end"]


@pytest.mark.parametrize("options", ["", "threads=2"])
def test_a_program_that_closes_nothing_ends_without_a_word(driver, driver_dir, name, options):
    code = (
        "import sys, rstream\n"
        f"rstream.serve(sys.argv[1], {options})(lambda n: n).start()\n"
        "print(rstream.request(sys.argv[1], 1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name],
        env={**os.environ, "RSTREAM_DIR": driver_dir},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


INTERRUPTED = """
import sys
import rstream

@rstream.serve(sys.argv[2], dir=sys.argv[1])
{how}def answer(query):
    if query == "interrupt":
        raise KeyboardInterrupt
    return query

answer.run()
print("ended")
"""


@pytest.mark.parametrize("how", ["", "async "])
def test_an_interrupt_in_the_main_thread_ends_the_server_behind_its_answer(
    driver, driver_dir, name, how
):
    command = [sys.executable, "-c", INTERRUPTED.format(how=how), driver_dir, name]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with service.requester(name, dir=driver_dir) as asks:
            assert asks.request("here", timeout_s=60) == "here"
            with pytest.raises(RemoteError, match="KeyboardInterrupt"):
                asks.request("interrupt", timeout_s=60)
        out, err = server.communicate(timeout=60)
        assert (out, err, server.returncode) == ("ended\n", "", 0)
    finally:
        server.kill()
        server.communicate()
