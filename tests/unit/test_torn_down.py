"""What a script leaves open is silent while the interpreter takes its modules down.

Names of the standard library stand in the modules of this package; they are None by then, when
``__del__`` of an object that lived in ``__main__`` runs.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

import rstream
from rstream._process import quiet_when_torn_down

LEFT_OPEN = {
    "reader": "s = rstream.subscriber(name, dir=directory)",
    "loop": "s = rstream.subscriber(name, dir=directory)\n"
    "p = rstream.publisher(name, dir=directory)\np.send(1)\nfor item in s: break",
    "publisher": "p = rstream.publisher(name, dir=directory)",
    "client": "c = rstream.Client(directory)\ns = c.add_subscription('aeron:ipc', 7)",
    "driver": "d = rstream.Driver(directory + '-own')",
    "work": "import rstream.work\nw = rstream.work.publisher(name, dir=directory)\n"
    "r = rstream.work.subscriber(name, dir=directory)",
    "service": "@rstream.serve(name, dir=directory)\ndef answer(query): return query\n"
    "import rstream.service\nq = rstream.service.requester(name, dir=directory)",
    "aio": "import asyncio, rstream.aio\n"
    "async def main():\n    global s\n    s = await rstream.aio.subscriber(name, dir=directory)\n"
    "asyncio.run(main())",
}


# What Python does with modules that something keeps: their names become None while objects of
# theirs live. Which ones it meets in which order is its own affair, so this does it to them all.
TEAR_DOWN = """
class Last:
    modules = [module for name, module in sys.modules.items() if name.startswith("rstream")]

    def __del__(self, is_finalizing=sys.is_finalizing):
        assert is_finalizing()
        for module in self.modules:
            for key in [key for key in vars(module) if not key.startswith("__")]:
                vars(module)[key] = None
        self.kept.clear()
        print("torn down")

last = Last()
last.kept = {key: value for key, value in globals().items() if not key.startswith("__")}
del last.kept["last"], last.kept["sys"]
for key in last.kept: del globals()[key]
"""


def run(script, *arguments):
    """Run a script; its exit status, and what it printed."""
    text = f"import sys, rstream\ndirectory, name = sys.argv[1:]\n{script}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("what", LEFT_OPEN)
def test_what_a_script_leaves_open_is_silent_at_its_end(module_driver_dir, name, what):
    script = f"{LEFT_OPEN[what]}\n{TEAR_DOWN}"
    assert run(script, module_driver_dir, name) == (0, "torn down\n", "")


def test_a_script_that_ends_while_a_reader_holds_a_job_shows_no_traceback(module_driver_dir, name):
    """Its publisher is closed after the client of its counters."""
    script = """
import time, rstream.work
from rstream.work import _held_jobs
_held_jobs.LOOK_EVERY_S = 0.01
publisher = rstream.work.publisher(name, dir=directory)
reader = rstream.work.subscriber(name, dir=directory)
publisher.send(1)
job = next(iter(reader))
while not publisher._giving._caretaker._held_jobs._counters: time.sleep(0.01)
"""
    status, _, told = run(script, module_driver_dir, name)
    assert status == 0
    assert "message 1 is not sent again" in told
    assert "Traceback" not in told


def test_an_error_of_a_living_interpreter_is_shown():
    def faulty(_):
        raise TypeError("a fault")

    with pytest.raises(TypeError, match="a fault"):
        quiet_when_torn_down(faulty)(None)


def test_every_del_of_the_package_is_quiet():
    root = Path(rstream.__file__).parent
    bare = []
    for path in root.rglob("*.py"):
        lines = path.read_text().splitlines()
        for above, line in itertools.pairwise(lines):
            if line.startswith("    def __del__(") and above != "    @quiet_when_torn_down":
                bare.append(str(path.relative_to(root)))
    assert bare == []
