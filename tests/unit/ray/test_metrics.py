"""What the metrics of an endpoint say, without Ray."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rstream.errors import ConfigError
from rstream.ray import export_metrics, reader
from rstream.ray._metrics import COUNTERS, GAUGES, _Exporter, first_look, look
from tests.support import until


@pytest.fixture(params=["ipc", "udp"])
def writer_dir(request, driver_dir, make_driver_dir):
    if request.param == "ipc":
        yield driver_dir
        return
    import rstream

    with rstream.Driver(dir=make_driver_dir()) as far:
        yield far.dir


def test_rates_and_counts_of_a_second(driver_dir, writer_dir):
    with reader(dir=driver_dir) as end, end.handle.publisher(driver_dir=writer_dir) as pub:
        begin = first_look(end, 10.0)
        pub.send_many([b"x" * 100] * 20)
        got = []
        until(lambda: got.extend(end.source.poll()) or len(got) == 20)
        end.source.poll()  # the last ones are consumed with it
        now, gauges = look(end, begin, 12.0)
        assert now.totals == dict.fromkeys(COUNTERS, 0.0) | {
            "messages": 20.0,
            "bytes": now.totals["bytes"],
        }
        assert 20 * 100 < now.totals["bytes"] < 20 * 300
        assert set(gauges) == set(GAUGES)
        assert gauges["messages_per_second"] == 10.0
        assert gauges["bytes_per_second"] == now.totals["bytes"] / 2
        assert gauges["publishers"] == 1.0
        assert gauges["queue_delay_seconds"] == 0.0
        again, gauges = look(end, now, 13.0)
        assert again.totals == now.totals
        assert gauges["messages_per_second"] == gauges["bytes_per_second"] == 0.0


def test_what_waits_is_a_delay(driver_dir):
    """Nobody reads: the delay grows with the time; reading makes it the queue over the rate."""
    with reader(dir=driver_dir) as end, end.handle.publisher(linger_s=0) as pub:
        start = first_look(end, 10.0)
        pub.send_many([b"x" * 1000] * 200)
        until(lambda: end.fill[0] > 200_000)
        held, gauges = look(end, start, 13.0)
        assert gauges["queue_delay_seconds"] == 3.0
        assert 0.3 < gauges["fill_ratio"] <= 1.0
        held, gauges = look(end, held, 14.0)
        assert gauges["queue_delay_seconds"] == 4.0
        assert len(end.source.poll(100)) == 100
        end.source.poll(1)  # the hundred are consumed with it
        _, gauges = look(end, held, 15.0)
        assert 0.5 < gauges["queue_delay_seconds"] < 1.5  # half waits, half was read in 1 s


def test_a_large_message_counts_with_its_bytes(driver_dir):
    """It lies in shared memory; the log has 64 bytes of it."""
    length = 1 << 20
    with reader(dir=driver_dir) as end, end.handle.publisher(linger_s=0) as pub:
        start = first_look(end, 10.0)
        pub.send_many([bytes(length)] * 2)
        until(lambda: end.fill[0] > 2 * length)
        assert end.fill[0] < 2 * length + 1000
        held, gauges = look(end, start, 11.0)
        assert held.totals["bytes"] == 0
        assert gauges["fill_ratio"] == 2 / 32  # of 32 messages, which is more than of 260 MiB
        assert len(end.source.poll(1)) == 1
        end.source.poll(1)  # the first one is consumed with it
        now, gauges = look(end, held, 12.0)
        assert length < now.totals["bytes"] < length + 1000 or now.totals["bytes"] > 2 * length
        assert gauges["bytes_per_second"] == now.totals["bytes"]


def test_metrics_need_ray(driver_dir):
    with (
        reader(dir=driver_dir) as end,
        pytest.raises(ConfigError, match=r"where Ray runs.*prometheus\.Collector"),
    ):
        export_metrics(end)


def test_what_is_no_endpoint_is_named(driver_dir):
    with (
        reader(dir=driver_dir) as end,
        pytest.raises(ConfigError, match=r"is no endpoint.*in the process that opened it"),
    ):
        export_metrics(end.handle)


def test_counters_are_there_before_they_count(driver_dir, monkeypatch):
    """An alert on gaps cannot see a counter that comes with the first one."""
    recorded = []

    class Metric:
        def __init__(self, name, text, tags):
            self.name = name

        def _record(self, value, tags):
            recorded.append((self.name, value, tags["stream"]))

    metrics = SimpleNamespace(Counter=Metric, Gauge=Metric)
    _Exporter(metrics).begin({"stream": "s", "actor": "a"})
    assert recorded == [(f"rstream_endpoint_{name}", 0, "s") for name in COUNTERS]
