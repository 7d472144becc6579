"""RxPY: streams as Observables, and the operator that sends.

Plain ``reactivex.Observable``; demand is handled at the edges. Items are delivered in the reading
thread, so the pipeline's own slowness is the back-pressure: while it works, nothing is read, the
window fills and the publisher waits. ``observe_on`` and asynchronous ``flat_map`` of Rx queue
without bound and so hide it; put ``on_slow=rstream.policy.Buffer(n)`` at the stream instead.
"""

from __future__ import annotations

from rstream.rx._endpoint import EndpointLike, from_endpoint
from rstream.rx._observable import from_reader, from_stream
from rstream.rx._operators import to_stream

__all__ = ("EndpointLike", "from_endpoint", "from_reader", "from_stream", "to_stream")
