"""A logging handler may use the publishers that tell something: no recursion, no deadlock.

The handlers are those that people write: one that sends each record into a stream, and one with a
lock that a sending thread holds.
"""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack, contextmanager

import pytest

from rstream import stream, work
from rstream.errors import NotConnected, RStreamError
from rstream.stream._internal import sending_of
from rstream.stream._sending import _waiting
from rstream.work import _giving
from tests.support import in_thread, until

OPEN = {"stream": stream.publisher, "work": work.publisher}


@pytest.fixture(autouse=True)
def told_soon(monkeypatch):
    """The notice that a publisher waits comes after a tenth of a second."""
    monkeypatch.setattr(_waiting, "NOTICE_AFTER_S", 0.1)
    monkeypatch.setattr(_giving, "NOTICE_AFTER_S", 0.1)


class Handler(logging.Handler):
    """Calls the function with each text, and keeps the texts that have come."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())
        self.function(self.texts[-1])


@contextmanager
def handled(handler):
    logger = logging.getLogger("rstream")
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


@pytest.mark.parametrize("face", OPEN)
def test_a_notice_inside_a_notice_is_not_logged(driver_dir, name, face):
    pub = OPEN[face](name, dir=driver_dir)
    errors = []

    def send(text):
        try:
            pub.send(text, timeout_s=0.5)
        except RStreamError as error:
            errors.append(error)

    with handled(Handler(send)) as handler, pytest.raises(NotConnected):
        pub.send("first", timeout_s=1.0)
    assert len(handler.texts) == len(errors) == 1
    assert "waits for a" in handler.texts[0]
    with handled(Handler(lambda _: None)) as handler, pytest.raises(NotConnected):
        pub.send("second", timeout_s=1.0)
    assert len(handler.texts) == 1, "each wait has its notice"
    pub.close(linger_s=0)


@pytest.mark.parametrize("face", OPEN)
def test_handlers_that_send_do_not_have_each_other_notice(driver_dir, name, face):
    pubs = [OPEN[face](f"{name}-{number}", dir=driver_dir) for number in range(3)]

    def sender(pub):
        def send(text):
            with pytest.raises(NotConnected):
                pub.send(text, timeout_s=0.3)

        return send

    with ExitStack() as stack:
        handlers = [stack.enter_context(handled(Handler(sender(pub)))) for pub in pubs]
        logging.getLogger("rstream").warning("one line")
    # The line, and the notice of each of the three waits for it.
    assert [len(handler.texts) for handler in handlers] == [4, 4, 4]
    for pub in pubs:
        pub.close(linger_s=0)


@pytest.mark.parametrize("face", OPEN)
def test_a_handler_may_wait_for_a_thread_that_sends(driver_dir, name, face):
    pub = OPEN[face](name, dir=driver_dir)
    lock, is_logging = threading.Lock(), threading.Event()

    def wait(_text):
        is_logging.set()
        with lock:
            pass

    def send():
        with pytest.raises(NotConnected):
            pub.send(1, timeout_s=1.0)

    with handled(Handler(wait)) as handler, lock:
        waiting = in_thread(send)
        assert is_logging.wait(10.0)
        offering = in_thread(pub.offer, 2)
        offering.join(5.0)
        assert not offering.is_alive(), "the notice is logged while the publisher's lock is held"
    waiting.join(10.0)
    assert len(handler.texts) == 1
    pub.close(linger_s=0)


def test_a_record_is_not_kept_back_by_the_short_way(driver_dir, name):
    pub = stream.publisher(name, dir=driver_dir, linger_s=0)
    reader = stream.subscriber(name, dir=driver_dir)
    pub.send(1)
    with handled(Handler(lambda _: None)) as handler:
        sending_of(pub).session.logs.log("said under the lock")
        assert sending_of(pub).state.direct is None
        pub.send(2)
        assert handler.texts == ["said under the lock"]
        assert sending_of(pub).state.direct is not None
    assert [reader.get(timeout_s=10.0) for _ in range(2)] == [1, 2]
    reader.close()
    pub.close()


def test_unfinished_work_is_logged_without_the_lock(driver_dir, name):
    pub = work.publisher(name, dir=driver_dir, linger_s=0)
    jobs = work.subscriber(name, dir=driver_dir)
    pub.send(1, timeout_s=10.0)
    seen = []

    def look(_text):
        looking = in_thread(lambda: seen.append(pub.statistics()))
        looking.join(5.0)

    with handled(Handler(look)) as handler:
        pub.close()
        until(lambda: handler.texts)
    assert any("is not sent again" in text for text in handler.texts)
    assert len(seen) == len(handler.texts)
    jobs.close()
