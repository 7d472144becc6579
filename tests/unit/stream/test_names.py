"""The public names of a publisher: what tab completion shows is what a user may call."""

from __future__ import annotations

from rstream import aio, stream

#: What both publishers have in common.
PUBLISHER = {
    "close", "demand", "events", "fail", "has_new_demand", "has_session", "held_by", "is_closed",
    "channel", "connect_timeout_s", "is_connected", "is_lost", "is_rate_limited", "linger_s",
    "max_message_length", "max_unparted_length", "name", "offer", "position", "progress", "revive",
    "send", "send_many", "session_id", "set_rate", "slowest_reader", "statistics", "stream_id",
    "wait_consumed", "wait_for",
}  # fmt: skip


def public_names(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def test_a_publisher_shows_no_steps(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        assert public_names(pub) == PUBLISHER | {"flush", "sent_position"}


def test_the_awaited_publisher_shows_no_steps():
    assert public_names(aio.Publisher) == PUBLISHER | {"abandon"}
