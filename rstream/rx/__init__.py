"""RxPY: streams as Observables, and an operator that sends.

The Observables are plain ``reactivex.Observable``. Items are delivered in the reading thread, so a
slow pipeline slows the publisher down: while it works nothing is read, the window fills, and the
publisher waits. ``observe_on`` and asynchronous ``flat_map`` queue without a limit and hide that;
give the stream ``on_slow=rstream.policy.Buffer(n)`` instead::

    rx.from_stream("ticks").pipe(ops.map(score), rx.to_stream("scores")).run()
"""

from __future__ import annotations

from rstream.rx._endpoint import EndpointLike, from_endpoint
from rstream.rx._observable import from_reader, from_stream
from rstream.rx._operators import to_stream

__all__ = ("EndpointLike", "from_endpoint", "from_reader", "from_stream", "to_stream")
