"""The Python fragments of README and documentation run, each after what its page leaves out.

Whole programs are run by ``test_docs_snippets``, fragments that need a Ray or a Spark by the
integration tests. A fragment that no test runs is an error here.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import free_port
from tests.test_docs_snippets import ROOT, Shell, blocks, output, shell

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("shell",)  # a fixture

#: Pages whose fragments other tests run, and the names of these tests.
ELSEWHERE = {
    "docs/index.md": "test_the_first_program_sends_and_reads",
    "docs/tutorial/two-processes.md": "test_two_processes",
    "docs/tutorial/pipeline.md": "test_pipeline, test_the_newest_tick",
    "docs/tutorial/ray.md": "test_ray",
    "docs/how-to/asyncio.md": "test_asyncio",
    "docs/how-to/testing.md": "test_testing",
    "docs/how-to/spark.md": "tests/integration/spark/test_docs.py",
}
#: The same for single fragments: page, and number on the page.
ELSEWHERE_SINGLY = {
    ("docs/how-to/sharing-work.md", 0): "test_sharing_work",
    ("docs/how-to/sharing-work.md", 1): "test_sharing_work",
    ("README.md", 0): "test_the_first_program_sends_and_reads",
    ("README.md", 6): "tests/integration/spark/test_docs.py",
    ("docs/how-to/request-response.md", 0): "test_requests",
    ("docs/how-to/request-response.md", 1): "test_requests",
    ("docs/how-to/late-subscribers.md", 0): "test_the_last_value",
    ("docs/how-to/late-subscribers.md", 1): "test_the_last_value",
    ("docs/how-to/ray.md", 0): "tests/integration/ray/test_docs.py",
    ("docs/how-to/ray.md", 2): "tests/integration/ray/test_async_actors.py",
    ("docs/how-to/ray.md", 6): "tests/integration/ray/test_ray_data.py",
    ("docs/how-to/ray.md", 8): "tests/integration/ray/test_metrics.py",
    ("docs/how-to/ray.md", 9): "tests/integration/ray/test_compiled_graph.py",
    ("docs/explanation/security.md", 1): "tests/integration/ray/test_keys.py",
}

THREADS = """
import threading
import rstream

got = []

def send(name):
    with rstream.publisher(name) as pub:
        pub.send_many({"px": px} for px in range(3))

def take(name):
    with rstream.subscriber(name) as sub:
        got.extend(sub)

def start(function, name):
    thread = threading.Thread(target=function, args=(name,), daemon=True)
    thread.start()
    return thread
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fragment:
    """One fragment.

    Attributes:
        page, number: where it is; the first Python block of a page has number 0.
        before: what the page leaves out, or takes for granted.
        after: what shows that it did what the page says.
        shown: what ``after`` prints; None: anything.
        changed: texts that stand for others in a test, such as addresses of other machines.
        needs: a module without which it is skipped.
        is_async: it stands in a coroutine.
    """

    page: str
    number: int
    before: str = "import rstream"
    after: str = ""
    shown: str | None = ""
    changed: tuple[tuple[str, str], ...] = ()
    needs: str = "rstream"
    is_async: bool = False

    def program(self, port: int) -> str:
        text = blocks(self.page, "python")[self.number]
        for theirs, ours in self.changed:
            assert theirs in text, f"{self.page}: {theirs!r} is not there any more"
            text = text.replace(theirs, ours.format(port=port))
        if self.is_async:
            body = "".join(f"    {line}\n" for line in text.splitlines())
            text = f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"
        return f"{self.before}\n{text}\n{self.after}\n"


ON_LOOPBACK = (("10.0.0.7:40123", "127.0.0.1:{port}"),)
TYPES = """
import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import rstream

class Tick(msgspec.Struct):
    px: float
"""
FEATURES = """
import threading, types
import numpy as np
import rstream

class Model:
    def fit(self, x, y):
        print(len(x), x[0], y[-1])

model = Model()
opened = rstream.ray.reader

def reader(*args, **options):
    end = opened(*args, **options)
    threading.Thread(target=send, args=(end.handle,)).start()
    return end

def send(handle):
    import pyarrow
    x = np.arange(1500.0)
    with handle.publisher() as pub:
        for part in range(0, 1500, 300):
            piece = x[part : part + 300]
            pub.send(pyarrow.table({"x": piece, "y": piece}))

rstream.ray.reader = reader
"""
STAGES = "docs/how-to/stages.md"
RX = (
    THREADS
    + """
from reactivex import operators as ops
from rstream import rx as rrx

done = threading.Event()

def score(tick):
    return tick["px"] * 10

def show(item):
    print(item, flush=True)
    done.set()
"""
)
WORK = "docs/how-to/sharing-work.md"
WORK_THREADS = """
import threading
import rstream

stored = []
already_stored = stored.__contains__
store = stored.append

def dispatch():
    with rstream.work.publisher("jobs") as pub:
        pub.send_many(range(3))

threading.Thread(target=dispatch, daemon=True).start()
jobs = rstream.work.subscriber("jobs")
"""
WORK_PORT = (("10.0.0.7:40200", "127.0.0.1:{port}"),)
STOPPED = """
def stop(process_id, *, when):
    while not when():
        time.sleep(0.01)
    os.kill(process_id, signal.SIGTERM)

seen = []
publisher = os.fork()
if publisher == 0:
    publish()
threading.Thread(target=stop, args=(os.getpid(),), kwargs={"when": lambda: seen}).start()
read()
print(seen[0]["px"])
stop(publisher, when=lambda: True)
status = os.waitpid(publisher, 0)[1]
print(f"read 0, publish {os.waitstatus_to_exitcode(status)}")
"""
FRAGMENTS = (
    Fragment(
        page="docs/how-to/errors.md",
        number=0,
        before="import contextlib, threading, rstream",
        changed=(
            (
                "try:\n    read()",
                "def start():\n"
                "    with contextlib.suppress(ValueError):\n"
                "        write()\n"
                "writer = threading.Thread(target=start)\n"
                "writer.start()\n"
                "try:\n    read()",
            ),
        ),
        after="writer.join(20)",
        shown="{'px': 1.0}\nValueError - no such market\ncaused by \"'XETRA'\"\n",
    ),
    Fragment(
        page="docs/how-to/errors.md",
        number=1,
        after="print(rstream.errors.register(UnknownSymbol, name='shop.UnknownSymbol').__name__)",
        shown="UnknownSymbol\n",
    ),
    Fragment(
        page="docs/how-to/several-streams.md",
        number=0,
        before=f"{THREADS}\nwriters = [start(send, name) for name in ('ticks', 'news')]",
        changed=(("print(sub.name, item)", "got.append((sub.name, item['px']))"),),
        after="print(sorted(got))",
        shown=(
            "[('news', 0), ('news', 1), ('news', 2), ('ticks', 0), ('ticks', 1), ('ticks', 2)]\n"
        ),
    ),
    Fragment(
        page="docs/how-to/deployment.md",
        number=0,
        before="import os, subprocess, threading, time",
        after=STOPPED,
        shown="1.0\nread 0, publish 0\n",
        changed=(('print(tick["px"])', "seen.append(tick)"),),
    ),
    Fragment(page="README.md", number=1, changed=ON_LOOPBACK),
    Fragment(
        page="README.md",
        number=2,
        before=THREADS + "reader = start(take, 'ticks')",
        after="reader.join(20); print(got)",
        shown="[{'px': 1.0}]\n",
        needs="anyio",
        is_async=True,
    ),
    Fragment(
        page="README.md",
        number=3,
        before=THREADS + "start(send, 'ticks')",
        shown="{'px': 0}\n{'px': 1}\n{'px': 2}\n",
        needs="anyio",
        is_async=True,
    ),
    Fragment(
        page="README.md",
        number=4,
        before=THREADS + "start(send, 'ticks'); reader = start(take, 'copy')",
        after="reader.join(20); print(got)",
        shown="[{'px': 0}, {'px': 1}, {'px': 2}]\n",
        needs="reactivex",
    ),
    Fragment(
        page="README.md",
        number=5,
        after="end.finish()",
        shown="{'px': 1.0}\n",
    ),
    Fragment(
        page="README.md",
        number=7,
        before="import rstream\nPRICES = {'ABC': 1.5}",
        changed=(
            ("price.run()", "price.start()"),
            ("rstream.request(", "print(rstream.request("),
            ("timeout_s=1)", "timeout_s=10))\nprice.close()"),
        ),
        shown="1.5\n",
    ),
    Fragment(
        page="docs/how-to/request-response.md",
        number=2,
        before="import time, rstream",
        after="with search: print(rstream.request('search', 'x'))",
        shown="x\n",
    ),
    Fragment(
        page="docs/how-to/request-response.md",
        number=3,
        shown="[5, 6, 7]\n0 1\n",
    ),
    Fragment(
        page="docs/how-to/request-response.md",
        number=4,
        before="import anyio, rstream",
        shown="8\n",
        needs="anyio",
    ),
    Fragment(
        page="docs/how-to/late-subscribers.md",
        number=2,
        before=THREADS,
        after="",
        changed=(
            (
                "    ...",
                "    send('ticks')\n"
                "    stream = rstream.request_stream('ticks/recent', None)\n"
                "    print([next(stream)['px'] for _ in range(3)])",
            ),
        ),
        shown="[0, 1, 2]\n",
    ),
    Fragment(page="docs/how-to/codecs.md", number=0, before=TYPES, needs="pandas"),
    Fragment(page="docs/how-to/codecs.md", number=1, needs="numpy"),
    Fragment(
        page="docs/how-to/codecs.md",
        number=2,
        before=f"{TYPES}\nsub = rstream.subscriber('frames', np.ndarray)",
        after="print(sub.get(timeout_s=20).shape)",
        shown="(48, 64, 3)\n",
        changed=(("480, 640, 3", "48, 64, 3"),),
        needs="pandas",
    ),
    Fragment(
        page="docs/how-to/codecs.md",
        number=3,
        before=f"{TYPES}\nsub = rstream.subscriber('steps')",
        after="step = sub.get(timeout_s=20); print(step['obs'].shape, repr(step['reward']))",
        shown="(64, 84, 84) np.float32(1.0)\n",
        needs="pandas",
    ),
    Fragment(
        page="docs/how-to/codecs.md",
        number=4,
        before=f"{TYPES}\nframe = pd.DataFrame({{'px': [1.0]}}, index=['a'])\n"
        "early = rstream.subscriber('rows', pa.Table)",
        after="print(early.get(timeout_s=20).to_pydict())",
        shown="{'px': [1.0], '__index_level_0__': ['a']}\n",
        needs="pandas",
    ),
    Fragment(
        page="docs/how-to/codecs.md",
        number=5,
        before="import msgspec, rstream",
        after="""
pub = rstream.publisher("orders")
pub.send({"price": Decimal("1.10"), "at": datetime(2026, 1, 2), "tags": {"new"}})
print(sub.get(timeout_s=20))
""",
        shown="Order(price=Decimal('1.10'), at=datetime.datetime(2026, 1, 2, 0, 0), "
        "tags={'new'})\n",
    ),
    Fragment(
        page="docs/how-to/codecs.md",
        number=6,
        before="import ipaddress, rstream",
        after="""
address = ipaddress.ip_address("10.0.0.7")
print(reader.decode_many([writer.encode([address])]) == [[address]])
""",
        shown="True\n",
    ),
    Fragment(page="docs/how-to/codecs.md", number=7),
    Fragment(
        page="docs/how-to/kubernetes.md",
        number=0,
        changed=(("0.0.0.0:40123", "0.0.0.0:{port}"), ("scorer:40123", "127.0.0.1:{port}")),
    ),
    Fragment(
        page="docs/how-to/other-machines.md",
        number=0,
        before=THREADS,
        changed=(
            *ON_LOOPBACK,
            ("with rstream.subscriber", "def read():\n  with rstream.subscriber"),
            ("    for tick", "      for tick"),
            ("        print(tick)", "          print(tick)"),
            (
                "with rstream.publisher",
                "reader = threading.Thread(target=read)\nreader.start()\nwith rstream.publisher",
            ),
        ),
        after="reader.join(20)",
        shown="{'n': 1}\n",
    ),
    Fragment(
        page="docs/how-to/observability.md",
        number=0,
        after="print('rstream_driver_up' in prometheus_client.generate_latest().decode())",
        shown="True\n",
        needs="prometheus_client",
    ),
    Fragment(page="docs/how-to/other-machines.md", number=1, shown=None),
    Fragment(
        page="docs/explanation/security.md",
        number=0,
        changed=(("127.0.0.1:40123", "127.0.0.1:{port}"),),
        shown="{'px': 1.0}\n",
    ),
    Fragment(
        page="docs/how-to/rates.md",
        number=0,
        changed=(("224.0.1.1:40456", "224.0.1.1:{port}|interface=127.0.0.1"),),
    ),
    Fragment(
        page="docs/how-to/rates.md",
        number=1,
        before="import rstream\nfrom rstream import rate\npublisher = rstream.publisher('md')",
        after="print(publisher.channel.partition('rs-rate=')[2]); publisher.close()",
        shown="fixed,r:50000000\n",
    ),
    Fragment(page="docs/how-to/large-messages.md", number=0),
    Fragment(page="docs/how-to/large-messages.md", number=1),
    Fragment(page="docs/how-to/large-messages.md", number=2),
    Fragment(
        page="docs/how-to/ray.md",
        number=1,
        before="import rstream, types\n"
        "self = types.SimpleNamespace(end=rstream.ray.reader('ticks'), scores=[])",
        after="with self.end.handle.publisher() as pub:\n"
        "    pub.send_many({'px': px} for px in range(3))\n"
        "self.end.finish(); print(self.scores)",
        shown="[{'px': 1}, {'px': 2}]\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=3,
        before="import numpy as np, rstream\n"
        "ends = [rstream.ray.reader(type=np.ndarray) for _ in range(2)]\n"
        "sums = []\n"
        "for end in ends: end.start(lambda array: sums.append(int(array.sum())))\n"
        "handles, weights = [end.handle for end in ends], np.ones(100_000)",
        after="for end in ends: end.finish()\nprint(sums)",
        shown="[100000, 100000]\n",
        needs="numpy",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=4,
        before="import rstream\nstore = lambda *facts: print(*facts)\njobs = ['a', 'b']",
        after="end.finish()",
        shown="a False\nb False\n",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=5,
        before="import numpy as np, rstream\non_frame = lambda frame: print(frame.shape)",
        after="end.finish()",
        shown="(100000,)\n",
        needs="numpy",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=7,
        before=FEATURES,
        shown="1024 0.0 1023.0\n476 1024.0 1499.0\n",
        needs="pyarrow",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=0,
        before=THREADS + "start(send, 'ticks'); reader = start(take, 'scores')",
        after="reader.join(20); print(count, got)",
        shown="2 [{'px': 1}, {'px': 2}]\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=1,
        before=THREADS + "from rstream import rx as rrx\nwriter = threading.Thread(target=send, "
        "args=('ticks',))",
        changed=(("...\n", "writer.start(); writer.join(20)\n"),),
        shown=None,
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=2,
        before=RX + "start(send, 'ticks')",
        changed=(
            (
                ".subscribe(print)",
                ".subscribe(print, on_completed=lambda: print('done', flush=True))",
            ),
        ),
        shown="0\n10\n20\ndone\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=3,
        before=RX,
        changed=(("print(item)", "show(item)"),),
        after="start(send, 'ticks'); done.wait(20)",
        shown="0\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=4,
        before=RX + "start(send, 'ticks')",
        shown="0\n10\n20\n",
        needs="reactivex",
        is_async=True,
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=5,
        before=RX + "from reactivex.scheduler import EventLoopScheduler\n"
        "async def readings():\n"
        "    for px in range(3):\n"
        "        yield {'px': px}\n"
        "worker = EventLoopScheduler(); reader = start(take, 'scores')",
        changed=((".subscribe(print)", ".subscribe(show)"),),
        after="reader.join(20); done.wait(20); print(got)",
        shown="3\n[0, 10, 20]\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=6,
        before=RX + "import asyncio\n"
        "async def fetch(url):\n"
        "    return url['px']\n"
        "loop = asyncio.new_event_loop()\n"
        "threading.Thread(target=loop.run_forever, daemon=True).start()\n"
        "start(send, 'urls')",
        changed=((".subscribe(print)", ".pipe(ops.to_list(), ops.map(sorted)).subscribe(show)"),),
        after="done.wait(20)",
        shown="[0, 1, 2]\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=7,
        before=RX,
        after="publisher.close(linger_s=0)",
        shown="[[{'px': 0}, {'px': 1}, {'px': 2}]]\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/rxpy.md",
        number=8,
        before=RX + "import reactivex\nimport rstream.work\n"
        "failing = [1]\n"
        "def work():\n"
        "    with rstream.work.publisher('orders') as orders:\n"
        "        for number in range(3):\n"
        "            orders.send(number)\n"
        "def store(item):\n"
        "    if item in failing:\n"
        "        failing.remove(item)\n"
        "        raise OSError(item)\n"
        "    got.append(item)\n"
        "threading.Thread(target=work, daemon=True).start()",
        after="print(sorted(got), failing)",
        shown="[0, 1, 2] []\n",
        needs="reactivex",
    ),
    Fragment(page="docs/how-to/slow-consumers.md", number=0),
    Fragment(
        page="docs/how-to/slow-consumers.md",
        number=1,
        before="import rstream\nfrom rstream import policy",
    ),
    Fragment(
        page="docs/how-to/slow-consumers.md",
        number=2,
        changed=(("endpoint=224.0.1.1:40456", "endpoint=224.0.1.1:40456|interface=127.0.0.1"),),
    ),
    *(
        Fragment(page=STAGES, number=number, shown=blocks(STAGES, "text")[shown])
        for number, shown in ((0, 0), (2, 1), (3, 3), (4, 4), (5, 5))
    ),
    Fragment(
        page=WORK,
        number=2,
        before="import threading\n"
        "import rstream\n"
        "def send():\n"
        "    with rstream.work.publisher('jobs') as jobs:\n"
        "        for number in range(3): jobs.send(number)\n"
        "threading.Thread(target=send).start()",
        shown="0\n1\n2\n",
    ),
    Fragment(
        page=WORK,
        number=3,
        before=WORK_THREADS,
        after="jobs.close(); print(stored)",
        shown="[0, 1, 2]\n",
    ),
    Fragment(
        page=WORK,
        number=4,
        before="import rstream\n"
        "reader = rstream.work.subscriber('jobs')\n"
        "jobs = rstream.work.publisher('jobs', reader_losses_max=1)\n"
        "jobs.send('poison')\n"
        "reader.get(timeout_s=20)\n"
        "reader.close()\n"
        "jobs.wait_acknowledged(timeout_s=20)",
        after="jobs.close()",
        shown="1 poison 1 given up: 1 reader died or left with it\n",
    ),
    Fragment(page=WORK, number=5),
    Fragment(
        page=WORK,
        number=6,
        shown="converted 0\nconverted 1\nconverted 2\n",
        needs="anyio",
        before="",
    ),
    Fragment(page=WORK, number=7, changed=WORK_PORT),
    Fragment(page=WORK, number=8, changed=WORK_PORT),
    Fragment(
        page=STAGES,
        number=1,
        before=THREADS + "reader = start(take, 'batches')",
        after="send('ticks'); reader.join(20); print(sum(got, []))",
        shown="[{'px': 0}, {'px': 1}, {'px': 2}]\n",
    ),
    Fragment(
        page="docs/reference/channels.md",
        number=0,
        changed=(
            *ON_LOOPBACK,
            ("DriverConfig(", "DriverConfig(term_length=1 << 16, "),
            ("rstream.Driver(", "driver = rstream.Driver("),
        ),
        after="driver.close()",
    ),
)


def pages() -> Iterator[str]:
    """README, and every page of the documentation that is ours."""
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        if "aeron" not in path.parts:
            yield str(path.relative_to(ROOT))


def test_every_fragment_is_run_by_a_test() -> None:
    here = {(fragment.page, fragment.number) for fragment in FRAGMENTS}
    assert len(here) == len(FRAGMENTS)
    there = {
        (page, number)
        for page in pages()
        for number in range(len(blocks(page, "python")))
        if page not in ELSEWHERE
    }
    assert here | ELSEWHERE_SINGLY.keys() == there


@pytest.mark.parametrize(
    "fragment", FRAGMENTS, ids=lambda fragment: f"{fragment.page}-{fragment.number}"
)
def test_fragment(shell: Shell, fragment: Fragment) -> None:
    pytest.importorskip(fragment.needs)
    name = shell.write("fragment.py", fragment.program(free_port()))
    printed = output(shell.start(sys.executable, name))
    if fragment.shown is not None:
        assert printed == fragment.shown
