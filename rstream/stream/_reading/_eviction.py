"""``policy.Evict``: its channel parameters, and the events and error of an evicted consumer.

The driver watches the consumer (``transport_ext/driver/conductor/eviction.c``), so a consumer
whose process hangs is evicted too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rstream._channel_uri import ChannelUri
from rstream.errors import SlowConsumer
from rstream.stream._events import Evicted
from rstream.stream._reading._gaps import EVICTED
from rstream.stream._reading._inputs import RETURN_S

if TYPE_CHECKING:
    from rstream.errors import ClientTimedOut
    from rstream.policy import Evict
    from rstream.stream._reading._images import Images
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._inputs import Inputs
    from rstream.stream._reading._joining import Joining
    from rstream.stream._reading._peers import Left
    from rstream.stream._reading._report import Report


def evicting_channel(uri: str, evict: Evict | None) -> str:
    """The channel with what the policy asks of the driver.

    ``rs-evict`` is ours. Beside a driver of Aeron's its untethered subscription does the next best:
    there the time-outs count in shared memory only when the publication's channel has them.
    """
    if evict is None:
        return uri
    after_ns = round(evict.after_s * 1e9)
    wanted = ChannelUri.parse(uri).with_defaults(
        {
            "tether": "false",
            "untethered-window-limit-timeout": f"{after_ns - after_ns // 4}ns",
            "untethered-linger-timeout": f"{after_ns // 4}ns",
            "rs-evict": f"{after_ns}ns",
        }
    )
    return str(wanted)


class Eviction:
    """What a reader does when the driver lets it go. The thread that holds the reader's turn uses
    it.

    Args:
        policy: of the program; None: the driver lets this reader never go.
        report, inputs, images: of the reader.
        joining: joins again.

    Attributes:
        policy: as the argument.
        failure: the stream was left for good; every poll raises it.
    """

    def __init__(
        self,
        policy: Evict | None,
        report: Report,
        inputs: Inputs,
        images: Images,
        joining: Joining,
    ) -> None:
        self.policy: Evict | None = policy
        self.failure: Exception | None = None
        self._report = report
        self._inputs = inputs
        self._images = images
        self._joining = joining

    def on_evicted(self, source: Input, policy: Evict, since_ms: int) -> None:
        """The driver has let this consumer go, from all publishers of a source at once."""
        delivered, error = evicted(self._report, source, policy, since_ms)
        if policy.rejoin:
            self._images.expect(delivered, EVICTED, time.monotonic() + RETURN_S, is_here=True)
            self._joining.do(lambda: self._inputs.join_one_again(source))
        else:
            self._fail(error)

    def on_timed_out(self, policy: Evict, error: ClientTimedOut) -> None:
        """The driver has given up the whole client, which was stopped for too long."""
        inputs, report = self._inputs, self._report
        report.evicted += 1
        if policy.rejoin:
            self._joining.rejoin(error)
            return
        failure = slow_consumer(repr(inputs), policy, round(time.time() * 1000))
        failure.__cause__ = error
        failure.channel, failure.stream_id = ", ".join(inputs.channels), report.stream_id
        self._fail(failure)

    def _fail(self, error: Exception) -> None:
        """Leave every subscription, so that no publisher waits; every poll raises the error."""
        self.failure = error
        self._inputs.leave_subscriptions()


def evicted(
    report: Report, source: Input, evict: Evict, since_ms: int
) -> tuple[dict[int, Left], SlowConsumer]:
    """Report that the driver has evicted this consumer from every publisher of a subscription.

    Args:
        since_ms: since when the stream goes on without it, milliseconds since 1970.
    Returns:
        Where each unfinished session is left, by session id; and the error for a consumer that does
        not join again.
    """
    report.evicted += 1
    delivered = source.left_at()
    for session_id, left in delivered.items():
        event = Evicted(session_id=session_id, position=left.position, since_ms=since_ms)
        report.events.append(event)
    session_id = max(delivered, key=lambda session: delivered[session].position, default=None)
    where = f"{report.title} on {source.channel}"
    if session_id is not None:
        where = f"{report.where(source, session_id)}, position {delivered[session_id].position}"
    error = slow_consumer(where, evict, since_ms)
    report.log("%s", error)
    error.channel, error.stream_id, error.session_id = source.channel, report.stream_id, session_id
    error.position = None if session_id is None else delivered[session_id].position
    return delivered, error


def slow_consumer(where: str, evict: Evict, since_ms: int) -> SlowConsumer:
    """The error of a consumer that was let go; the caller adds channel, session and position."""
    ago_s = max(0.0, time.time() - since_ms / 1000)
    since = time.strftime("%H:%M:%S", time.localtime(since_ms / 1000))
    return SlowConsumer(
        f"{where}: this consumer held the stream and stood still for {evict.after_s:g} s; the "
        f"stream goes on without it since {since}, {ago_s:.1f} s ago",
        hint="it joins again"
        if evict.rejoin
        else "open another subscriber, which gets what comes "
        "from then on; Evict(rejoin=True) does that by itself and reports the gap",
    )
