"""What the next reader gets, for each way in which a reader without a block may end.

A script reads six of 200 numbers and ends. What it was given counts as consumed; the rest is for
the next reader in shared memory, and over UDP is on its way to nobody.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from rstream import stream

COUNT = 200
GIVEN = 6

LOOPS = {
    "for": "for m in s:\n    if m == 5: END",
    "poll": "n = 0\nwhile n < 6: n += len(s.poll(6 - n))\nEND",
    "get": "for _ in range(6): s.get(timeout_s=9)\nEND",
    "batches": "for b in s.batches(): END",
    "aio": """
import asyncio
async def main():
    s = await rstream.aio.subscriber(name, dir=directory)
    async for m in s:
        if m == 5: END
asyncio.run(main())""",
}
ENDS = {
    "error": 'raise RuntimeError("handling failed")',
    "exit": "sys.exit(0)",
    "break": "break",
    "collected": "break",
}


def script(face, end):
    text = LOOPS[face].replace("END", ENDS[end])
    if face in ("poll", "get"):
        text = text.replace("break", "pass")
    if end == "collected" and face != "aio":
        text += "\ndel s\nimport gc; gc.collect()"
    opening = "" if face == "aio" else "s = rstream.subscriber(name, dir=directory, prefetch=64)\n"
    return (
        "import sys, rstream, rstream.aio\ndirectory, name = sys.argv[1:]\n"
        f"{opening}print('open', flush=True)\n{text}\n"
    )


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("face", LOOPS)
def test_the_next_reader_gets_what_the_last_one_was_not_given(name, driver_dir, face, end):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        one = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script(face, end), driver_dir, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        pub.send_many(range(COUNT), timeout_s=20)
        one.communicate(timeout=30)
        with stream.subscriber(name, dir=driver_dir) as sub:
            assert not pub.wait_consumed(timeout_s=0)
            first = sub.get(timeout_s=5)
            rest = [sub.get(timeout_s=5) for _ in range(COUNT - first - 1)]
        assert rest == list(range(first + 1, COUNT))
        if face == "batches":
            assert 0 < first < COUNT  # the whole batch was given
        else:
            assert first == GIVEN
