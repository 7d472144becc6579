"""The families that are exported: names, labels, what is left out, and what a registry makes."""

from __future__ import annotations

import dataclasses
import re

import pytest

from rstream import metrics
from rstream._facts import SlowestReader
from rstream._held_by import HeldBy
from rstream.errors import ConfigError
from rstream.prometheus._families import DirectoryLook, MetricFamily, families, look_at

IPC = "aeron:ipc?term-length=1m|rs-name=ticks"
UDP = "aeron:udp?endpoint=10.0.0.7:40123|rs-name=prices"


def publication(number: int = 3, **changes: object) -> metrics.PublicationState:
    facts: dict[str, object] = {
        "registration_id": number,
        "client_id": 1,
        "session_id": 70 + number,
        "stream_id": 7,
        "channel": IPC,
        "is_ipc": True,
        "position": 1000,
        "limit": 1500,
        "sender_position": None,
        "sender_limit": None,
        "consumed": 600,
        "subscribers": 1,
        "slowest": slowest(number),
    }
    return metrics.PublicationState(**(facts | changes))  # type: ignore[arg-type]


def slowest(number: int, position: int = 600) -> SlowestReader:
    return SlowestReader(
        publication_id=number,
        is_local=True,
        reader_id=9,
        client_id=2,
        pid=4711,
        source="",
        since_ms=0,
        position=position,
        window_bytes=800,
    )


def image(**changes: object) -> metrics.ImageState:
    facts: dict[str, object] = {
        "registration_id": 9,
        "session_id": 73,
        "stream_id": 7,
        "channel": IPC,
        "client_id": 2,
        "consumed": 600,
        "received": None,
        "highest": None,
    }
    return metrics.ImageState(**(facts | changes))  # type: ignore[arg-type]


def by_name(look: DirectoryLook) -> dict[str, MetricFamily]:
    found = families(look)
    assert len({family.name for family in found}) == len(found)
    return {family.name: family for family in found}


def values(look: DirectoryLook, name: str) -> dict[tuple[str, ...], float]:
    return dict(by_name(look)[name].samples)


LABELS = ("7", "ticks", "73", IPC)


def test_a_publication_with_its_labels() -> None:
    look = DirectoryLook(dir="/none", is_alive=True, publications=[publication()])
    family = by_name(look)["rstream_publication_offered_bytes"]
    assert (family.labels, family.kind) == (("stream", "name", "session", "channel"), "counter")
    shown = {
        name.removeprefix("rstream_publication_"): dict(one.samples)[LABELS]
        for name, one in by_name(look).items()
        if name.startswith("rstream_publication_") and LABELS in dict(one.samples)
    }
    assert shown == {
        "offered_bytes": 1000,
        "sent_bytes": 1000,
        "consumed_bytes": 600,
        "queued_bytes": 400,
        "fill_ratio": 0.5,
        "room_bytes": 500,
        "local_subscribers": 1,
    }


def test_a_position_that_the_driver_has_not_brought_up_to_date_makes_no_queue_shorter() -> None:
    segments = ((400, 0), (900, 10_000))
    state = publication(position=0, consumed=400, large_bytes=20_000, segments=segments)
    state = dataclasses.replace(state, slowest=slowest(3, position=400))
    assert state.sent == 900
    assert state.queued_bytes == 500 + 10_000


def test_large_messages_in_shared_memory_count_with_their_bytes() -> None:
    """Two of 10 000 bytes, of which the slower reader has consumed one."""
    segments = ((400, 0), (900, 10_000))
    state = publication(large_bytes=20_000, segments=segments)
    readers = [image(registration_id=9, consumed=600), image(registration_id=10, consumed=1000)]
    look = DirectoryLook(dir="/none", is_alive=True, publications=[state], images=readers)
    for name, bytes_of in {
        "offered": 21_000, "sent": 21_000, "consumed": 10_600, "queued": 10_400,
    }.items():  # fmt: skip
        assert values(look, f"rstream_publication_{name}_bytes") == {LABELS: bytes_of}
    assert values(look, "rstream_reader_consumed_bytes") == {
        (*LABELS, "9"): 10_600,
        (*LABELS, "10"): 21_000,
    }
    assert values(look, "rstream_reader_queued_bytes") == {
        (*LABELS, "9"): 10_400,
        (*LABELS, "10"): 0,
    }


def test_a_job_that_is_held_has_its_beginning() -> None:
    for held_ms, shown in ((0, {}), (1_500_000, {LABELS: 1500.0})):
        look = DirectoryLook(
            dir="/none", is_alive=True, publications=[publication(job_held_ms=held_ms)]
        )
        assert values(look, "rstream_publication_oldest_job_timestamp_seconds") == shown


def test_what_is_known_of_a_path() -> None:
    def shown(path: metrics.PathState | None) -> dict[str, float]:
        look = DirectoryLook(dir="/none", is_alive=True, publications=[publication(path=path)])
        prefix = "rstream_publication_path_"
        return {
            name.removeprefix(prefix): value
            for name, family in by_name(look).items()
            if name.startswith(prefix)
            for _, value in family.samples
        }

    known = metrics.PathState(
        bandwidth_bytes_per_s=12_500_000, least_rtt_ns=20_000_000, loss_ratio=0.01,
        under_way_bytes=250_000,
    )  # fmt: skip
    assert shown(known) == {
        "bandwidth_bytes_per_second": 12_500_000,
        "least_rtt_seconds": 0.02,
        "loss_ratio": 0.01,
        "under_way_bytes": 250_000,
    }
    unknown = metrics.PathState(
        bandwidth_bytes_per_s=None, least_rtt_ns=None, loss_ratio=0.0, under_way_bytes=14_080
    )
    assert shown(unknown) == {"loss_ratio": 0.0, "under_way_bytes": 14_080}
    assert shown(None) == {}


def test_a_rate_that_does_not_limit_yet_is_left_out() -> None:
    def rate(bytes_per_s: int) -> dict[tuple[str, ...], float]:
        state = metrics.RateState(bytes_per_s=bytes_per_s, fill_naks=5, headroom=None)
        look = DirectoryLook(dir="/none", is_alive=True, publications=[publication(rate=state)])
        assert values(look, "rstream_publication_fill_naks") == {LABELS: 5}
        return values(look, "rstream_publication_rate_limit_bytes_per_second")

    assert rate(1_000_000_000_000) == {}
    assert rate(2_000_000) == {LABELS: 2_000_000}


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"held_by": HeldBy.WINDOW}, "window"),
        ({"held_by": HeldBy.RATE}, "rate"),
        ({"subscribers": 0, "held_by": HeldBy.WINDOW}, "subscriber"),
        ({"is_ipc": False, "sender_limit": 0, "sender_position": 0}, "subscriber"),
        ({"is_ended": True, "held_by": HeldBy.WINDOW}, None),
        ({}, None),
    ],
)
def test_what_holds_a_publication(changes: dict[str, object], cause: str | None) -> None:
    look = DirectoryLook(dir="/none", is_alive=True, publications=[publication(**changes)])
    held = values(look, "rstream_publication_held")
    assert len(held) == len(HeldBy)
    assert [labels[-1] for labels, value in held.items() if value] == ([cause] if cause else [])


def test_a_reader_in_shared_memory_and_one_over_udp() -> None:
    udp = image(
        registration_id=10, session_id=-5, channel=UDP, consumed=100, received=300, highest=900
    )
    look = DirectoryLook(
        dir="/none", is_alive=True, publications=[publication()], images=[image(), udp]
    )
    assert values(look, "rstream_reader_queued_bytes") == {
        (*LABELS, "9"): 400,
        ("7", "prices", "-5", UDP, "10"): 200,
    }
    assert values(look, "rstream_reader_behind_gap_bytes") == {
        ("7", "prices", "-5", UDP, "10"): 600
    }


def test_refused_peers_are_counted() -> None:
    look = DirectoryLook(dir="/none", is_alive=True, refused=2)
    assert values(look, "rstream_peers_refused") == {(): 2}


def test_without_a_driver_only_up_has_a_sample(tmp_path: object) -> None:
    look = look_at(f"{tmp_path}/none", 10)
    assert [f.name for f in families(look) if f.samples] == ["rstream_driver_up"]
    assert values(look, "rstream_driver_up") == {(): 0}


@pytest.mark.parametrize("streams_max", [0, 100_001, True, 1.5])
def test_a_limit_that_is_none(streams_max: object) -> None:
    prometheus = pytest.importorskip("rstream.prometheus")
    with pytest.raises(ConfigError, match="streams_max"):
        prometheus.Collector("/none", streams_max=streams_max)


def test_names_follow_prometheus() -> None:
    """Base units, ``_total`` left to the exposition, and a help text for each family."""
    for family in families(DirectoryLook(dir="/", is_alive=True, publications=[publication()])):
        assert re.fullmatch(r"rstream_[a-z_]+", family.name)
        assert not family.name.endswith("_total")
        assert not re.search(r"_(ms|us|ns|kb|mb|percent)(_|$)", family.name)
        assert family.text
        assert all(len(labels) == len(family.labels) for labels, _ in family.samples)


def test_a_registry_refuses_a_second_collector() -> None:
    """Else each sample of a scrape would be there twice, which Prometheus does not take."""
    prometheus_client = pytest.importorskip("prometheus_client")
    from rstream.prometheus import Collector

    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector("/none"))
    with pytest.raises(ValueError, match="rstream_driver_up"):
        registry.register(Collector("/none"))
    assert b"rstream_driver_up 0.0" in prometheus_client.generate_latest(registry)
