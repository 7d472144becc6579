"""The pages about shared work and about stages."""

from __future__ import annotations

from tests.fragments.fragment import THREADS, Fragment
from tests.test_docs_snippets import blocks

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
STAGES = "docs/how-to/stages.md"
FRAGMENTS = (
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
    *(
        Fragment(page=STAGES, number=number, shown=blocks(STAGES, "text")[shown])
        for number, shown in ((0, 0), (2, 1), (3, 3), (4, 4), (5, 5))
    ),
    Fragment(
        page=STAGES,
        number=1,
        before=THREADS + "reader = start(take, 'batches')",
        after="send('ticks'); reader.join(20); print(sum(got, []))",
        shown="[{'px': 0}, {'px': 1}, {'px': 2}]\n",
    ),
)
