"""A reader: several transport subscriptions of one stream, one wait, objects out.

Theory of operation. One poll goes through these steps:

    _images.py    publishers that came or went since the last poll  -> events, gaps, errors
    _gaps.py      a gap is raised, or filled by the user's function
    _inputs.py    one batch, of one transport subscription; the next poll begins with another
    _decoding.py  headers are checked, control messages are taken out, payloads are decoded
    _cut.py       a batch with messages that cannot be used ends at the first one for this poll
    _reader.py    objects are returned, or the oldest error is raised

Demand. Publishers that make elements on demand (sinks) are told how many this reader wants behind
what it has consumed. For a subscriber of the Reactive Streams contract that is what it requested
(``is_demanded``). For every other face it is a chunk (``flow/chunk.py``, ``_input.py``), renewed
when half of it is used; it limits no poll, because what has arrived is there to be read.

Errors and objects keep their order. An error of a message (it cannot be decoded, its publisher has
failed) is raised between the objects before it and those behind it. Other errors (a publisher was
lost, a message in parts is skipped) are found by the next poll, which raises them before it takes
anything new. So an error never overtakes an object of its session, and never waits behind more than
one poll.

One turn, ``_turn``, is held by the thread inside ``poll``, ``wait`` or ``close``; a second thread
in ``poll`` or ``wait`` gets ConcurrentUseError at once and does not wait. So everything above
belongs to one thread at a time. Without the turn another thread only wakes the waiter, raises the
demand of the first subscription, and takes events out of the report.

A signal handler runs in the thread that it interrupts, perhaps in the middle of a poll. Another
poll there gets the same error, and ``close`` leaves the handles to the call that it interrupted.

The handler may raise, and then the poll ends where it is. CPython runs handlers where a function
begins, where a loop jumps back, and after a call, and at no other instruction. So what belongs
together is set side by side, without a call between:

* A batch belongs to the transport until it was decoded (``Subscription.take`` gives it again). Then
  its objects become the rest, with all that is to be counted for them.
* What is handed out is taken from the rest by the last instructions before ``return``. How much of
  the rest is left says what the program was given, and only that is counted as consumed.
* An event of the transport is there until it was noted; an error, until it is raised.

``_eviction.py`` and ``_inputs.py`` join again: one subscription when the driver has let this
reader go, all of them when the driver was lost. That may take as long as a driver needs to start.
The poll that finds the loss does it, or, in an event loop, a thread (``join_again``).
"""

from __future__ import annotations

import logging
import os
import re
import time
import weakref
from contextlib import suppress
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from rstream import _core
from rstream._checks import check_timeout
from rstream._facts import COPIED_MAX, fullest
from rstream._greenlets import check_may_wait
from rstream._process import before_exit, park_at_exit, quiet_when_torn_down
from rstream._unclosed import call_site
from rstream.abc import UNBOUNDED
from rstream.errors import (
    ClientTimedOut,
    ClosedError,
    ConcurrentUseError,
    DriverLost,
    RStreamError,
)
from rstream.stream import _session
from rstream.stream._cut import Cut
from rstream.stream._decoding import Decoder
from rstream.stream._eviction import evicted, slow_consumer
from rstream.stream._gaps import EVICTED, Gaps, OnGap
from rstream.stream._images import Images
from rstream.stream._inputs import RETURN_S, Inputs
from rstream.stream._loans import Lot
from rstream.stream._notices import ReaderNotices
from rstream.stream._options import PREFETCH
from rstream.stream._parts import MESSAGE_LENGTH
from rstream.stream._report import Report
from rstream.stream._subscriber import NOTHING, WAIT_FOREVER_S, Subscriber
from rstream.stream._views import COPIED_BELOW, Views, takes_views

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from rstream.codecs import Codec
    from rstream.policy import Evict
    from rstream.stream._events import StreamEvent
    from rstream.stream._input import Input
    from rstream.stream._options import Prefetch
    from rstream.stream._report import OnLost
    from rstream.stream._tally import Tally

__all__ = ("Reader",)

log = logging.getLogger("rstream")

T = TypeVar("T")

_HeldBatch: TypeAlias = "tuple[Input, _core.Batch, int, list[int] | None, int | None]"

#: How often a wait looks whether it was closed.
WAIT_SLICE_S = 0.5
#: Longest text of an error for publishers, in bytes: what Aeron's error frame takes.
REASON_BYTES_MAX = 1023
#: How often a close looks whether another thread has left poll.
LEAVE_PAUSE_S = 0.001
#: Most messages of one transport batch.
LIMIT_MAX = 65_536


class Reader(Subscriber[T], Generic[T]):
    """Reads one stream from one or more channels; made by :func:`rstream.stream.reader`.

    When the media driver dies, ``poll`` starts it again, joins, and reports per publisher a
    :class:`Gap` from the last position handed out. A UDP port that was chosen by the system is
    kept.
    """

    _has_left: bool = True
    is_given: bool = True
    #: Seconds that a wait looks, and yields, before it sleeps. For who expects an answer soon.
    look_s: float = 0.0

    def __init__(
        self,
        link: _session.Link,
        *,
        name: str,
        channels: Sequence[str],
        stream_id: int,
        codec: Codec[T],
        prefetch: Prefetch,
        on_lost: OnLost,
        is_demanded: bool = False,
        hold: bool = False,
        evict: Evict | None = None,
        on_gap: OnGap = "raise",
        stays: bool = False,
        max_message_length: int = MESSAGE_LENGTH,
    ) -> None:
        self.name: str = name
        self.stream_id: int = stream_id
        self.prefetch: int = min(PREFETCH if prefetch == "auto" else prefetch, LIMIT_MAX)
        self._demand_most = UNBOUNDED if prefetch == "auto" else prefetch
        self._is_demanded = is_demanded
        self._stays = stays
        self._hold = hold
        self.in_hand: int = int(hold)
        self._evict = evict
        self._failure: Exception | None = None  # evicted: the stream was left for good
        self._demand: int | None = None  # of the last poll, if it was a reactive one
        self._reason: str | None = None  # why it leaves, for publishers
        self._is_rejection = False  # which fails them
        self._messages = self._polls = 0
        self._next = 0
        # What the last poll took and does not count as consumed as a whole: source, batch, number
        # of objects, the message of each (None: all, in order), and how many messages are consumed
        # then (None: all).
        self._held: _HeldBatch | None = None
        self._polled: list[T] | None = None  # the objects of the last poll, if all are left
        self._cut: Cut[T] | None = None  # the rest of a batch that has errors between its objects
        self.made_at: str = call_site()
        self._pid = os.getpid()
        self._joins: list[Callable[[], None]] = []  # for join_again
        self._report = Report(name, stream_id, on_lost)
        self._gaps: Gaps[T] = Gaps(self._report, on_gap)
        self._images = Images(self._report, self._gaps, link.directory)
        self._decoder = Decoder(self._report, codec, link.directory)
        self._views = Views(self._report.title) if takes_views(codec) else None
        self._inputs = Inputs(
            link,
            self._report,
            self._images,
            channels=channels,
            prefetch=None if is_demanded else prefetch,
            max_message_length=max_message_length,
            takes_views=self._views is not None,
        )
        self._notices = ReaderNotices(name, self._report, self._inputs)
        self._turn = _core.Turn(repr(self))  # held by the thread inside poll, wait or close
        self._closed = self._has_left = False  # the second one under the turn
        _open_readers.add(self)

    def __repr__(self) -> str:
        channels = ", ".join(source.channel for source in self._inputs.joined)
        return f"<rstream.stream.Reader {self.name or self.stream_id!r} on {channels or 'nothing'}>"

    @property
    def _stream_title(self) -> str:
        channels = ", ".join(source.channel for source in self._inputs.joined)
        title = self._report.title
        return f"{title} on {channels}" if channels and not self._report.owner else title

    # ---- facts ----

    @property
    def channel(self) -> str:
        """The channels, for people."""
        return ", ".join(self._inputs.channels)

    @property
    def subscriptions(self) -> list[_core.Subscription]:
        """The transport subscriptions, in the order of the channels."""
        return [source.core for source in self._inputs.joined]

    @property
    def takes_views(self) -> bool:
        """Whether its objects may be views of the transport's memory."""
        return self._views is not None

    @property
    def is_connected(self) -> bool:
        return any(source.core.is_connected for source in self._inputs.joined)

    @property
    def is_ended(self) -> bool:
        return not self._stays and self._is_complete

    @property
    def _is_complete(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out."""
        if self._report.errors or self._cut is not None:
            return False
        if self._gaps.is_waiting or self._images.is_missing_some or self.has_rest():
            return False
        inputs = self._inputs
        if self._held is None and any(source.core.is_taken for source in inputs.joined):
            return False  # the poll that took it was interrupted
        return inputs.all_completed_count > 0 and all(
            source.peers.open_count == 0 for source in inputs.joined
        )

    @property
    def demand(self) -> int:
        """Messages that publishers were asked for and that no poll has taken; of several channels
        the most.
        """
        return max((source.core.demand for source in self._inputs.joined), default=0)

    def events(self) -> list[StreamEvent]:
        with suppress(ConcurrentUseError), self._turn:  # else the reading thread collects them
            if not self._closed:
                self._collect_events()
                self._report.events += self._notices.refused_peers()
        return self.taken_events()

    def taken_events(self) -> list[StreamEvent]:
        """The events that polls have come across since the last call; any thread."""
        return self._report.take_events()

    def statistics(self) -> dict[str, int | float | bool]:
        inputs, report = self._inputs, self._report
        fill = fullest([] if self._closed else self.subscriptions)
        return {
            "messages": self._messages,
            "polls": self._polls,
            "refused": report.refused,
            "rejoins": inputs.rejoins,
            "fill_bytes": fill.fill_bytes,
            "window_bytes": fill.window_bytes,
            "demand": self.demand,
            "publishers": sum(len(source.peers.by_session) for source in inputs.joined),
            "completed": inputs.all_completed_count,
            "is_connected": not self._closed and self.is_connected,
            "waiting": 0,
            "capacity": 0,
            "dropped": 0,
            "conflated": 0,
            "evicted": report.evicted,
            "overruns": report.overruns,
            "gaps": report.gaps,
            "skipped_bytes": report.skipped_bytes,
            "partial_bytes": 0 if self._closed else self._partial_bytes(),
            "view_bytes": 0 if self._views is None else self._views.held_bytes,
            "view_holds": 0 if self._views is None else self._views.holds,
        }

    def _partial_bytes(self) -> int:
        return sum(source.core.partial_bytes for source in self._inputs.joined)

    # ---- reading ----

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"{self._report.title}: this reader is closed")

    def poll(self, limit: int | None = None) -> list[T]:
        if not limit or limit > LIMIT_MAX:
            limit = LIMIT_MAX if limit else self.prefetch
        self._demand = None
        if self._closed or length_hint(self._rest) == 0:
            # A batch costs as much as twenty objects, so the next polls use the rest of this one.
            # The views of a batch, however, keep all of its memory.
            is_exact = limit > self.prefetch or self._hold or self._views is not None
            if not self._fill(limit if is_exact else self.prefetch):
                return []
        return self._hand_out(limit) if self._hold else self._hand_over(limit)

    def poll_held(self, limit: int | None) -> list[T]:
        limit = min(limit or self.prefetch, LIMIT_MAX)
        self._demand = None
        if self._closed or length_hint(self._rest) == 0:
            self._fill(limit)
        return self._hand_out(limit)

    def fill(self, limit: int | None) -> None:
        self._demand = None
        self._fill(min(limit or self.prefetch, LIMIT_MAX))
        # A view that a loop was given would live until the next poll.
        self._polled, self.is_given = None, True

    def _hand_out(self, limit: int) -> list[T]:
        """Take objects from the rest; :meth:`consume` counts them, or the next poll."""
        polled = self._polled
        if polled is not None and len(polled) <= limit:
            self._polled, self._rest, self.is_given = None, NOTHING, False
            return polled
        base = self._rest_end - length_hint(self._rest)
        chosen = islice(self._rest, limit)
        self._base, self._polled, self.is_given = base, None, False
        return [*chosen]

    def _hand_over(self, limit: int) -> list[T]:
        """Take objects from the rest, which count as consumed."""
        held, polled = self._held, self._polled
        if held is None:  # the program's function for gaps made them, or a tally counts them
            return self._hand_out(limit)
        if polled is None or len(polled) > limit:
            return self._hand_over_part(held, limit)
        source, batch, _, _, end = held
        source.tell_demand()
        self._rest, self._polled, self._held = NOTHING, None, None
        batch.consumed = -1 if end is None else end
        return polled

    def _hand_over_part(self, held: _HeldBatch, limit: int) -> list[T]:
        source, batch, _, indexes, end = held
        left = length_hint(self._rest)
        base = self._rest_end - max(left - limit, 0)
        chosen, consumed = islice(self._rest, limit), 0
        if limit >= left:
            source.tell_demand()
            consumed = -1 if end is None else end
        elif not source.takes_views:  # no part of a view's memory can go
            consumed = base if indexes is None else indexes[base - 1] + 1
        items = [*chosen]
        self._base, self._polled, self.is_given = base, None, True
        if consumed:
            batch.consumed = consumed
        return items

    def consume(self, count: int) -> None:
        tally = self._inputs.tally
        if tally is not None:
            tally.returned(count)
        else:
            self._count(self._base + count)

    def _count(self, count: int) -> None:
        """Count the first objects of the last poll as consumed."""
        held = self._held
        if held is None:
            return
        source, batch, held_count, indexes, end = held
        if count >= held_count:
            batch.consumed = -1 if end is None else end
            source.tell_demand()
        elif count > 0 and not source.takes_views:
            batch.consumed = count if indexes is None else indexes[count - 1] + 1

    def lend_to(self, tally: Tally) -> bool:
        if self._closed:
            return False
        tally.polled = tally.base
        self._inputs.tally = tally
        self._lend(tally)
        return True

    def _lend(self, tally: Tally) -> None:
        """Hand what the last poll holds to the tally."""
        held = self._held
        if held is None:
            return
        source, batch, count, indexes, end = held
        if source.takes_views:  # a batch with living views cannot be set aside: they hold it
            batch.consumed = -1 if end is None else end
        else:
            tally.add(Lot(batch, tally.polled, count, indexes, end))
            tally.polled += count
            if end is None:
                batch.set_aside()
        self._held = None

    def window_bytes(self) -> int:
        return fullest(self.subscriptions).window_bytes

    def held_places(self) -> list[tuple[int, int]]:
        """Session and position of each object of the last :meth:`poll_held`, in their order.

        The position is behind the object. Nothing of that poll may be consumed yet. Thread rule:
        the thread that polls.
        """
        if self._held is None:
            return []
        _, batch, count, indexes, _ = self._held
        if count == 0:  # an end alone, for one: such a batch is given back at once
            return []
        places = list(zip(batch.session_ids(), batch.positions(), strict=True))
        if indexes is not None:
            places = [places[index] for index in indexes]
        return places[self._base : self._rest_end - length_hint(self._rest)]

    def _fill(self, limit: int) -> bool:
        """Poll, when nothing is left, and make what came the rest.

        Returns:
            Whether an object came.
        Raises:
            RStreamError: as :meth:`poll`, if nothing came.
        """
        try:
            with self._turn:
                if self._closed:
                    raise self._closed_error()
                tally = self._inputs.tally
                if tally is not None:
                    tally.begin_poll()
                    for source in self._inputs.joined:
                        source.tell_demand()
                elif self._held is not None:
                    self._count(self._rest_end)  # all of it was handed out
                # An interrupted poll may have left the list, whose objects others have handed out.
                self._held = self._polled = None
                if self._views is not None and self._cut is None:
                    self._views.look(self._inputs.joined)
                self._polls += 1
                if self._failure is not None:
                    raise self._failure
                self._poll_inputs(limit)
                if tally is not None:
                    tally.base = tally.polled
                    self._lend(tally)
                    tally.polled = tally.base + length_hint(self._rest)
        except ClosedError:
            park_at_exit()
            raise
        except ConcurrentUseError:
            if not self._closed:
                raise
            raise self._closed_error() from None
        finally:
            if self._closed:
                self._let_go()
        if length_hint(self._rest) > 0:
            return True
        errors = self._report.errors
        if errors:
            error = errors[0]
            del errors[0]
            raise error
        if self._failure is not None:
            raise self._failure
        return False

    def _poll_inputs(self, limit: int) -> None:
        try:
            self._collect_events()
            joined = self._inputs.joined
            if self._report.errors or self._failure is not None or self._joins:
                return
            if self._cut is not None:
                self._take_cut(self._cut, limit if self._demand is None else self._demand)
            elif self._gaps.is_waiting:  # everything before the gap was handed out
                items = self._gaps.handle(limit if self._demand is None else self._demand)
                rest, count, snapshot = iter(items), len(items), self._gaps.snapshot
                self._rest, self._rest_end, self._base = rest, count, 0
                del snapshot[:count]
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
            if self._evict is not None:
                self._on_timed_out(self._evict, error)
            else:
                self._rejoin(error)
        except DriverLost as error:
            self._rejoin(error)

    def _take(self, source: Input, limit: int) -> bool:
        """Take a batch of up to the limit, and make it the rest. False: there is no object in it,
        and no error.
        """
        core, chunk = source.core, source.chunk
        bytes_max = COPIED_MAX if self._views is None else self._views.bytes_max
        take = core.take_demanded if self._is_demanded else core.take
        batch = take(limit, bytes_max)
        taken = len(batch)
        if chunk is not None and chunk.is_waiting != (taken == 0):
            source.note_wait(taken)
        if taken == 0:
            return False
        payloads: Sequence[Buffer] = (
            batch.to_list() if self._views is None else batch.views(COPIED_BELOW)
        )
        if self._evict is not None and not batch.is_intact:
            batch.consumed = -1
            return False  # evicted while it was read: the driver may have changed the bytes
        decoder = self._decoder
        items = decoder.decode(source, batch, payloads)
        rest, count, moved, cut = iter(items), len(items), decoder.moved, None
        if decoder.errors:
            cut = Cut(source, batch, items, decoder.indexes, decoder.errors)
            self._cut = cut
        else:
            self._polled, self._held = items, (source, batch, count, decoder.indexes, None)
            self._rest, self._rest_end, self._base = rest, count, 0
            self._messages += count
        if chunk is not None:
            chunk.outstanding -= taken
        for peer, position in moved:
            peer.position, peer.again_until = position, 0
        if cut is not None:
            self._take_cut(cut, limit)
        elif count == 0:
            self._count(0)  # messages that are none of the program's
        return cut is not None or count > 0

    def _take_cut(self, cut: Cut[T], limit: int) -> None:
        """Take the next error of a batch into the report, or else its objects up to an error."""
        if cut.is_error_next:
            end, errors = cut.error_end(), self._report.errors
            cut.batch.consumed = end
            errors += (cut.errors[-1][1],)
            del cut.errors[-1]
        elif count := cut.count(limit):
            items = cut.items[:count]
            part = cut.source, cut.batch, count, cut.indexes[:count], cut.end(count)
            rest = iter(items)
            self._held = part
            self._rest, self._rest_end, self._base = rest, count, 0
            self._messages += count
            # Nothing here may refer to objects that were handed out: a view holds its publisher.
            del cut.items[:count], cut.indexes[:count]
        if cut.is_used_up:
            self._cut = None
            if self._held is None:
                cut.source.tell_demand()

    def _collect_events(self) -> None:
        if self._joins or self._cut is not None:  # what a cut still has came before
            return
        inputs, images = self._inputs, self._images
        if images.is_missing_some:
            images.report_missing(time.monotonic())
        for source in inputs.joined:
            while (event := source.core.peek_event()) is not None:
                if self._on_event(source, event):
                    self._collect_events()  # of those that are joined now
                    return
                source.core.drop_event()  # an event whose noting was interrupted is noted again

    def _on_event(self, source: Input, event: _core.ImageEvent) -> bool:
        """Note an event of the transport; True: the driver has let this reader go."""
        images = self._images
        if event.kind == "gap":
            images.on_skipped(event)
        elif event.kind == "skipped":
            images.on_message_skipped(source, event)
        elif event.kind != "available" and not self._inputs.link.is_alive:
            pass  # its publisher may live: the rejoin reports the gap
        elif event.evicted_ms and self._evict is not None:
            self._on_evicted(source, self._evict, event.evicted_ms)
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

    # ---- eviction ----

    def _on_evicted(self, source: Input, evict: Evict, since_ms: int) -> None:
        """The driver has let this consumer go, from all publishers of a source at once."""
        delivered, error = evicted(self._report, source, evict, since_ms)
        if evict.rejoin:
            self._images.expect(delivered, EVICTED, time.monotonic() + RETURN_S, is_here=True)
            self._join(lambda: self._inputs.join_one_again(source))
        else:
            self._fail(error)

    def _on_timed_out(self, evict: Evict, error: ClientTimedOut) -> None:
        self._report.evicted += 1
        if evict.rejoin:
            self._rejoin(error)
            return
        failure = slow_consumer(repr(self), evict, round(time.time() * 1000))
        failure.__cause__ = error
        failure.channel, failure.stream_id = self.channel, self.stream_id
        self._fail(failure)

    def _fail(self, error: Exception) -> None:
        """Leave every subscription, so that no publisher waits; every poll raises the error."""
        self._failure = error
        self._inputs.leave_subscriptions()

    # ---- joining again ----

    def _rejoin(self, error: Exception) -> None:
        self._join(lambda: self._inputs.rejoin(error))

    def _join(self, work: Callable[[], None]) -> None:
        if self.joins_in_poll:
            work()
        else:
            self._joins.append(work)

    @property
    def must_join(self) -> bool:
        return bool(self._joins)

    def join_again(self) -> None:
        try:
            with self._turn:
                while self._joins:
                    try:
                        self._joins[0]()
                    except DriverLost as error:
                        self._inputs.rejoin(error)
                    del self._joins[0]
        finally:
            if self._closed:
                self._let_go()

    # ---- waiting ----

    def is_ready(self) -> bool:
        if self.has_rest() or self._is_used_up():
            return True
        return bool(
            self._closed
            or self._report.errors
            or (self._cut is not None and self._cut.is_ready(self._demand))
            or self._joins
            or not self._inputs.joined
            or self._gaps.is_ready(self._demand)
        )

    def _is_used_up(self) -> bool:
        """Whether publishers may make nothing more before a held batch counts as consumed."""
        held = self._held
        return held is not None and held[0].core.demand == 0 and not held[1].consumed

    @property
    def watched(self) -> _core.Waiter:
        return self._inputs.waiter

    def patience_s(self) -> float:
        if self._images.is_missing_some:
            return WAIT_SLICE_S
        due_in_s = self._notices.due_in_s(self.is_connected)
        return super().patience_s() if due_in_s is None else due_in_s

    def note_quiet(self) -> None:
        if self._images.is_missing_some:
            self._images.report_missing(time.monotonic())
            if not self._images.is_missing_some:
                self._inputs.waiter.wake()  # the stream may have ended, and only a poll tells
        self._notices.look(self.is_connected)

    def wait(self, timeout_s: float | None = None) -> bool:
        check_timeout(timeout_s)
        if self.has_rest():
            return True
        deadline_s = time.monotonic() + (WAIT_FOREVER_S if timeout_s is None else timeout_s)
        try:
            with self._turn:
                if self._closed:
                    raise self._closed_error()
                return self._wait(timeout_s, deadline_s)
        except DriverLost:
            return True  # the next poll joins again
        except ClosedError:
            park_at_exit()
            raise
        except ConcurrentUseError:
            if not self._closed:
                raise
            raise self._closed_error() from None
        finally:
            if self._closed:
                self._let_go()

    def _wait(self, timeout_s: float | None, deadline_s: float) -> bool:
        inputs = self._inputs
        check_may_wait()
        while not self.is_ready():
            remaining_s = deadline_s - time.monotonic()
            if inputs.waiter.wait(max(0.0, min(remaining_s, WAIT_SLICE_S)), self.look_s):
                return True
            self.note_quiet()
            if remaining_s <= WAIT_SLICE_S and time.monotonic() >= deadline_s:
                if timeout_s is not None:
                    return False
                deadline_s += WAIT_FOREVER_S
        return True

    def _hint_of_timeout(self, timeout_s: float) -> str:
        return self._notices.hint_of_timeout(timeout_s, self.is_connected)

    def wake(self) -> None:
        if not self._closed:
            self._inputs.waiter.wake()

    def stop_joining(self) -> None:
        self._inputs.is_closing = True

    # ---- demand, for the reactive runtime ----

    def raise_demand(self, n: int) -> None:
        if self._demand_most < UNBOUNDED:
            return  # the next poll tells as much of it as prefetch allows
        # A rejoin in another thread closes the subscriptions; the next poll raises the demand anew.
        with suppress(IndexError, RStreamError):
            self._inputs.joined[0].core.request(n)

    def poll_demanded(self, demand: int) -> list[T]:
        # Control messages, which are taken but not handed out, cost no demand, and a rejoin loses
        # none: it is raised to what is wanted now.
        joined = self._inputs.joined
        if joined and self._cut is None:
            core = joined[0].core
            missing = min(demand, self._demand_most) - core.demand
            if missing > 0:
                core.request(missing)
        self._demand = limit = min(demand, self.prefetch)
        if self._closed or length_hint(self._rest) == 0:
            limit = self.prefetch
            self._fill(limit)
        return self._hand_out(limit)

    # ---- life ----

    def fail(self, error: BaseException | str) -> None:
        """Leave the stream with an error: its publishers get the text, cut to 1023 bytes.

        For a publisher without another reader ``send`` and ``wait_consumed`` raise
        :class:`RemoteError`. In shared memory a publisher's other readers lose it too, for ten
        seconds (Aeron's rejection), so this is for a reader with an address of its own.
        """
        if not (self._closed or self.forget_inherited()):
            self._reason, self._is_rejection = reason_of(error), True
            self._leave()

    def note_failure(self, error: BaseException | None) -> None:
        if isinstance(error, Exception) and self._reason is None:
            self._reason = reason_of(error)

    def close(self) -> None:
        if not (self._has_left or self.forget_inherited()):
            self._leave()

    def _leave(self, timeout_s: float = _session.REJOIN_TIMEOUT_S) -> None:
        self._closed = self._inputs.is_closing = True
        self._inputs.waiter.wake()
        # A thread inside wait or poll leaves within WAIT_SLICE_S; only then may the handles go.
        if not self._let_go(timeout_s):
            log.error("%r: another thread does not leave poll; it frees this reader then", self)

    def _let_go(self, timeout_s: float = 0.0) -> bool:
        """Free the handles, once, or leave that to the call that this thread is inside.

        Args:
            timeout_s: how long another thread may stay inside.
        Returns:
            False: it is still inside.
        """
        until_s = time.monotonic() + timeout_s
        while not (self._has_left or self._turn.is_mine):
            try:
                with self._turn:
                    self._free()
            except ConcurrentUseError:
                if time.monotonic() >= until_s:
                    return False
                time.sleep(LEAVE_PAUSE_S)
        return True

    def _free(self) -> None:
        """Each step may be done twice: an interrupt may come between, and then close() again."""
        if self._has_left:
            return
        try:
            self._give_back()
            if self._inputs.tally is not None:
                self._inputs.tally.close()
            if self._reason is not None:
                self._inputs.reject(self._reason, is_rejection=self._is_rejection)
            left = [] if self._is_complete else self._inputs.joined.copy()
            self._cut = None  # its objects may be views
            self._images.close()
            self._inputs.leave()
            if self._views is not None:
                self._views.look_at_the_end(left)
        except Exception:
            self._has_left = True
            _session.release(self._inputs.link)
            raise
        self._has_left = True
        _session.release(self._inputs.link)

    def _give_back(self) -> None:
        """Count what the program was given; the rest is for the next reader."""
        count = self.handed_out() - self.in_hand if self.is_given else 0
        self.consume(count)
        count += self._base
        if self._held is not None:
            _, batch, held_count, indexes, _ = self._held
            if count < held_count:
                first = max(count, 0)
                batch.unread(first if indexes is None or first == 0 else indexes[first - 1] + 1)
        self._held = None
        for _ in self._rest:  # a loop hands nothing more out
            pass

    def _count_at_exit(self) -> None:
        # Daemon threads may use it still; they find its client closed.
        if not (self._closed or self.is_inherited or self._turn.is_mine):
            with suppress(RStreamError), self._turn:
                self.consume(self.handed_out() - self.in_hand if self.is_given else 0)

    @quiet_when_torn_down
    def __del__(self) -> None:
        super().__del__()
        if not (self._has_left or self.is_inherited):
            with suppress(RStreamError):
                self._leave(0.0)


_open_readers: weakref.WeakSet[Reader[Any]] = weakref.WeakSet()


def _count_at_exit() -> None:
    """A script that ends in a loop, by an error for one: what the loop was given is consumed, and
    the rest is for the next reader. The clients are closed after this.
    """
    for reader in list(_open_readers):
        reader._count_at_exit()  # pyright: ignore[reportPrivateUsage] - same file


before_exit(_count_at_exit)


_PLACE = re.compile(r"\Astream '.*?, position \d+: ")


def reason_of(error: BaseException | str) -> str:
    """The text that publishers get of an error with which a reader leaves."""
    # Publishers know the stream; the text has no room for its place.
    text = (
        error if isinstance(error, str) else f"{type(error).__name__}: {_PLACE.sub('', str(error))}"
    )
    return text.encode()[:REASON_BYTES_MAX].decode(errors="ignore")
