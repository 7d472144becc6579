"""StreamSource against the publisher tests, over shared memory and UDP."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from rstream import abc, stream
from rstream.errors import RStreamError
from tests.support import free_port

from .publisher_verification import INFINITE, PublisherVerification

_numbers = itertools.count()


class Feed(abc.Publisher):
    """A publisher of exactly n elements: a thread sends them when the subscriber is connected."""

    def __init__(self, inner, open_publisher, elements, threads):
        self.inner = inner
        self.open_publisher = open_publisher
        self.elements = elements
        self.threads = threads

    def subscribe(self, subscriber):
        self.inner.subscribe(subscriber)
        thread = threading.Thread(target=self.send, daemon=True)
        self.threads.append(thread)
        thread.start()

    def send(self):
        publisher = self.open_publisher()
        try:
            numbers = itertools.count() if self.elements == INFINITE else range(self.elements)
            while not publisher.is_connected:
                time.sleep(0.001)
                if self.stop.is_set():
                    return
            for number in numbers:
                publisher.send(number)
                if self.stop.is_set():
                    return
        except RStreamError:
            pass  # the subscriber has gone, which many tests want
        finally:
            publisher.close(linger_s=0)


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


class StreamSourceTests(PublisherVerification):
    """The part that is the same for all media."""

    @pytest.fixture(autouse=True)
    def surroundings(self, driver_dir):
        self.driver_dir = driver_dir
        self.threads = []
        self.stop = threading.Event()
        yield
        self.stop.set()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()

    def channel(self):
        raise NotImplementedError

    def create_publisher(self, elements):
        name, channel = f"tck-{next(_numbers)}", self.channel()
        feed = Feed(
            stream.source(name, channel=channel, dir=self.driver_dir),
            lambda: stream.publisher(
                name, channel=channel, dir=self.driver_dir, connect_timeout_s=1, linger_s=0
            ),
            elements,
            self.threads,
        )
        feed.stop = self.stop
        return feed

    def create_failed_publisher(self):
        return stream.source(
            1, bytes, channel="aeron:udp?endpoint=203.0.113.1:1", dir=self.driver_dir
        )


class TestOverSharedMemory(StreamSourceTests):
    def channel(self):
        return "aeron:ipc?term-length=64k"


class TestOverUdp(StreamSourceTests):
    def channel(self):
        return f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
