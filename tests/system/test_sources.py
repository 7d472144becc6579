"""``sources=``: a reader or a driver takes datagrams from listed addresses alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import rstream
from rstream import _core
from rstream.driver import Driver
from rstream.errors import ChannelError, ConfigError, NotConnected, RStreamError
from tests.system.both_ends import flows, refusal, refusals


@pytest.mark.parametrize("sources", ["127.0.0.0/8", ["10.0.0.0/8", "127.0.0.1"]])
def test_what_is_listed_is_taken(
    udp: str, name: str, driver_dir: str, sources: str | list[str]
) -> None:
    with (
        Driver(driver_dir),
        rstream.subscriber(name, channel=udp, sources=sources, dir=driver_dir) as sub,
        rstream.publisher(name, channel=udp, dir=driver_dir) as pub,
    ):
        flows(sub, pub, "taken")
        assert refusals(sub) == []


def test_what_is_not_listed_is_dropped_and_named(udp: str, name: str, driver_dir: str) -> None:
    listed = "10.0.0.0/8,[fd00::]/8"
    with (
        Driver(driver_dir),
        rstream.subscriber(name, channel=udp, sources=listed, dir=driver_dir) as sub,
        rstream.publisher(name, channel=udp, dir=driver_dir, connect_timeout_s=0.5) as pub,
    ):
        with pytest.raises(NotConnected):
            pub.send("dropped")
        reason = refusal(sub)
        assert "127.0.0.1:" in reason
        assert "is none of the sources that are taken" in reason
        assert "sources" in str(_core.read_errors(driver_dir))


def test_the_drivers_list_holds_for_all_its_sockets(
    udp: str, name: str, make_driver_dir: Callable[[], str]
) -> None:
    """The reader would take it; and a publisher takes no status message from a stranger."""
    near, far = make_driver_dir(), make_driver_dir()
    strict = {"sources": "10.0.0.0/8"}
    for reading, sending in ((strict, {}), ({}, strict)):
        with (
            Driver(near, options=reading),
            Driver(far, options=sending),
            rstream.subscriber(name, channel=udp, sources="127.0.0.1", dir=near),
            rstream.publisher(name, channel=udp, dir=far, connect_timeout_s=0.5) as pub,
            pytest.raises(NotConnected),
        ):
            pub.send("dropped")


@pytest.mark.parametrize("sources", ["10.0.0/8", "10.0.0.0/33", "host.example", ["::1", "x"]])
def test_what_is_no_list_is_refused(udp: str, name: str, sources: str | list[str]) -> None:
    with pytest.raises(ConfigError, match=r"sources='.*': .* does not appear to be"):
        rstream.subscriber(name, channel=udp, sources=sources)


def test_a_bad_list_in_a_channel_or_an_option_is_refused(udp: str, driver_dir: str) -> None:
    with Driver(driver_dir), rstream.Client(dir=driver_dir) as client:
        with pytest.raises(ChannelError, match=r"rs-sources=10.0.0.0/33: must be up to 16"):
            client.add_subscription(f"{udp}|rs-sources=10.0.0.0/33", 7)
    with pytest.raises(RStreamError, match=r"sources=nobody: must be up to 16"):
        Driver(driver_dir, options={"sources": "nobody"})


def test_shared_memory_has_no_sources(name: str) -> None:
    with pytest.raises(ConfigError, match="only UDP has it"):
        rstream.subscriber(name, sources="10.0.0.0/8")
