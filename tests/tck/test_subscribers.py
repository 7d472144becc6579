"""Faces that send into a stream, against the verifications of subscribers."""

from __future__ import annotations

import pytest

from rstream import stream, tck
from rstream.abc import UNBOUNDED
from rstream.testing import TestSubscriber
from tests.support import until

from .faces import AioSending, Driven, FarEnd, from_publisher, to_stream
from .media import IPC, LOSSY_UDP, NETWORK, UDP, drivers, numbers, over

__all__ = ("drivers",)


class SendingFace(tck.SubscriberBlackboxVerification):
    """The part that is the same for all faces: a reader at the far end, which takes everything."""

    timeout_s = 10.0

    @pytest.fixture(autouse=True)
    def surroundings(self, drivers, medium):
        self.medium = medium
        self.dir = drivers.dir_of(medium)
        self.readers = []
        self.subjects = []
        yield
        for subject in self.subjects:
            self.end(subject)
        for reader in self.readers:
            reader.cancel()  # a stream that ended before they met has told it nothing
            # Whatever arrived is what was sent, from the first on, each once.
            assert reader.values == list(range(len(reader.values)))
            reader.assert_no_violations()

    def address(self):
        return {"channel": self.medium.channel(), "dir": self.dir}

    def send(self, name, **options):
        """The face as a subscriber."""
        raise NotImplementedError

    def end(self, subject):
        """Complete the stream of a subscriber that the test has left open."""
        subject.on_complete()

    def create_element(self, number):
        return number

    def create_subscriber(self):
        name, address = f"tck-{next(numbers)}", self.address()
        reader = TestSubscriber(initial_request=UNBOUNDED)
        stream.source(name, **address).subscribe(reader)
        self.readers.append(reader)
        self.subjects.append(self.send(name, linger_s=1, **address))
        return self.subjects[-1]

    def required_spec201_blackbox_mustDeliverWhatItAskedFor(self):
        """Ours: every element that it requested comes out at the far end."""
        subscriber, upstream = self._start_requesting()
        count = 100
        for number in range(count):
            upstream.expect_requested(number + 1)
            subscriber.on_next(number)
        self.readers[0].await_count(count, timeout_s=20)
        subscriber.on_complete()
        self.readers[0].await_end(timeout_s=20)
        self.readers[0].assert_complete()


class TestSink(SendingFace):
    @pytest.fixture(params=over(IPC, *NETWORK, quick=(IPC,)))
    def medium(self, request):
        return request.param

    def send(self, name, **options):
        return stream.sink(name, window=4, **options)

    def end(self, subject):
        subject.cancel()


class TestRxToStream(SendingFace):
    @pytest.fixture(params=over(IPC, *NETWORK))
    def medium(self, request):
        return request.param

    def send(self, name, **options):
        return to_stream(name, **options)


class TestRxFromPublisher(tck.SubscriberBlackboxVerification):
    """In process: the subscriber inside an Observable of a publisher."""

    def create_subscriber(self):
        return from_publisher()

    def create_element(self, number):
        return number


class AioFace(SendingFace):
    backend = ""

    @pytest.fixture(params=over(IPC, *NETWORK))
    def medium(self, request):
        return request.param

    def send(self, name, **options):
        return AioSending(self.backend, name, **options)

    def end(self, subject):
        subject.close()


class TestAsyncioPublisher(AioFace):
    backend = "asyncio"


class TestTrioPublisher(AioFace):
    backend = "trio"


class TestSinkInside(tck.SubscriberWhiteboxVerification):
    """A sink asks for what the reader at the far end has requested, and the probe is that reader.

    Groups do not tell their demand, so there is no such test over multicast.
    """

    timeout_s = 10.0

    @pytest.fixture(params=over(IPC, UDP, LOSSY_UDP, quick=(IPC, LOSSY_UDP)))
    def medium(self, request):
        return request.param

    @pytest.fixture(autouse=True)
    def surroundings(self, drivers, medium):
        self.medium = medium
        self.dir = drivers.dir_of(medium)
        self.sinks = []
        yield
        for sink, far in self.sinks:
            sink.cancel()
            far.subscription.cancel()

    def create_element(self, number):
        return number

    def create_subscriber(self, probe):
        name, far = f"tck-{next(numbers)}", FarEnd(probe)
        address = {"channel": self.medium.channel(), "dir": self.dir}
        stream.source(name, **address).subscribe(far)
        sink = stream.sink(name, window=4, linger_s=1, **address)
        self.sinks.append((sink, far))
        until(lambda: sink.publisher.is_connected)
        return Driven(sink, far, probe)

    def is_same_error(self, sent, reported):
        """An error crosses as its text."""
        return f"{type(sent).__name__}: {sent}" in str(reported)
