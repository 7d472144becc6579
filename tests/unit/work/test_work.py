"""Shared work over a real driver, all ends in this process."""

from __future__ import annotations

import functools
import gc
import logging
import threading
import time
from types import SimpleNamespace

import pytest

import rstream
from rstream import codecs, stream, work
from rstream._condition import Condition
from rstream.errors import (
    BackPressured,
    ChannelError,
    ClosedError,
    ConfigError,
    ForkedError,
    MessagesLost,
    MessageTooLarge,
    NotConnected,
    NotSupported,
    ReadTimeout,
    RStreamError,
    StreamEnded,
)
from rstream.stream import SessionChanged
from rstream.work import _giving
from rstream.work._desk import Message, ReaderSeat, WorkDesk
from rstream.work._readers import ReportedReaders
from rstream.work._seating import Seating
from tests.support import free_port, in_thread, until

from .test_desk import report_of


@pytest.fixture
def ends(driver_dir, name):
    """Opens ends of one name, and closes them after the test."""
    opened = []

    class Ends:
        def publisher(self, type_=None, **options):
            end = work.publisher(name, type_, dir=driver_dir, **{"linger_s": 5, **options})
            opened.append(end)
            return end

        def subscriber(self, type_=None, **options):
            end = work.subscriber(name, type_, dir=driver_dir, **options)
            opened.append(end)
            return end

    yield Ends()
    for end in opened:
        if isinstance(end, work.Subscriber):
            end.close()
    for end in opened:
        if isinstance(end, work.Publisher):
            end.close(linger_s=0)


def take_all(subscriber, pause_s=0.0):
    """A thread that takes jobs until the end, and the list of what it took."""
    taken = []

    def run():
        for job in subscriber:
            time.sleep(pause_s)
            taken.append(job.item)

    return in_thread(run), taken


def test_each_message_goes_to_one_reader_and_the_loops_end(ends):
    readers = [take_all(ends.subscriber()) for _ in range(3)]
    publisher = ends.publisher()
    assert publisher.send_many(range(300)) == 300
    publisher.close()
    for thread, _ in readers:
        thread.join(10)
    assert sorted(n for _, taken in readers for n in taken) == list(range(300))
    assert publisher.statistics()["acknowledged"] == 300
    assert publisher.events() == []


def test_a_busy_reader_gets_nothing_while_another_one_is_free(ends):
    busy, free = ends.subscriber(), ends.subscriber()
    publisher = ends.publisher()
    until(lambda: publisher.readers == 2)
    publisher.send("first")
    publisher.send("second")
    one = busy.get(timeout_s=5)
    thread, taken = take_all(free)
    publisher.send_many(range(20))
    until(lambda: len(taken) == 21)
    assert one.item not in taken
    publisher_closing = in_thread(publisher.close)
    with pytest.raises(StreamEnded):
        busy.get(timeout_s=10)
    thread.join(10)
    publisher_closing.join(10)


def test_send_waits_for_demand_and_says_who_has_it(ends):
    reader = ends.subscriber(prefetch=2)
    publisher = ends.publisher()
    publisher.send(1)
    publisher.send(2)
    assert not publisher.offer(3)
    with pytest.raises(BackPressured, match="1 readers have 2 messages"):
        publisher.send(3, timeout_s=0.05)
    waits = in_thread(publisher.send, 4)
    assert reader.get(timeout_s=5).item == 1
    assert waits.is_alive()
    assert reader.get(timeout_s=5).item == 2  # acknowledges the first one
    waits.join(5)
    assert reader.get(timeout_s=5).item == 4
    assert publisher.statistics()["sent"] == 3


def test_what_a_reader_leaves_behind_goes_to_another_one(ends):
    first = ends.subscriber(prefetch=3)
    publisher = ends.publisher()
    publisher.send_many(["a", "b", "c"])
    assert first.get(timeout_s=5).item == "a"
    first.close()
    second = ends.subscriber(prefetch=5)
    jobs = [second.get(timeout_s=5) for _ in range(3)]
    assert [(job.item, job.is_redelivered) for job in jobs] == [
        ("a", True),  # it was seen
        ("b", False),
        ("c", False),
    ]
    assert jobs[0].delivery == 2
    assert publisher.statistics()["redelivered"] == 1


def test_leaving_with_an_error_does_not_acknowledge(ends):
    publisher = ends.publisher()
    sends = in_thread(publisher.send_many, [1, 2])
    with pytest.raises(ZeroDivisionError), ends.subscriber() as jobs:
        for _job in jobs:
            raise ZeroDivisionError
    with ends.subscriber() as jobs:
        seen = set()
        for job in jobs:
            assert job.item != 1 or job.is_redelivered
            seen.add(job.item)
            if seen == {1, 2}:  # in any order: the other reader may still be about to leave
                break  # without an error: done
    sends.join(5)
    assert publisher.wait_acknowledged(timeout_s=5)


def test_explicit_acknowledgements_in_any_order(ends):
    reader = ends.subscriber(prefetch=3, acknowledge="explicit")
    publisher = ends.publisher()
    publisher.send_many("abc")
    jobs = {job.item: job for job in (reader.get(timeout_s=5) for _ in range(3))}
    assert publisher.unacknowledged == 3
    jobs["c"].ack()
    jobs["c"].ack()
    until(lambda: publisher.unacknowledged == 2)
    jobs["a"].give_back()
    again = reader.get(timeout_s=5)
    assert (again.item, again.delivery) == ("a", 2)
    for job in (again, jobs["b"]):
        in_thread(job.ack)
    assert publisher.wait_acknowledged(timeout_s=5)


def test_a_message_that_comes_back_too_often_is_told(ends, caplog):
    reader = ends.subscriber(acknowledge="explicit")
    publisher = ends.publisher(deliveries_max=3)
    number = publisher.send({"poison": True})
    for delivery in (1, 2, 3):
        job = reader.get(timeout_s=5)
        assert job.delivery == delivery
        job.give_back()
    (event,) = until(publisher.events)
    assert (event.number, event.item, event.deliveries) == (number, {"poison": True}, 3)
    assert "given up after 3 deliveries" in event.reason
    assert "is not sent again" in caplog.text
    assert publisher.wait_acknowledged(timeout_s=5)


def test_a_job_that_cannot_be_decoded_is_given_up_and_the_reader_goes_on(ends, caplog):
    with caplog.at_level(logging.ERROR):
        reader = ends.subscriber(int)
        publisher = ends.publisher(deliveries_max=2)
        sends = in_thread(publisher.send_many, ["no number", 7])
        assert reader.get(timeout_s=5).item == 7
        (event,) = until(publisher.events)
        sends.join(5)
    assert event.item == "no number"
    assert "cannot be decoded" in caplog.text


def test_another_codec_is_refused_with_both_names(ends):
    ends.subscriber(codec=codecs.raw())
    publisher = ends.publisher(connect_timeout_s=0.5)
    with pytest.raises(NotConnected, match=r"it reads raw .* writes msgpack"):
        publisher.send(1)


def test_without_a_reader_it_says_so_and_goes_on(ends, caplog, monkeypatch):
    monkeypatch.setattr(_giving, "NOTICE_AFTER_S", 0.1)
    publisher = ends.publisher(connect_timeout_s=0.3)
    with pytest.raises(NotConnected, match=r"rstream\.work\.subscriber"):
        publisher.send(1)
    assert "waits for a reader" in caplog.text
    reader = ends.subscriber()
    publisher.send(2)
    assert reader.get(timeout_s=5).item == 2


def test_several_publishers_share_the_readers(ends):
    """A reader's free demand is one for all publishers: what one has sent the others see."""
    reader = ends.subscriber(prefetch=1)
    one, two = ends.publisher(), ends.publisher()
    until(lambda: two.statistics()["readers"] == 1)
    one.send("one")
    reader.get(timeout_s=5)
    two.send("two")  # two has not heard of the first one: a reader says it with two publishers only
    until(lambda: reader.statistics()["publishers"] == 2 or reader._taking._receive())
    until(lambda: not one.offer("more"))
    job = reader.get(timeout_s=5)
    assert job.item == "two"
    for publisher in (one, two):
        in_thread(publisher.send, "last")
    assert [reader.get(timeout_s=5).item for _ in range(2)] == ["last", "last"]


def test_a_late_publisher_finds_the_readers_at_once(ends):
    ends.subscriber(prefetch=9)
    ends.publisher().send(1)
    late = ends.publisher()
    begin_s = time.monotonic()
    late.send(2)
    assert time.monotonic() - begin_s < 0.9  # not by the report that comes once a second


def test_what_a_job_says_too_late_is_an_error(ends):
    reader = ends.subscriber(prefetch=3, acknowledge="explicit")
    publisher = ends.publisher()
    publisher.send_many(["done", "back", "late"])
    done, back, late = (reader.get(timeout_s=5) for _ in range(3))
    for _ in range(2):
        done.ack()
        back.give_back()
    with pytest.raises(RStreamError, match="this job was acknowledged before"):
        done.give_back()
    with pytest.raises(RStreamError, match="this job was given back before"):
        back.ack()
    reader.close()
    for _ in range(2):
        with pytest.raises(ClosedError, match="another reader gets it again; acknowledge"):
            late.ack()
        late.give_back()
        done.ack()
    other = ends.subscriber(prefetch=2)
    assert {other.get(timeout_s=5).item for _ in range(2)} == {"back", "late"}


def test_a_block_that_was_closed_in_it_ends_in_peace(ends):
    with ends.publisher() as publisher:
        with ends.subscriber() as reader:
            publisher.send("a")
            for job in reader:
                assert job.item == "a"
                reader.close()
        assert publisher.unacknowledged == 1
        assert next(iter(ends.subscriber())).is_redelivered
        publisher.close(linger_s=0)
        publisher.events()


def test_close_waits_until_everything_is_acknowledged(ends):
    reader = ends.subscriber()
    publisher = ends.publisher()
    publisher.send("slow")
    closing = in_thread(publisher.close)
    job = reader.get(timeout_s=5)
    assert closing.is_alive()
    job.ack()
    closing.join(5)
    assert not closing.is_alive()
    assert publisher.events() == []
    with pytest.raises(ClosedError):
        publisher.send(1)


def test_close_tells_what_was_not_acknowledged(ends):
    ends.subscriber()
    publisher = ends.publisher()
    publisher.send("slow")
    publisher.close(linger_s=0.05)
    (event,) = publisher.events()
    assert event.item == "slow"
    assert "closed before it was acknowledged" in event.reason


def test_a_block_does_not_end_as_if_all_were_done(ends):
    ends.subscriber(prefetch=2)
    with pytest.raises(MessagesLost) as caught, ends.publisher(linger_s=0.05) as publisher:
        publisher.send_many(["slow", "slower"])
    text = str(caught.value)
    assert "2 of 2 messages were not acknowledged" in text
    assert "the first one is 1: closed before it was acknowledged; events() lists them" in text
    assert [event.item for event in publisher.events()] == ["slow", "slower"]


def test_a_block_ends_in_peace_when_events_has_told_all(ends):
    reader = ends.subscriber(acknowledge="explicit")
    with ends.publisher(deliveries_max=1) as publisher:
        publisher.send("hard")
        reader.get(timeout_s=5).give_back()
        assert publisher.wait_acknowledged(timeout_s=5)
        (event,) = publisher.events()
    assert event.item == "hard"
    with pytest.raises(MessagesLost, match="given up after 1 deliveries"):
        with ends.publisher(deliveries_max=1) as publisher:
            publisher.send("harder")
            reader.get(timeout_s=5).give_back()


def test_a_block_that_fails_or_does_not_wait_raises_nothing_else(ends):
    ends.subscriber(prefetch=2)
    with pytest.raises(ZeroDivisionError), ends.publisher(linger_s=0.05) as publisher:
        publisher.send(1)
        raise ZeroDivisionError
    with ends.publisher(linger_s=0) as publisher:
        publisher.offer(2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_unclosed_end_closes_also_where_warnings_are_errors(ends, name, driver_dir):
    work.subscriber(name, dir=driver_dir)
    dropped = work.publisher(name, dir=driver_dir)
    thread = dropped._giving._caretaker._thread
    del dropped
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()
    reader, publisher = ends.subscriber(), ends.publisher()
    publisher.send(1)
    assert reader.get(timeout_s=5).item == 1


def test_a_reader_that_stays_waits_for_the_next_publisher(ends):
    reader = ends.subscriber(stays=True)
    for n in range(2):
        publisher = ends.publisher()
        publisher.send(n)
        job = reader.get(timeout_s=5)
        assert job.item == n
        job.ack()
        publisher.close()
    with pytest.raises(ReadTimeout):
        reader.get(timeout_s=0.05)


def test_a_reader_that_got_nothing_ends_with_the_others(ends):
    """The publisher is done before the second reader has any of its jobs."""
    first, second = ends.subscriber(), ends.subscriber()
    publisher = ends.publisher()
    publisher.send("only")
    until(lambda: publisher.readers == 2)
    ended = [take_all(reader) for reader in (first, second)]
    publisher.close()
    for thread, _ in ended:
        thread.join(10)
        assert not thread.is_alive()
    assert sorted(taken for _, taken in ended) == [[], ["only"]]


def test_a_reader_without_a_lane_ends_when_the_publishers_it_saw_have_completed(ends):
    publisher = ends.publisher()
    publisher._giving.seating._add = lambda report: None  # as if it closed before the report came
    thread, taken = take_all(ends.subscriber())
    until(lambda: publisher._giving.seating._reports.statistics()["messages"] > 0)
    publisher.close()
    thread.join(10)
    assert not thread.is_alive()
    assert taken == []


def test_over_udp_with_two_publishers(ends):
    channels = [rstream.Channel.udp(f"127.0.0.1:{free_port()}") for _ in range(2)]
    readers = [take_all(ends.subscriber(channel=channels)) for _ in range(2)]
    publishers = [ends.publisher(channel=channel) for channel in channels]
    for start, publisher in enumerate(publishers):
        until(lambda one=publisher: one.readers == 2)
        publisher.send_many(range(start * 100, start * 100 + 100))
    closing = [in_thread(publisher.close) for publisher in publishers]
    for thread in closing + [thread for thread, _ in readers]:
        thread.join(20)
        assert not thread.is_alive()
    assert sorted(n for _, taken in readers for n in taken) == list(range(200))


def test_messages_larger_than_the_window_together_wait_for_room(ends):
    """Free demand is there, and no room: 40 messages of 100 kB, and a window of 512 KiB."""
    reader = ends.subscriber(bytes, prefetch=40)
    publisher = ends.publisher(bytes)
    data = bytes(100_000)
    sends = in_thread(publisher.send_many, [data] * 40)
    for _ in range(40):
        assert len(reader.get(timeout_s=10).item) == len(data)
    sends.join(10)
    assert not sends.is_alive()


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_large_messages_take_their_turn(ends, medium):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if medium == "udp" else None
    reader = ends.subscriber(bytes, prefetch=2, channel=channel)
    publisher = ends.publisher(bytes, channel=channel)
    lengths = [3 << 20, 10, 1 << 20]
    sends = in_thread(publisher.send_many, [bytes(length) for length in lengths])
    assert [len(reader.get(timeout_s=20).item) for _ in lengths] == lengths
    sends.join(10)


def test_a_message_that_never_fits_is_refused(ends, monkeypatch):
    longest = 1 << 20
    lanes = functools.partial(stream.publisher, max_message_length=longest)
    monkeypatch.setattr(stream, "publisher", lanes)
    ends.subscriber(bytes, prefetch=2)
    publisher = ends.publisher(bytes)
    publisher.send(b"")
    with pytest.raises(MessageTooLarge):
        publisher.send(bytes(longest))  # and its head
    assert publisher.unacknowledged == 1


def test_at_most_so_many_are_unacknowledged(ends):
    reader = ends.subscriber(prefetch=100)
    publisher = ends.publisher(unacknowledged_max=3)
    for n in range(3):
        publisher.send(n)
    assert not publisher.offer(3)
    reader.get(timeout_s=5)
    reader.get(timeout_s=5)
    reader.get(timeout_s=5)
    until(lambda: publisher.offer(4))


def test_many_threads_send_and_acknowledge(ends):
    taken, lock = [], threading.Lock()

    def read(jobs):
        for job in jobs:
            with lock:
                taken.append(job.item)
            job.ack()

    readers = [in_thread(read, ends.subscriber(prefetch=8)) for _ in range(3)]
    publisher = ends.publisher()
    senders = [
        in_thread(publisher.send_many, range(start, start + 500)) for start in (0, 500, 1000)
    ]
    for thread in senders:
        thread.join(20)
    publisher.close()
    for thread in readers:
        thread.join(20)
    assert sorted(taken) == list(range(1500))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prefetch": 0}, "prefetch"),
        ({"acknowledge": "never"}, "acknowledge"),
        ({"channel": []}, "channel"),
        ({"channel": "aeron:udp?control=127.0.0.1:1"}, "endpoint"),
        ({"channel": ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:1"]}, "channel"),
        ({"codec": "pickle"}, "trust"),
    ],
)
def test_a_reader_refuses_what_it_cannot_use(options, text):
    with pytest.raises(ConfigError, match=text):
        work.subscriber("jobs", **options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"redeliver": "yes"}, ConfigError),
        ({"deliveries_max": 0}, ConfigError),
        ({"unacknowledged_max": 0}, ConfigError),
        ({"linger_s": float("nan")}, ConfigError),
        ({"channel": "aeron-spy:aeron:ipc"}, ChannelError),
        ({"channel": "aeron:udp?endpoint=224.0.1.1:4000"}, NotSupported),
        ({"prefetch": 1}, TypeError),
    ],
)
def test_a_publisher_refuses_what_it_cannot_use(options, error):
    with pytest.raises(error):
        work.publisher("jobs", **options)


def test_a_number_is_no_name():
    with pytest.raises(ConfigError, match="stream id"):
        work.publisher(7)


def test_an_end_that_is_not_closed_says_so_and_leaves(driver_dir, name):
    with pytest.warns(ResourceWarning, match="was not closed; made at .*test_work.py"):
        publisher = work.publisher(name, dir=driver_dir)
        threads = [publisher._giving._caretaker._thread]
        del publisher
        gc.collect()
        until(lambda: not threads[0].is_alive())
    with pytest.warns(ResourceWarning, match="was not closed; made at .*test_work.py"):
        subscriber = work.subscriber(name, dir=driver_dir)
        threads = [subscriber._taking._reporter._thread]
        del subscriber
        gc.collect()
        assert not threads[0].is_alive()


def test_in_a_forked_child_it_says_so(ends, monkeypatch):
    publisher = ends.publisher()
    monkeypatch.setattr(publisher._giving, "_pid", -1)
    with pytest.raises(ForkedError):
        publisher.send(1)
    monkeypatch.undo()


def test_a_block_that_found_no_reader_does_not_wait_for_acknowledgements(ends):
    reader, publisher = ends.subscriber(), ends.publisher(linger_s=60)
    began_s = time.monotonic()
    with pytest.raises(NotConnected), publisher:
        publisher.send(1)
        reader.get(timeout_s=5)
        reader.close()
        until(lambda: publisher.send(2, timeout_s=0.2) and False)
    assert time.monotonic() - began_s < 20
    assert [event.item for event in publisher.events() if isinstance(event, work.Unfinished)]


def test_many_messages_that_are_not_sent_again_take_one_line(ends, caplog):
    reader = ends.subscriber(acknowledge="explicit", prefetch=20)
    publisher = ends.publisher(linger_s=0)
    publisher.send_many(range(20))
    until(lambda: reader.get(timeout_s=5).item == 19)
    publisher.close()
    assert len(publisher.events()) == 20
    (line,) = [text for text in caplog.messages if "not sent again" in text]
    assert "messages 1, 2, 3, 4, 5 and 15 more are not sent again: closed before" in line


class Lane:
    """A lane that still seems to have its reader."""

    is_connected = True

    def fail(self, error, *, linger_s=None):
        self.error = error


class Reports:
    """One look at the reports of readers."""

    def __init__(self, events, reports):
        self._events, self._reports = events, reports

    def poll_held(self, _):
        return self._reports

    def held_places(self):
        return [(report.session, 0) for report in self._reports]

    def events(self):
        return self._events


def one_look(lane, events, reports):
    """The desk after a look at these reports; the reader has message 1 on this lane."""
    desk = WorkDesk(redelivers=True, deliveries_max=None, losses_max=None, on_unfinished=print)
    seat = ReaderSeat(1, lane, report_of(7, session=1))
    desk.add(seat)
    seat.give(Message(b"", 1))
    seat.was_connected = True
    readers = ReportedReaders.__new__(ReportedReaders)
    Seating.__init__(readers, desk, Condition(), "work")
    readers._reports, readers._codec_id = Reports(events, reports), 99
    readers._chosen = SimpleNamespace(uri="aeron:ipc")
    readers._sources, readers._reader_of = {}, {}
    readers.update()
    return desk


def test_a_reader_that_joins_a_driver_again_first_has_not_died(caplog):
    anew = SessionChanged(old_session_id=0, new_session_id=0, reason="driver lost")
    desk = one_look(Lane(), [anew], [report_of(7, session=2)])
    assert [message.losses for message in desk.waiting] == [0]
    assert "died" not in caplog.text
    desk = one_look(Lane(), [], [report_of(7, session=2)])
    assert [message.losses for message in desk.suspects] == [1]
    assert "reader died with message 1 in hand" in caplog.text


def test_a_lane_that_loses_its_driver_first_is_no_death_of_its_reader(
    make_driver_dir, name, caplog
):
    directory = make_driver_dir()
    with rstream.Driver(dir=directory):
        lane = stream.publisher(name, bytes, dir=directory, linger_s=0)
    until(lambda: not lane.has_session)
    desk = one_look(lane, [], [])
    assert [message.losses for message in desk.waiting] == [0]
    assert "died" not in caplog.text
    lane.close()
