"""A forked child leaves alone what it inherited: closing is silent, at once, and not its parent's.

Each case is a program of its own. The child closes, or leaves a ``with`` block by ``sys.exit(0)``.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

#: From Python 3.12 on a fork beside threads is warned of, whoever does it.
WARNINGS = ("-W", "default::ResourceWarning", "-W", "ignore:This process:DeprecationWarning")
START = """
import os, sys, threading, time
import rstream
from rstream import rx, service, stream, work

driver_dir = sys.argv[1]

def child(leave):
    "Status of a forked child that calls the function; it must not take long."
    pid = os.fork()
    if pid == 0:
        began_s = time.monotonic()
        leave()
        print(f"{time.monotonic() - began_s:.0f} s", flush=True)
        os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def serve(query):
    return query + 1
"""
#: How each face is opened, and what its parent does with it after the child has closed it.
FACES = {
    "driver": ("rstream.Driver(driver_dir + '-own')", "rstream.Client(face.dir).close()"),
    "client": ("rstream.Client(driver_dir)", "assert face.state == 0"),
    "publisher": (
        "stream.publisher('a', dir=driver_dir)",
        "reader = stream.subscriber('a', dir=driver_dir); face.send(1); assert reader.get() == 1; "
        "reader.close()",
    ),
    "subscriber": (
        "stream.subscriber('a', dir=driver_dir)",
        "pub = stream.publisher('a', dir=driver_dir); pub.send(1); assert face.get() == 1; "
        "pub.close()",
    ),
    "queue": (
        "stream.subscriber('a', dir=driver_dir, on_slow=rstream.policy.Buffer(10))",
        "pub = stream.publisher('a', dir=driver_dir); pub.send(1); assert face.get() == 1; "
        "pub.close()",
    ),
    "work_publisher": (
        "work.publisher('a', dir=driver_dir)",
        "jobs = work.subscriber('a', dir=driver_dir); face.send(1); job = jobs.get(); "
        "assert job.item == 1; job.ack(); jobs.close()",
    ),
    "work_subscriber": (
        "work.subscriber('a', dir=driver_dir)",
        "pub = work.publisher('a', dir=driver_dir); pub.send(1); face.get().ack(); pub.close()",
    ),
    "service": (
        "rstream.serve('a', dir=driver_dir)(serve)",
        "assert rstream.request('a', 1, dir=driver_dir) == 2",
    ),
    "requester": (
        "service.requester('a', dir=driver_dir)",
        "rstream.serve('a', dir=driver_dir)(serve).start(); assert face.request(1) == 2",
    ),
}


def run(program, driver_dir):
    done = subprocess.run(
        [sys.executable, *WARNINGS, "-c", START + program, driver_dir],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


@pytest.mark.parametrize("face", FACES)
def test_a_forked_child_closes_nothing_of_its_parent(module_driver_dir, face):
    opened, used = FACES[face]
    program = f"""
with {opened} as face:
    assert child(face.close) == 3
    assert child(lambda: (face.close(), sys.exit(0))) == 0
    {used}
"""
    assert run(program, module_driver_dir) == "0 s\n"


@pytest.mark.parametrize("face", FACES)
def test_a_forked_child_may_exit_in_a_block_of_its_parent(module_driver_dir, face):
    opened, used = FACES[face]
    program = f"""
with {opened} as face:
    pid = os.fork()
    if pid == 0:
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    {used}
"""
    assert run(program, module_driver_dir) == ""


def test_a_forked_child_does_not_tell_of_unfinished_work(module_driver_dir):
    program = """
pub = work.publisher("b", dir=driver_dir, linger_s=0)
jobs = work.subscriber("b", dir=driver_dir)
assert pub.send(1) == 1
job = jobs.get(timeout_s=10)
assert child(pub.close) == 3
assert child(jobs.close) == 3
job.ack()
assert pub.wait_acknowledged(timeout_s=10)
pub.close()
jobs.close()
"""
    assert run(program, module_driver_dir) == "0 s\n0 s\n"


def test_a_forked_child_forgets_a_reader_in_the_background(module_driver_dir):
    program = """
got = threading.Event()
reading = rx.from_stream("c", dir=driver_dir).subscribe(lambda item: got.set())
source = stream.source("c", dir=driver_dir)
assert child(reading.dispose) == 3
with stream.publisher("c", dir=driver_dir) as pub:
    pub.send(1)
    assert got.wait(10)
reading.dispose()
"""
    assert run(program, module_driver_dir) == "0 s\n"


def test_a_forked_child_closes_nothing_of_an_event_loop(module_driver_dir):
    # An event loop does not survive a fork, so the child awaits nothing: it runs the coroutines.
    program = """
import asyncio
from rstream import aio

def leave(*faces):
    for face in faces:
        for coroutine in (face.__aexit__(SystemExit, SystemExit(0), None), face.close()):
            try:
                coroutine.send(None)
            except StopIteration:
                continue
            os._exit(1)

async def main():
    async with (
        aio.subscriber("d", dir=driver_dir) as sub,
        aio.publisher("d", dir=driver_dir) as pub,
        aio.work_publisher("d2", dir=driver_dir) as work_pub,
        aio.work_subscriber("d2", dir=driver_dir) as jobs,
        aio.requester("d3", dir=driver_dir) as requester,
    ):
        assert child(lambda: leave(sub, pub, work_pub, jobs, requester)) == 3
        await pub.send(1)
        assert await sub.get(timeout_s=10) == 1
        await work_pub.send(2)
        assert (await jobs.get(timeout_s=10)).item == 2

asyncio.run(main())
"""
    assert run(program, module_driver_dir) == "0 s\n"
