"""README, and the pages about streams and their drivers."""

from __future__ import annotations

from tests.fragments.fragment import ON_LOOPBACK, THREADS, Fragment

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
    Fragment(page="docs/how-to/other-machines.md", number=1, shown=None),
    Fragment(
        page="docs/how-to/observability.md",
        number=0,
        after="print('rstream_driver_up' in prometheus_client.generate_latest().decode())",
        shown="True\n",
        needs="prometheus_client",
    ),
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
