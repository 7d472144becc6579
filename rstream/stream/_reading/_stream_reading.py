"""The engine of a reader: several transport subscriptions, one wait, objects out.

Theory of operation. One poll goes through these steps:

    _intake.py    does the next four, for one of the transport subscriptions (_inputs.py)
    _images.py    publishers that came or went since the last poll  -> events, gaps, errors
    _gaps.py      a gap is raised, or filled by the user's function
    _decoding.py  headers are checked, control messages are taken out, payloads are decoded
    _cut.py       a batch with messages that cannot be used ends at the first one for this poll
    _rest.py      objects wait here
    _held.py      their batch; what was handed out of it counts as consumed
    here          objects are returned, or the oldest error is raised

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

``_eviction.py`` decides when the driver has let this reader go: it leaves, or joins that
subscription again. When the driver was lost, all are joined again (``_joining.py``).
``_leaving.py`` frees what the reader holds.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from operator import length_hint
from typing import TYPE_CHECKING, Generic, TypeVar, final

from rstream import _core, _session
from rstream._checks import check_timeout
from rstream._facts import fullest
from rstream._greenlets import check_may_wait
from rstream._process import park_at_exit, quiet_when_torn_down
from rstream.abc import UNBOUNDED
from rstream.errors import ClosedError, ConcurrentUseError, DriverLost, RStreamError
from rstream.stream._options import PREFETCH
from rstream.stream._parts import MESSAGE_LENGTH
from rstream.stream._reading._decoding import Decoder
from rstream.stream._reading._eviction import Eviction
from rstream.stream._reading._gaps import Gaps, OnGap
from rstream.stream._reading._held import Held
from rstream.stream._reading._images import Images
from rstream.stream._reading._inputs import Inputs
from rstream.stream._reading._intake import Intake
from rstream.stream._reading._joining import Joining
from rstream.stream._reading._leaving import Leaving, reason_of
from rstream.stream._reading._notices import ReaderNotices
from rstream.stream._reading._reading import WAIT_FOREVER_S, Reading
from rstream.stream._reading._report import Report
from rstream.stream._reading._views import Views, takes_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.codecs import Codec
    from rstream.policy import Evict
    from rstream.stream._events import StreamEvent
    from rstream.stream._options import Prefetch
    from rstream.stream._reading._report import OnLost
    from rstream.stream._tally import Tally

__all__ = ("StreamReading",)

log = logging.getLogger("rstream")

T = TypeVar("T")

#: How often a wait looks whether it was closed.
WAIT_SLICE_S = 0.5
#: Most messages of one transport batch.
LIMIT_MAX = 65_536


@final
class StreamReading(Reading[T], Generic[T]):
    """Reads one stream from one or more channels; :class:`rstream.stream.Reader` is its face.

    Attributes:
        name, stream_id: of the stream.
        report: what it has to tell beside objects.
        inputs: its transport subscriptions.
        gaps: what it has lost and not told yet.
        look_s: seconds that a wait looks, and yields, before it sleeps. For who expects an answer
            soon.
    """

    _is_made: bool = False  # __del__ runs even when the constructor raises
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
        most = PREFETCH if prefetch == "auto" else prefetch
        super().__init__(min(most, LIMIT_MAX), in_hand=int(hold))
        self.name: str = name
        self.stream_id: int = stream_id
        self._demand_most = UNBOUNDED if prefetch == "auto" else prefetch
        self._stays = stays
        self._hold = hold
        self._held = held = Held(self.rest)
        self._polls = 0
        self.report: Report = Report(name, stream_id, on_lost)
        report = self.report
        self.gaps: Gaps[T] = Gaps(report, on_gap)
        self._images = images = Images(report, self.gaps, link.directory)
        self._views = Views(report.title) if takes_views(codec) else None
        self.inputs: Inputs = Inputs(
            link,
            report,
            images,
            channels=channels,
            prefetch=None if is_demanded else prefetch,
            max_message_length=max_message_length,
            takes_views=self._views is not None,
        )
        inputs = self.inputs
        self._joining = joining = Joining(inputs)
        self._eviction = Eviction(evict, report, inputs, images, joining)
        self._intake = Intake(
            self.rest,
            held,
            report,
            inputs=inputs,
            images=images,
            gaps=self.gaps,
            decoder=Decoder(report, codec, link.directory),
            views=self._views,
            eviction=self._eviction,
            joining=joining,
            is_demanded=is_demanded,
        )
        self._notices = ReaderNotices(name, report, inputs)
        self._turn = _core.Turn(repr(self))  # held by the thread inside poll, wait or close
        self._leaving = Leaving(
            self._turn,
            held=held,
            intake=self._intake,
            inputs=inputs,
            images=images,
            views=self._views,
        )
        self.is_closed: bool = False
        self._is_made = True

    def __repr__(self) -> str:
        return repr(self.inputs)

    @property
    def title(self) -> str:
        places, title = self.inputs.places, self.report.title
        return f"{title} on {places}" if places and not self.report.owner else title

    # ---- facts ----

    @property
    def channel(self) -> str:
        """The channels, for people."""
        return ", ".join(self.inputs.channels)

    @property
    def subscriptions(self) -> list[_core.Subscription]:
        """The transport subscriptions, in the order of the channels."""
        return [source.core for source in self.inputs.joined]

    @property
    def takes_views(self) -> bool:
        """Whether its objects may be views of the transport's memory."""
        return self._views is not None

    @property
    def is_connected(self) -> bool:
        return any(source.core.is_connected for source in self.inputs.joined)

    @property
    def is_ended(self) -> bool:
        return not self._stays and self._intake.is_complete()

    @property
    def demand(self) -> int:
        """Messages that publishers were asked for and that no poll has taken; of several channels
        the most.
        """
        return max((source.core.demand for source in self.inputs.joined), default=0)

    def events(self) -> list[StreamEvent]:
        with suppress(ConcurrentUseError), self._turn:  # else the reading thread collects them
            if not self.is_closed:
                self._intake.collect_events()
                self.report.events += self._notices.refused_peers()
        return self.taken_events()

    def taken_events(self) -> list[StreamEvent]:
        """The events that polls have come across since the last call; any thread."""
        return self.report.take_events()

    def statistics(self) -> dict[str, int | float | bool]:
        inputs, report, views = self.inputs, self.report, self._views
        joined = [] if self.is_closed else inputs.joined
        fill = fullest([source.core for source in joined])
        return {
            "messages": self._intake.messages,
            "polls": self._polls,
            "refused": report.refused,
            "rejoins": inputs.rejoins,
            "fill_bytes": fill.fill_bytes,
            "window_bytes": fill.window_bytes,
            "demand": self.demand,
            "publishers": sum(len(source.peers.by_session) for source in inputs.joined),
            "completed": inputs.all_completed_count,
            "is_connected": any(source.core.is_connected for source in joined),
            "waiting": 0,
            "capacity": 0,
            "dropped": 0,
            "conflated": 0,
            "evicted": report.evicted,
            "overruns": report.overruns,
            "gaps": report.gaps,
            "skipped_bytes": report.skipped_bytes,
            "partial_bytes": sum(source.core.partial_bytes for source in joined),
            "view_bytes": 0 if views is None else views.held_bytes,
            "view_holds": 0 if views is None else views.holds,
        }

    # ---- reading ----

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"{self.report.title}: this reader is closed")

    def poll(self, limit: int | None = None) -> list[T]:
        if not limit or limit > LIMIT_MAX:
            limit = LIMIT_MAX if limit else self.prefetch
        rest = self.rest
        self._intake.demand = None
        if self.is_closed or length_hint(rest.left) == 0:
            # A batch costs as much as twenty objects, so the next polls use the rest of this one.
            # The views of a batch, however, keep all of its memory.
            is_exact = limit > self.prefetch or self._hold or self._views is not None
            if not self._fill(limit if is_exact else self.prefetch):
                return []
        return rest.take(limit) if self._hold else self._held.hand_over(limit)

    def poll_held(self, limit: int | None) -> list[T]:
        limit = min(limit or self.prefetch, LIMIT_MAX)
        self._intake.demand = None
        if self.is_closed or length_hint(self.rest.left) == 0:
            self._fill(limit)
        return self.rest.take(limit)

    def poll_demanded(self, demand: int) -> list[T]:
        intake, rest = self._intake, self.rest
        if intake.cut is None:
            self.inputs.raise_demand_to(min(demand, self._demand_most))
        intake.demand = limit = min(demand, self.prefetch)
        if self.is_closed or length_hint(rest.left) == 0:
            limit = self.prefetch
            self._fill(limit)
        return rest.take(limit)

    def raise_demand(self, n: int) -> None:
        if self._demand_most == UNBOUNDED:  # else the next poll tells what prefetch allows
            self.inputs.raise_demand(n)

    def fill(self, limit: int | None) -> None:
        self._intake.demand = None
        self._fill(min(limit or self.prefetch, LIMIT_MAX))
        # A view that a loop was given would live until the next poll.
        self.rest.polled, self.rest.is_given = None, True

    def consume(self, count: int) -> None:
        held = self._held
        if held.tally is None:
            held.count(self.rest.base + count)
        else:
            held.tally.returned(count)

    def lend_to(self, tally: Tally) -> bool:
        if self.is_closed:
            return False
        tally.polled = tally.base
        self._held.tally = tally
        self._held.lend(tally)
        return True

    def window_bytes(self) -> int:
        return fullest(self.subscriptions).window_bytes

    def held_places(self) -> list[tuple[int, int]]:
        """Session and position of each object of the last :meth:`poll_held`, in their order.

        The position is behind the object. Nothing of that poll may be consumed yet. Thread rule:
        the thread that polls.
        """
        return self._held.places()

    def _fill(self, limit: int) -> bool:
        """Poll, when nothing is left, and make what came the rest.

        Returns:
            Whether an object came.
        Raises:
            RStreamError: as :meth:`poll`, if nothing came.
        """
        rest, held, intake = self.rest, self._held, self._intake
        try:
            with self._turn:
                if self.is_closed:
                    raise self._closed_error()
                tally = held.tally
                if tally is not None:
                    tally.begin_poll()
                    for source in self.inputs.joined:
                        source.tell_demand()
                elif held.batch is not None:
                    held.count(rest.end)  # all of it was handed out
                # An interrupted poll may have left the list, whose objects others have handed out.
                held.batch = rest.polled = None
                if self._views is not None and intake.cut is None:
                    self._views.look(self.inputs.joined)
                self._polls += 1
                if self._eviction.failure is not None:
                    raise self._eviction.failure
                intake.poll(limit)
                if tally is not None:
                    tally.base = tally.polled
                    held.lend(tally)
                    tally.polled = tally.base + length_hint(rest.left)
        except ClosedError:
            park_at_exit()
            raise
        except ConcurrentUseError:
            if not self.is_closed:
                raise
            raise self._closed_error() from None
        finally:
            if self.is_closed:
                self._leaving.let_go()
        if length_hint(rest.left) > 0:
            return True
        errors = self.report.errors
        if errors:
            error = errors[0]
            del errors[0]
            raise error
        if self._eviction.failure is not None:
            raise self._eviction.failure
        return False

    # ---- joining again ----

    def set_joins_in_poll(self, joins: bool) -> None:
        self.joins_in_poll = self._joining.in_poll = joins

    @property
    def must_join(self) -> bool:
        return bool(self._joining.jobs)

    def join_again(self) -> None:
        try:
            with self._turn:
                self._joining.run()
        finally:
            if self.is_closed:
                self._leaving.let_go()

    def stop_joining(self) -> None:
        self.inputs.is_closing = True

    # ---- waiting ----

    def is_ready(self) -> bool:
        if self.rest.has_some() or self._held.is_used_up:
            return True
        return self.is_closed or self._intake.is_ready()

    @property
    def watched(self) -> _core.Waiter:
        return self.inputs.waiter

    def patience_s(self) -> float:
        if self._images.is_missing_some:
            return WAIT_SLICE_S
        due_in_s = self._notices.due_in_s(self.is_connected)
        return super().patience_s() if due_in_s is None else due_in_s

    def note_quiet(self) -> None:
        if self._images.is_missing_some:
            self._images.report_missing(time.monotonic())
            if not self._images.is_missing_some:
                self.inputs.waiter.wake()  # the stream may have ended, and only a poll tells
        self._notices.look(self.is_connected)

    def wait(self, timeout_s: float | None = None) -> bool:
        check_timeout(timeout_s)
        if self.rest.has_some():
            return True
        deadline_s = time.monotonic() + (WAIT_FOREVER_S if timeout_s is None else timeout_s)
        try:
            with self._turn:
                if self.is_closed:
                    raise self._closed_error()
                return self._wait(timeout_s, deadline_s)
        except DriverLost:
            return True  # the next poll joins again
        except ClosedError:
            park_at_exit()
            raise
        except ConcurrentUseError:
            if not self.is_closed:
                raise
            raise self._closed_error() from None
        finally:
            if self.is_closed:
                self._leaving.let_go()

    def _wait(self, timeout_s: float | None, deadline_s: float) -> bool:
        inputs = self.inputs
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

    def hint_of_timeout(self, timeout_s: float) -> str:
        return self._notices.hint_of_timeout(timeout_s, self.is_connected)

    def wake(self) -> None:
        if not self.is_closed:
            self.inputs.waiter.wake()

    # ---- life ----

    def fail(self, error: BaseException | str) -> None:
        """As :meth:`rstream.stream.Reader.fail`."""
        if not (self.is_closed or self.forget_inherited()):
            leaving, reason = self._leaving, reason_of(error)
            leaving.reason, leaving.is_rejection = reason, True
            self._leave()

    def note_failure(self, error: BaseException | None) -> None:
        if isinstance(error, Exception) and self._leaving.reason is None:
            self._leaving.reason = reason_of(error)

    def close(self) -> None:
        if not (self._leaving.has_left or self.forget_inherited()):
            self._leave()

    def _leave(self, timeout_s: float = _session.REJOIN_TIMEOUT_S) -> None:
        self.is_closed = True
        # A thread inside wait or poll leaves within WAIT_SLICE_S.
        if not self._leaving.leave(timeout_s):
            log.error("%r: another thread does not leave poll; it frees this reader then", self)

    @quiet_when_torn_down
    def __del__(self) -> None:
        super().__del__()
        if self._is_made and not (self._leaving.has_left or self.is_inherited):
            with suppress(RStreamError):
                self._leave(0.0)
