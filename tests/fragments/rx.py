"""The page about RxPY."""

from __future__ import annotations

from tests.fragments.fragment import THREADS, Fragment

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
FRAGMENTS = (
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
)
