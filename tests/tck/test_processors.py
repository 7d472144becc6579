"""Processors, against the verification of identity processors; streams are processors too."""

from __future__ import annotations

import pytest

from rstream import stream, tck
from rstream.tck._runner import named

from .faces import Bridge, Driven, FarEnd
from .media import IPC, LOSSY_UDP, UDP, drivers, numbers, over

__all__ = ("drivers",)


class Identity(tck.IdentityProcessorVerification):
    timeout_s = 5.0
    stochastic_runs = 3

    def create_element(self, number):
        return number


class TestMapProcessor(Identity):
    """In process: ``rstream.stream.processor``."""

    def create_identity_processor(self, buffer_size):
        return stream.processor(lambda item: item)

    def create_failed_publisher(self):
        processor = self.create_identity_processor(1)
        processor.on_error(RuntimeError("upstream has failed"))
        return processor

    def max_supported_subscribers(self):
        return 1


@named(
    _one_by_one=(
        "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequence"
        "ToAllOfItsSubscribersWhenRequestingOneByOne"
    )
)
class TestStream(Identity):
    """A sink, a stream and a source, as one processor. Its slowest reader holds it.

    Over multicast nobody tells a demand, so a test of requests would prove nothing there.
    """

    timeout_s = 10.0
    collect_s = 3.0

    @pytest.fixture(params=over(IPC, UDP, LOSSY_UDP, quick=(IPC,)))
    def medium(self, request):
        return request.param

    @pytest.fixture(autouse=True)
    def surroundings(self, drivers, medium):
        self.medium = medium
        self.dir = drivers.dir_of(medium)
        self.bridges = []
        yield
        for bridge in self.bridges:
            bridge.sink.cancel()  # first: it may be waiting for a reader that has left
        self.env.close()

    def create_identity_processor(self, buffer_size):
        address = {"channel": self.medium.channel(), "dir": self.dir}
        self.bridges.append(Bridge(f"tck-{next(numbers)}", buffer_size, **address))
        return self.bridges[-1]

    def create_subscriber(self, probe):
        """A sink outlives its readers, so the probe cancels the sink itself."""
        bridge, far = self.create_identity_processor(self.buffer_size), FarEnd(probe)
        bridge.subscribe(far)
        return Driven(bridge.sink, far, probe)

    def does_coordinated_emission(self):
        return True

    def optional_spec105_emptyStreamMustTerminateBySignallingOnComplete(self):
        pytest.skip("a stream that completes before a reader comes tells it nothing")

    def _one_by_one(self):
        pytest.skip("an element goes out when every reader has asked for it")

    def is_same_error(self, sent, reported):
        """An error crosses as its text."""
        return f"{type(sent).__name__}: {sent}" in str(reported)
