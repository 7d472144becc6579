"""The transport subscriptions of a reader: joined, left, and joined again."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from rstream import _core
from rstream._session import Patience, Session
from rstream._waits import Deadline, run
from rstream.errors import DriverLost, RStreamError
from rstream.flow.chunk import Chunk
from rstream.stream._events import SessionChanged
from rstream.stream._parts import MESSAGE_LENGTH
from rstream.stream._reading._input import Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream._session import Link
    from rstream.stream._options import Prefetch
    from rstream.stream._reading._images import Images
    from rstream.stream._reading._report import Report


#: How long the driver may take to pass on why a reader leaves.
REJECT_S = 5.0
#: Joining: a new driver may die as well, and the port of the old one is taken for a moment.
PATIENCE = Patience(RStreamError, pause_s=0.05)
#: The same by the driver of now: no attempt works when it is lost.
PATIENCE_HERE = Patience(RStreamError, pause_s=0.05, unless=DriverLost)
#: How soon a publisher whose driver lives is back after this reader has joined again.
RETURN_S = 5.0
#: How soon a publisher of this host has heard of the death of its driver, and writes no more.
TAIL_S = 2.0


def chunk_of(prefetch: Prefetch | None) -> Chunk | None:
    """The demand that each transport subscription tells; None: what its subscriber requests."""
    if prefetch is None or prefetch == "auto":
        return None if prefetch is None else Chunk()
    return Chunk(prefetch, prefetch)


class Inputs:
    """All transport subscriptions of one reader, and the waiter on them.

    Thread rules: one thread joins, leaves and iterates (the one that polls). Another thread may
    read ``waiter`` to wake it, may set ``is_closing``, which ends the attempts to join again, and
    may read ``joined[0]``, which raises IndexError while nothing is joined.

    Attributes:
        joined: the subscriptions, in the order of the channels; empty while nothing is joined.
        waiter: wakes when any of them has something; another one after a rejoin.
        channels: where to join.
        session: the hold on the client, and how often it has joined again by another driver.
        completed_count: publishers that had completed on subscriptions left since.
        is_closing: the reader is being closed.
    """

    def __init__(
        self,
        link: Link,
        report: Report,
        images: Images,
        *,
        channels: Sequence[str],
        prefetch: Prefetch | None,
        max_message_length: int = MESSAGE_LENGTH,
        takes_views: bool = False,
    ) -> None:
        self.session: Session = Session(link, PATIENCE, report.log)
        self.joined: list[Input] = []
        self.channels: list[str] = list(channels)
        self.completed_count: int = 0
        self.is_closing: bool = False
        self._report = report
        self._images = images
        self._prefetch: Prefetch | None = prefetch
        self._length_max = max_message_length
        self._name_hash = _core.name_hash(report.name) if report.name else 0
        self._takes_views = takes_views
        self.waiter: _core.Waiter
        self._join(link)

    def __repr__(self) -> str:
        name = self._report.name or self._report.stream_id
        return f"<rstream.stream.Reader {name!r} on {self.places or 'nothing'}>"

    @property
    def places(self) -> str:
        """The channels that are joined, for people; empty: none is."""
        return ", ".join(source.channel for source in self.joined)

    @property
    def link(self) -> Link:
        """The hold on the client."""
        return self.session.link

    @property
    def rejoins(self) -> int:
        """How often it has joined again by another driver."""
        return self.session.joins

    def _subscribe(self, channel: str, link: Link) -> Input:
        # Without demand at first: publishers learn a number, and at no time that there is no limit.
        add = link.client._add_subscription  # pyright: ignore[reportPrivateUsage] - under a lock
        added = add(channel, self._report.stream_id, True)
        added.core.take_parts(self._name_hash, self._length_max)
        return Input(added.core, channel, chunk_of(self._prefetch), self._takes_views)

    def _join(self, link: Link) -> None:
        self.waiter = link.client.core.waiter()
        try:
            for channel in self.channels:
                source = self._subscribe(channel, link)
                self.joined.append(source)
                self.waiter.attach(source.core)
        except BaseException:
            self.leave()
            raise

    def reject(self, reason: str, *, is_rejection: bool = True) -> None:
        """Tell every publisher why this reader leaves. What it still holds does not count as
        consumed. Takes ``REJECT_S`` at most.

        Args:
            is_rejection: False: it is a word for people, which fails no publisher.
        """
        deadline = Deadline(REJECT_S)
        for source in self.joined:
            for image in source.core.images():
                tell = source.core.reject if is_rejection else source.core.say_why
                try:
                    tell(image.correlation_id, reason, deadline.left_s())
                except RStreamError as error:  # the publisher, or the driver, has just gone
                    if is_rejection:
                        self._report.log(
                            "%s: a publisher was not told: %s", self._report.title, error
                        )

    def leave(self) -> None:
        """Close the waiter and every subscription."""
        self.waiter.close()
        for source in self.joined:
            source.close()
        self.joined.clear()

    def leave_subscriptions(self) -> None:
        """Close every subscription and keep the waiter: another thread may wait on it."""
        for source in self.joined:
            self._close(source)
        self.joined.clear()

    def _close(self, source: Input) -> None:
        self.completed_count += source.peers.completed_count
        self.waiter.detach(source.core)
        source.close()

    @property
    def all_completed_count(self) -> int:
        """Publishers that have completed since the start."""
        return self.completed_count + sum(s.peers.completed_count for s in self.joined)

    # ---- demand of the reactive runtime ----

    def raise_demand(self, n: int) -> None:
        """Tell publishers that so many more objects are wanted; any thread."""
        # A rejoin in another thread closes the subscriptions; the next poll raises the demand anew.
        with suppress(IndexError, RStreamError):
            self.joined[0].core.request(n)

    def raise_demand_to(self, demand: int) -> None:
        """Tell publishers what is missing to this demand. Control messages, which are taken but not
        handed out, cost none; and a rejoin loses none: it is raised to what is wanted now.
        """
        if self.joined:
            core = self.joined[0].core
            missing = demand - core.demand
            if missing > 0:
                core.request(missing)

    # ---- joining again ----

    def join_one_again(self, source: Input) -> None:
        """Subscribe anew on the same channel, from what is sent now on.

        Raises:
            DriverLost: the driver died meanwhile.
            RStreamError: no attempt succeeded within ``REJOIN_TIMEOUT_S``.
        """
        channel = source.kept_channel()
        index = self.joined.index(source)
        self._close(source)
        del self.joined[index]
        subscribe = partial(self._subscribe, channel, self.link)
        again = run(PATIENCE_HERE.try_steps(subscribe, is_closing=self._is_closing))
        self.joined.insert(index, again)
        self.waiter.attach(again.core)

    def rejoin(self, error: Exception) -> None:
        """Join again by a driver that lives; it is started if need be. Reports the gaps.

        Raises:
            Exception: ``error``, when the client is the caller's own.
            RStreamError: no attempt succeeded within ``REJOIN_TIMEOUT_S``.
        """
        title = self._report.title
        why = self.session.lost(title, error)
        self.channels = [source.kept_channel() for source in self.joined] or self.channels
        left = {
            session_id: where
            for source in self.joined
            for session_id, where in source.left_at().items()
        }
        self.completed_count = 0 if left else self.all_completed_count
        self.leave()
        # A driver that lives still has the publishers: each comes back, and the gap is known then.
        # After the death of a driver those of this host come back with another session. Those that
        # send from elsewhere have noticed nothing.
        is_here = self.link.is_given_up
        now_s = time.monotonic()
        for session_id, where in left.items():
            wait_s = RETURN_S
            if not is_here and where.channel.startswith("aeron:ipc"):
                wait_s = TAIL_S if self._images.has_tail(session_id) else 0.0
            self._images.expect({session_id: where}, why, now_s + wait_s, is_here=is_here)
        self._images.report_missing(time.monotonic())
        changed = SessionChanged(old_session_id=None, new_session_id=None, reason=why)
        on_joined = partial(self._report.events.append, changed)
        steps = self.session.join_steps(
            self._join, on_joined, title=title, is_closing=self._is_closing
        )
        run(steps)

    def _is_closing(self) -> bool:
        return self.is_closing
