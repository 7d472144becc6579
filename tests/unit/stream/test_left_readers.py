"""What the next reader gets, for each way in which a reader without a block may end.

A script reads six of 200 numbers and ends. What it was given counts as consumed; the rest is for
the next reader in shared memory. Over UDP it is on its way to nobody: the publisher is told, and
the next reader gets what is sent after it has joined.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from rstream import stream
from rstream.errors import MessagesLost
from tests.support import free_port, until

COUNT = 200
GIVEN = 6
#: All of them are there at once, however few the reader takes.
WHOLE = "aeron:ipc?pub-wnd=512k"

LOOPS = {
    "for": "for m in s:\n    if m == 5: END",
    "poll": "n = 0\nwhile n < 6: n += len(s.poll(6 - n))\nEND",
    "get": "for _ in range(6): s.get(timeout_s=9)\nEND",
    "batches": "for b in s.batches(): END",
    "aio": """
import asyncio, rstream.aio
async def main():
    s = await rstream.aio.subscriber(name, dir=directory, channel=channel)
    async for m in s:
        if m == 5: END
asyncio.run(main())""",
    "rx": """
from reactivex import operators as ops
import rstream.rx
def handle(m):
    if m == 5: END
source = rstream.rx.from_stream(name, dir=directory, channel=channel)
source.pipe(ops.do_action(handle), LEAVE).run()
""",
}
ENDS = {
    "error": 'raise RuntimeError("handling failed")',
    "exit": "sys.exit(0)",
    "break": "break",
    "collected": "break",
}


KILLED = "import os; os.kill(os.getpid(), 9)"
TERMINATED = "import os, time; os.kill(os.getpid(), 15); time.sleep(9)"
EXITED = "import os; os._exit(1)"
# The pause: CPython loses a signal that comes when the main thread is just about to wait (in RxPY's
# run(), on a busy machine), until the next one comes.
INTERRUPTED = "import os, time; time.sleep(1); os.kill(os.getpid(), 2); time.sleep(9)"


def script(face, end, channel=None):
    leave = "ops.take(6)" if end in ("break", "collected") else "ops.map(str)"
    text = LOOPS[face].replace("END", ENDS.get(end, end)).replace("LEAVE", leave)
    if face in ("poll", "get", "rx"):
        text = text.replace("break", "pass")
    if end == "collected" and face not in ("aio", "rx"):
        text += "\ndel s\nimport gc; gc.collect()"
    opening = (
        ""
        if face in ("aio", "rx")
        else "s = rstream.subscriber(name, dir=directory, prefetch=64, channel=channel)\n"
    )
    return (
        f"import sys, rstream\ndirectory, name = sys.argv[1:]\nchannel = {channel!r}\n"
        f"{opening}print('open', flush=True)\n{text}\n"
    )


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("face", LOOPS)
def test_the_next_reader_gets_what_the_last_one_was_not_given(name, driver_dir, face, end):
    with stream.publisher(name, channel=WHOLE, dir=driver_dir, linger_s=0) as pub:
        one = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script(face, end), driver_dir, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: pub.is_connected)
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


@pytest.mark.parametrize(
    ("face", "end", "lowest", "highest"),
    [
        ("for", KILLED, 0, GIVEN - 1),
        ("get", KILLED, GIVEN, GIVEN),
        ("poll", KILLED, GIVEN, GIVEN),
        ("batches", KILLED, 0, 0),
        ("for", TERMINATED, 0, GIVEN - 1),
        ("for", EXITED, 0, GIVEN - 1),
        ("aio", KILLED, 0, GIVEN - 1),
        ("rx", KILLED, 0, GIVEN - 1),
        ("for", INTERRUPTED, GIVEN, GIVEN),
        ("rx", INTERRUPTED, GIVEN, GIVEN),
        ("poll", INTERRUPTED, GIVEN, GIVEN),
        ("batches", INTERRUPTED, 1, COUNT),
        ("aio", INTERRUPTED, GIVEN, COUNT),
        ("get", INTERRUPTED, GIVEN, GIVEN),
    ],
    ids=lambda value: {
        KILLED: "killed",
        INTERRUPTED: "interrupted",
        TERMINATED: "terminated",
        EXITED: "exited",
    }.get(value, str(value)),
)
def test_a_signal_that_ends_the_reader(name, driver_dir, face, end, lowest, highest):
    with stream.publisher(name, channel=WHOLE, dir=driver_dir, linger_s=0) as pub:
        one = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script(face, end), driver_dir, name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: pub.is_connected)
        pub.send_many(range(COUNT), timeout_s=20)
        assert one.wait(timeout=30) < 0 or end == EXITED  # the signal ended it
        with stream.subscriber(name, dir=driver_dir) as sub:
            first = sub.get(timeout_s=5)
            assert lowest <= first <= highest
            rest = [sub.get(timeout_s=5) for _ in range(COUNT - first - 1)]
        assert rest == list(range(first + 1, COUNT))


def is_told(pub):
    try:
        pub.wait_consumed(timeout_s=0.1)
    except MessagesLost:
        return True
    return False


@pytest.mark.parametrize("end", ["error", "break", KILLED], ids=["error", "break", "killed"])
@pytest.mark.parametrize("face", LOOPS)
def test_over_udp_the_publisher_is_told_what_the_reader_was_not_given(name, driver_dir, face, end):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    whole = f"{channel}|rcv-wnd=128k"
    with stream.publisher(name, dir=driver_dir, channel=channel, linger_s=0) as pub:
        one = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script(face, end, whole), driver_dir, name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: pub.is_connected)
        pub.send_many(range(COUNT), timeout_s=20)  # at once: the reader leaves after the first
        message_bytes = pub.statistics()["position"] // COUNT
        one.wait(timeout=30)
        until(lambda: not pub.is_connected)
        with stream.subscriber(name, dir=driver_dir, channel=channel) as sub:
            pub.send("after it has joined", timeout_s=20)
            rest = [sub.get(timeout_s=5)]
            while rest[-1] != "after it has joined":
                rest.append(sub.get(timeout_s=5))
            is_lost, events = is_told(pub), pub.events()
            (gone,) = (event for event in events if isinstance(event, stream.Disconnected))
            gaps = [event for event in events if isinstance(event, stream.Gap)]
            lost = sum(gap.to_position - gap.from_position for gap in gaps)
            assert is_lost is (lost > 0)
    # Each message is consumed by the one, told as lost, or given to the other.
    begin = (gone.consumed_position + lost) // message_bytes
    assert rest == [*range(begin, COUNT), "after it has joined"]
