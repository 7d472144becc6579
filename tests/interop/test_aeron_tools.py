"""Aeron's own tools look into a directory of ours and print what ours print (O4).

What must hold: every counter with its id, value and label; every distinct error with its count and text; every loss with its bytes; StreamStat and
BacklogStat read the positions of each stream.
"""

from __future__ import annotations

import re

import pytest

import rstream
from rstream import _core, metrics
from rstream.client import Client
from tests.interop.aeron import JAVA_CURRENT, JAVA_OLDER
from tests.interop.ends import STREAM, udp_channel
from tests.interop.java import Java, MissingError

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

MOVING_LABELS = ("client-heartbeat", "Conductor", "Sender", "Receiver", "NameResolver")
# One message of SIZE bytes was sent, received and consumed.
SIZE = 100
POSITION = 160
# The older release has its own words for a publication's position.
STREAM_STAT = {r"pub-pos \(\w+\)": POSITION, "snd-pos": POSITION, "rcv-hwm": POSITION, "rcv-pos": POSITION, "sub-pos": POSITION}
AERON_STAT_LINE = re.compile(r"^ *(?P<id>\d+): +(?P<value>-?[\d,]+) - (?P<label>.*)$", re.MULTILINE)
ERROR_STAT_ENTRY = re.compile(r"^(?P<count>\d+) observations from .*?:\n (?P<text>.*?)\n(?=\n|\Z)", re.MULTILINE | re.DOTALL)


@pytest.fixture(params=[JAVA_CURRENT, JAVA_OLDER])
def java(request: pytest.FixtureRequest) -> Java:
    try:
        return Java.prepare(str(request.param))
    except MissingError as error:
        pytest.skip(f"no Java tools: {error}")


def counters_of_aeron_stat(text: str) -> dict[int, tuple[int, str]]:
    return {int(m["id"]): (int(m["value"].replace(",", "")), m["label"]) for m in AERON_STAT_LINE.finditer(text)}


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
            is_moving = label.startswith(MOVING_LABELS) or "eartbeats" in label or "ytes" in label or "datagrams" in label or "Messages" in label
            assert is_moving or theirs[id][0] == value, label
        streams = java.tool("StreamStat", driver.dir)
        line = next(line for line in streams.splitlines() if f"streamId={STREAM} channel={channel}" in line)
        for name, position in STREAM_STAT.items():
            assert re.search(rf" {name}:\d+:{position}\b", line), f"{name} in {line}"
        assert "has 0 backlog bytes" in java.tool("BacklogStat", driver.dir)


def test_loss_stat_prints_our_losses(java: Java, driver_dir: str) -> None:
    """O4."""
    channel = udp_channel("|term-length=64k")
    options = {"fault-receive-data-loss": "0.2", "fault-seed": "5"}
    with (
        rstream.Driver(dir=driver_dir, options=options) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        client.add_subscription(channel, STREAM) as subscription,
        client.add_publication(channel, STREAM) as publication,
    ):
        received, sent = 0, 0
        while received < 300:
            sent += sent < 300 and publication.offer(bytes(1000)) > 0
            with subscription.poll(10) as batch:
                received += len(batch)
        ((observations, lost, _, _, session_id, stream_id, lost_channel, source),) = _core.read_losses(driver.dir)
        assert lost > 0
        (line,) = (line for line in java.tool("LossStat", driver.dir).splitlines() if channel in line)
        fields = line.split(",")
        assert [int(number) for number in fields[:2]] == [observations, lost]
        assert [int(number) for number in fields[4:6]] == [session_id, stream_id]
        assert fields[6:] == [lost_channel, source]


def test_error_stat_prints_our_errors(java: Java, driver_dir: str) -> None:
    """O4."""
    with rstream.Driver(dir=driver_dir) as driver, Client(dir=driver.dir, start_driver=False) as client:
        for channel in ("aeron:udp?endpoint=127.0.0.1:1|mtu=7", "aeron:udp?endpoint=127.0.0.1:1|term-length=7", "aeron:udp?endpoint=127.0.0.1:1|mtu=7"):
            with pytest.raises(rstream.RStreamError):
                client.add_publication(channel, STREAM)
        ours = _core.read_errors(driver.dir)
        text = java.tool("ErrorStat", driver.dir)
        assert f"{len(ours)} distinct errors observed" in text
        assert len(ours) >= 2
        for error in ours:
            assert error[-1] in text
            assert f"{error[0]} observations" in text
