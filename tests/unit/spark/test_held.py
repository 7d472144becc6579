"""What a task of eager delivery sends again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rstream.spark._held import HeldMessages
from rstream.spark._share import Readers
from rstream.spark._task import _Target, _Task
from rstream.stream import Gap


class Publisher:
    """Has the facts of a publisher; ``on_look`` is what its next look finds."""

    is_connected = True

    def __init__(self):
        self.session_id, self.consumed = 1, 0
        self.sent = []
        self.on_look = lambda: []

    def send(self, message, timeout_s=None):
        self.sent.append((self.session_id, message))
        return 64

    offer = send

    def revive(self):
        pass

    def statistics(self):
        return {"consumed_position": self.consumed}

    def events(self):
        found, self.on_look = self.on_look(), lambda: []
        return found

    def joins_again(self):
        """The driver has ended, and another one has this publisher now."""
        gap = Gap(session_id=self.session_id, from_position=0, to_position=None, reason="driver")
        self.session_id, self.consumed = self.session_id + 1, 0
        return [gap]


@pytest.fixture
def publisher():
    return Publisher()


def test_what_is_consumed_is_forgotten(publisher):
    held = HeldMessages(publisher)
    held.add(64, "a")
    held.add(128, "b")
    publisher.consumed = 64
    assert held.take_lost() == []
    assert held
    publisher.consumed = 128
    assert held.take_lost() == []
    assert not held


def test_what_was_sent_before_the_look_that_joins_again_is_lost(publisher):
    held = HeldMessages(publisher)
    held.add(64, "a")
    held.add(128, "b")  # into the log of the driver that has just ended
    publisher.on_look = publisher.joins_again
    assert held.take_lost() == ["a", "b"]
    assert not held


def test_what_the_new_session_has_is_not_lost(publisher):
    held = HeldMessages(publisher)
    held.add(64, "a")
    gaps = publisher.joins_again()  # while the next message is sent
    held.add(64, "b")
    publisher.on_look = lambda: gaps
    assert held.take_lost() == ["a"]
    publisher.consumed = 64
    assert held.take_lost() == []
    assert not held


def test_a_position_of_another_session_says_nothing(publisher):
    held = HeldMessages(publisher)
    publisher.consumed = 1000
    held.add(1064, "a")

    def anew():
        gaps = publisher.joins_again()
        held.add(64, "b")
        return gaps

    publisher.on_look = anew
    assert held.take_lost() == ["a"]
    assert held  # 64 is below 1000, which was consumed of the old session


def test_a_gap_of_the_session_takes_what_was_sent_last_with_it(publisher):
    held = HeldMessages(publisher)
    held.add(64, "a")
    held.add(128, "b")
    publisher.consumed = 128  # of the reader that was opened anew, and began behind all
    publisher.on_look = lambda: [
        Gap(session_id=1, from_position=0, to_position=128, reason="no reader left")
    ]
    assert held.take_lost() == ["a", "b"]


def test_a_task_sends_again_what_the_last_driver_had_just_taken(publisher):
    task = SimpleNamespace(
        config=SimpleNamespace(offer_timeout_s=1.0), report=SimpleNamespace(blocked_s=0.0)
    )
    target = _Target(publisher, "", HeldMessages(publisher))
    publisher.on_look = publisher.joins_again  # right behind the send
    _Task._send(task, target, "a")
    assert publisher.sent == [(1, "a"), (2, "a")]
    assert target.held


def test_shared_work_that_the_last_driver_had_just_taken_goes_out_again(publisher):
    readers = Readers(SimpleNamespace(handles=["one"], offer_timeout_s=1.0), 0)
    readers._readers[0] = SimpleNamespace(
        publisher=publisher, held=HeldMessages(publisher), absent_since_s=None
    )
    publisher.on_look = publisher.joins_again
    readers.send("a")
    publisher.consumed = 64
    readers.finish()
    assert publisher.sent == [(1, "a"), (2, "a")]
