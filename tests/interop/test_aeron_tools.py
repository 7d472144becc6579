"""Aeron's own tools read our directory and print what our tools print (O4).

What must hold: every counter with its id, value and label; every distinct error with its count and
text; every loss with its bytes. StreamStat and BacklogStat read the positions of each stream.
"""

from __future__ import annotations

import re

import pytest

import rstream
from rstream import _core, metrics
from rstream.cli import _driver
from rstream.client import Client
from tests.interop.aeron import JAVA_CURRENT, JAVA_OLDER
from tests.interop.ends import STREAM, udp_channel
from tests.interop.java import Java, MissingError

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

MOVING_LABELS = ("client-heartbeat", "Conductor", "Sender", "Receiver", "NameResolver")
# One message of SIZE bytes was sent, received and consumed.
SIZE = 100
POSITION = 160
# The older release uses another word for a publication's position.
LOSSY_COUNT = 400
STREAM_STAT = {
    r"pub-pos \(\w+\)": POSITION,
    "snd-pos": POSITION,
    "rcv-hwm": POSITION,
    "rcv-pos": POSITION,
    "sub-pos": POSITION,
}
AERON_STAT_LINE = re.compile(r"^ *(?P<id>\d+): +(?P<value>-?[\d,]+) - (?P<label>.*)$", re.MULTILINE)
ERROR_STAT_ENTRY = re.compile(
    r"^(?P<count>\d+) observations from .*?:\n (?P<text>.*?)\n(?=\n|\Z)", re.MULTILINE | re.DOTALL
)


@pytest.fixture(params=[JAVA_CURRENT, JAVA_OLDER])
def java(request: pytest.FixtureRequest) -> Java:
    try:
        return Java.prepare(str(request.param))
    except MissingError as error:
        pytest.skip(f"no Java tools: {error}")


def counters_of_aeron_stat(text: str) -> dict[int, tuple[int, str]]:
    return {
        int(m["id"]): (int(m["value"].replace(",", "")), m["label"])
        for m in AERON_STAT_LINE.finditer(text)
    }


def test_aeron_stat_prints_our_counters(java: Java, driver_dir: str) -> None:
    """O2, O4."""
    channel = udp_channel("|term-length=256k")
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        client.add_subscription(channel, STREAM) as subscription,
        client.add_subscription("aeron:ipc", STREAM),
        client.add_publication("aeron:ipc", STREAM),
        client.add_publication(channel, STREAM) as publication,
    ):
        while publication.offer(bytes(SIZE)) < 0:
            publication.wait(0.1)
        while not len(batch := subscription.poll(1)):
            batch.release()
            subscription.wait(0.1)
        batch.release()
        theirs = counters_of_aeron_stat(java.tool("AeronStat", driver.dir))
        ours = {c.id: (c.value, c.label) for c in metrics.counters(driver.dir)}
        assert set(theirs) == set(ours)
        for id, (value, label) in ours.items():
            assert theirs[id][1] == label.strip()
            is_moving = (
                label.startswith(MOVING_LABELS)
                or "eartbeats" in label
                or "ytes" in label
                or "datagrams" in label
                or "Messages" in label
            )
            assert is_moving or theirs[id][0] == value, label
        streams = java.tool("StreamStat", driver.dir)
        line = next(
            line for line in streams.splitlines() if f"streamId={STREAM} channel={channel}" in line
        )
        for name, position in STREAM_STAT.items():
            assert re.search(rf" {name}:\d+:{position}\b", line), f"{name} in {line}"
        assert "has 0 backlog bytes" in java.tool("BacklogStat", driver.dir)


def test_loss_stat_prints_our_losses(
    java: Java, driver_dir: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """O4. Channels of four lengths: readers and writers of the report agree on record sizes."""
    kinds = [f"fault-{way}-data-loss" for way in ("send", "receive")]
    options = {"fault-seed": "7", **dict.fromkeys(kinds, "0.1")}
    with (
        rstream.Driver(dir=driver_dir, options=options) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
    ):
        for padding in range(4):
            channel = udp_channel("|alias=" + "x" * (padding + 1))
            with (
                client.add_subscription(channel, STREAM) as subscription,
                client.add_publication(channel, STREAM) as publication,
            ):
                for _ in range(LOSSY_COUNT):
                    while publication.offer(bytes(SIZE)) < 0:
                        publication.wait(0.1)
                received = 0
                while received < LOSSY_COUNT:
                    with subscription.poll(64) as batch:
                        received += len(batch)
                    subscription.wait(0.01)
        losses = metrics.losses(driver.dir)
        assert len({loss.channel for loss in losses}) == 4
        assert _driver.losses(driver.dir) == 0
        ours = capsys.readouterr().out.splitlines()
        theirs = java.tool("LossStat", driver.dir).splitlines()
        assert [line for line in ours if line] == [line for line in theirs if line]


def test_error_stat_prints_our_errors(
    java: Java, driver_dir: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
    ):
        for option in ("mtu=7", "term-length=7", "mtu=7"):
            with pytest.raises(rstream.RStreamError):
                client.add_publication(f"aeron:udp?endpoint=127.0.0.1:1|{option}", STREAM)
        assert len(_core.read_errors(driver.dir)) == 2
        assert _driver.errors(driver.dir) == 0
        ours = capsys.readouterr().out.splitlines()
        theirs = java.tool("ErrorStat", driver.dir).splitlines()
        # Their output starts with the file.
        assert [line.strip() for line in ours if line.strip()] == [
            line.strip() for line in theirs if line.strip()
        ][1:]
