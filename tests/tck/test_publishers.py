"""Faces that read a stream, against the verification of publishers."""

from __future__ import annotations

import anyio.from_thread
import pytest

from rstream import rx, stream, tck
from rstream.abc import UNBOUNDED

from .faces import AioReading, Endpoints, Fed, Feed
from .media import IPC, LOSSY_UDP, NETWORK, UDP, drivers, numbers, over

NO_NETWORK = "aeron:udp?endpoint=203.0.113.1:1"  # an address of no machine

__all__ = ("drivers",)


class ReadingFace(tck.PublisherVerification):
    """The part that is the same for all faces."""

    timeout_s = 10.0
    collect_s = 3.0
    stochastic_runs = 3

    @pytest.fixture(autouse=True)
    def surroundings(self, drivers, medium):
        self.medium = medium
        self.dir = drivers.dir_of(medium)
        self.drivers = drivers
        self.feeds = []
        yield
        self.env.close()
        for feed in self.feeds:
            feed.stop()

    def read(self, name, **options):
        """The face as a publisher."""
        raise NotImplementedError

    def create_publisher(self, elements):
        name, channel = f"tck-{next(numbers)}", self.medium.channel()
        feed = Feed(
            lambda: stream.publisher(
                name, channel=channel, dir=self.dir, connect_timeout_s=1, linger_s=0
            ),
            elements,
        )
        self.feeds.append(feed)
        return Fed(self.read(name, channel=channel, dir=self.dir), feed)


class TestSource(ReadingFace):
    @pytest.fixture(params=over(IPC, *NETWORK, quick=(IPC, LOSSY_UDP)))
    def medium(self, request):
        return request.param

    def read(self, name, **options):
        return stream.source(name, **options)

    def create_failed_publisher(self):
        return stream.source(1, bytes, channel=NO_NETWORK, dir=self.dir)


class TestRxFromStream(ReadingFace):
    @pytest.fixture(params=over(IPC, *NETWORK, quick=(UDP,)))
    def medium(self, request):
        return request.param

    def read(self, name, **options):
        return rx.from_stream(name, **options).pipe(rx.to_publisher(4))

    def create_failed_publisher(self):
        return self.read(1, type=bytes, channel=NO_NETWORK, dir=self.dir)


class AioFace(ReadingFace):
    backend = ""

    @pytest.fixture(params=over(IPC, *NETWORK))
    def medium(self, request):
        return request.param

    @pytest.fixture(autouse=True)
    def loop(self):
        with anyio.from_thread.start_blocking_portal(self.backend) as self.portal:
            yield
            self.env.close()

    def read(self, name, **options):
        return AioReading(self.portal, name, **options)

    def create_failed_publisher(self):
        return self.read(1, type=bytes, channel=NO_NETWORK, dir=self.dir)


class TestAsyncioSubscriber(AioFace):
    backend = "asyncio"


class TestTrioSubscriber(AioFace):
    backend = "trio"


@pytest.mark.integration
class TestRayEndpoint(ReadingFace):
    """Without a completion: writers come and go, and an endpoint reads on."""

    @pytest.fixture(params=over(IPC, UDP, LOSSY_UDP))
    def medium(self, request):
        pytest.importorskip("ray", reason="Ray is not installed")
        return request.param

    def max_elements_from_publisher(self):
        return UNBOUNDED

    def create_publisher(self, elements):
        return Endpoints(self.medium, self.drivers, elements, self.feeds)
