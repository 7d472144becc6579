"""One poll of a reader: what publishers came or went, then one batch, its objects and errors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

from rstream._facts import COPIED_MAX
from rstream.errors import ClientTimedOut, DriverLost
from rstream.stream._reading._cut import Cut
from rstream.stream._reading._views import COPIED_BELOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from rstream import _core
    from rstream.stream._reading._decoding import Decoder
    from rstream.stream._reading._eviction import Eviction
    from rstream.stream._reading._gaps import Gaps
    from rstream.stream._reading._held import Held
    from rstream.stream._reading._images import Images
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._inputs import Inputs
    from rstream.stream._reading._joining import Joining
    from rstream.stream._reading._report import Report
    from rstream.stream._reading._rest import Rest
    from rstream.stream._reading._views import Views

__all__ = ("Intake",)

T = TypeVar("T")


class Intake(Generic[T]):
    """Takes what has arrived. The thread that holds the reader's turn uses it.

    Args:
        rest, held: where objects go, and their batch.
        report: where errors go.
        inputs: what is read.
        images: notes publishers that come and go.
        gaps, decoder, views: of the reader.
        eviction, joining: what is done when the driver lets the reader go, or is lost.
        is_demanded: no more messages are taken than the program has requested.

    Attributes:
        demand: of the last poll, if it was a reactive one.
        cut: the rest of a batch that has errors between its objects.
        messages: objects that were taken.
    """

    def __init__(
        self,
        rest: Rest[T],
        held: Held[T],
        report: Report,
        *,
        inputs: Inputs,
        images: Images,
        gaps: Gaps[T],
        decoder: Decoder[T],
        views: Views | None,
        eviction: Eviction,
        joining: Joining,
        is_demanded: bool,
    ) -> None:
        self.demand: int | None = None
        self.cut: Cut[T] | None = None
        self.messages: int = 0
        self._rest = rest
        self._held = held
        self._report = report
        self._inputs = inputs
        self._images = images
        self._gaps = gaps
        self._decoder = decoder
        self._views = views
        self._eviction = eviction
        self._joining = joining
        self._is_demanded = is_demanded
        self._next = 0  # the subscription with which the next poll begins

    def is_ready(self) -> bool:
        """Whether a poll would take something that the transport does not tell."""
        demand, cut = self.demand, self.cut
        return bool(
            self._report.errors
            or (cut is not None and cut.is_ready(demand))
            or self._joining.jobs
            or not self._inputs.joined
            or self._gaps.is_ready(demand)
        )

    def is_complete(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out."""
        if self._report.errors or self.cut is not None:
            return False
        if self._gaps.is_waiting or self._images.is_missing_some or self._rest.has_some():
            return False
        inputs = self._inputs
        if self._held.batch is None and any(source.core.is_taken for source in inputs.joined):
            return False  # the poll that took it was interrupted
        return inputs.all_completed_count > 0 and all(
            source.peers.open_count == 0 for source in inputs.joined
        )

    def poll(self, limit: int) -> None:
        """Make what has arrived the rest, which is empty, or add an error to the report."""
        eviction = self._eviction
        try:
            self.collect_events()
            joined = self._inputs.joined
            if self._report.errors or eviction.failure is not None or self._joining.jobs:
                return
            if self.cut is not None:
                self._take_cut(self.cut, limit if self.demand is None else self.demand)
            elif self._gaps.is_waiting:  # everything before the gap was handed out
                self._take_snapshot(limit if self.demand is None else self.demand)
            elif not joined:
                raise DriverLost("not joined")  # an earlier attempt to join again has failed
            elif len(joined) == 1:
                self._take(joined[0], limit)
            else:
                # The next poll begins with another channel, so that a busy one starves none.
                self._next = (self._next + 1) % len(joined)
                for source in joined[self._next :] + joined[: self._next]:
                    if self._take(source, limit):
                        break
        except ClientTimedOut as error:
            # Stopped for longer than the driver waits for any client: the policy decides.
            if eviction.policy is not None:
                eviction.on_timed_out(eviction.policy, error)
            else:
                self._joining.rejoin(error)
        except DriverLost as error:
            self._joining.rejoin(error)

    # ---- objects ----

    def _take(self, source: Input, limit: int) -> bool:
        """Take a batch of up to the limit, and make it the rest. False: there is no object in it,
        and no error.
        """
        core, chunk, views = source.core, source.chunk, self._views
        take = core.take_demanded if self._is_demanded else core.take
        batch = take(limit, COPIED_MAX if views is None else views.bytes_max)
        taken = len(batch)
        if chunk is not None and chunk.is_waiting != (taken == 0):
            source.note_wait(taken)
        if taken == 0:
            return False
        payloads: Sequence[Buffer] = batch.to_list() if views is None else batch.views(COPIED_BELOW)
        if self._eviction.policy is not None and not batch.is_intact:
            batch.consumed = -1
            return False  # evicted while it was read: the driver may have changed the bytes
        rest, held, decoder = self._rest, self._held, self._decoder
        items = decoder.decode(source, batch, payloads)
        left, count, moved, cut = iter(items), len(items), decoder.moved, None
        if decoder.errors:
            cut = Cut(source, batch, items, decoder.indexes, decoder.errors)
            self.cut = cut
        else:
            rest.polled, held.batch = items, (source, batch, count, decoder.indexes, None)
            rest.left, rest.end, rest.base = left, count, 0
            self.messages += count
        if chunk is not None:
            chunk.outstanding -= taken
        for peer, position in moved:
            peer.position, peer.again_until = position, 0
        if cut is not None:
            self._take_cut(cut, limit)
        elif count == 0:
            held.count(0)  # messages that are none of the program's
        return cut is not None or count > 0

    def _take_cut(self, cut: Cut[T], limit: int) -> None:
        """Take the next error of a batch into the report, or else its objects up to an error."""
        rest, held = self._rest, self._held
        if cut.is_error_next:
            end, errors = cut.error_end(), self._report.errors
            cut.batch.consumed = end
            errors += (cut.errors[-1][1],)
            del cut.errors[-1]
        elif count := cut.count(limit):
            items = cut.items[:count]
            part = cut.source, cut.batch, count, cut.indexes[:count], cut.end(count)
            left = iter(items)
            held.batch = part
            rest.left, rest.end, rest.base = left, count, 0
            self.messages += count
            # Nothing here may refer to objects that were handed out: a view holds its publisher.
            del cut.items[:count], cut.indexes[:count]
        if cut.is_used_up:
            self.cut = None
            if held.batch is None:
                cut.source.tell_demand()

    def _take_snapshot(self, limit: int) -> None:
        """Handle a gap, and take what the program's function makes of it."""
        rest, gaps = self._rest, self._gaps
        items = gaps.handle(limit)
        left, count, snapshot = iter(items), len(items), gaps.snapshot
        rest.left, rest.end, rest.base = left, count, 0
        del snapshot[:count]

    # ---- events ----

    def collect_events(self) -> None:
        """Note what the transport tells of publishers."""
        if self._joining.jobs or self.cut is not None:  # what a cut still has came before
            return
        inputs, images = self._inputs, self._images
        if images.is_missing_some:
            images.report_missing(time.monotonic())
        for source in inputs.joined:
            while (event := source.core.peek_event()) is not None:
                if self._on_event(source, event):
                    self.collect_events()  # of those that are joined now
                    return
                source.core.drop_event()  # an event whose noting was interrupted is noted again

    def _on_event(self, source: Input, event: _core.ImageEvent) -> bool:
        """Note an event of the transport; True: the driver has let this reader go."""
        images, evict = self._images, self._eviction.policy
        if event.kind == "gap":
            images.on_skipped(event)
        elif event.kind == "skipped":
            images.on_message_skipped(source, event)
        elif event.kind != "available" and not self._inputs.link.is_alive:
            pass  # its publisher may live: the rejoin reports the gap
        elif event.evicted_ms and evict is not None:
            self._eviction.on_evicted(source, evict, event.evicted_ms)
            return True  # the source is closed
        elif event.goes_on_at:
            images.on_overrun(source, event.session_id, event.position, event.goes_on_at)
        elif event.kind == "available":
            images.on_available(
                source,
                event.session_id,
                event.position,
                event.source,
                event.initial_term_id,
                event.correlation_id,
            )
        else:
            images.on_unavailable(
                source,
                event.session_id,
                event.position,
                event.end_position,
                event.received_position,
            )
        return False
