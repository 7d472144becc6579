"""Models of flow/fill*.c and flow/fair_share.c: a receiver's queue, the rate it asks for, and when.

In a group: which receiver reports. Among senders: how much each may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from .numbers import NEVER, NS_PER_MS, RATE_MAX, TIME_MAX_NS, clamp, later, to_ns

COUNT_MAX = 1 << 62
BUFFER_MAX = 1 << 40
RTT_MAX_NS = 10_000_000_000

# The constants of the law.
PERIOD_NS = 4 * NS_PER_MS
FRESH_NS, FRESH_ROUND_TRIPS = 60 * NS_PER_MS, 6
DRAIN_SAMPLE_NS, DRAIN_SAMPLES = 5 * NS_PER_MS, 8.0
STALL_LEAST_NS, STALL_GAPS = 10 * NS_PER_MS, 4.0
LATE_STILLS = 2.0
TARGET_NS, TARGET_SHARE = 10 * NS_PER_MS, 0.8
TAU_LEAST_NS, TAU_ROUND_TRIPS = 8 * NS_PER_MS, 3
REPORTS_FROM, REPORTS_TO = 2, 4  # set point / 2, set point / 4
PASSING_NS = 2 * NS_PER_MS  # so long what a repair freed must stand
RELEASE_NS = 250 * NS_PER_MS  # after and in so long a stopped reader's window may be filled
# In a group.
WAIT_MOST_PERIODS, LEAST_SHARE = 3.0, 64
SMALL_GROUP, FOLLOWED_MOST = 4.0, 8.0
LOWER, CROWD_LAMBDA, CROWD_MOST = 0.1, 2.0, 5.0
# Towards Aeron.
LOW_LEAST, HIGH = 0.1, 0.9


class Due(IntEnum):
    QUIET = 0
    REPORT = 1
    CLEAR = 2


def fresh_ns(rtt: int) -> int:
    """F: a report counts for so long."""
    return max(FRESH_NS, FRESH_ROUND_TRIPS * rtt)


def period_ns(rtt: int) -> int:
    """P: the time between two reports."""
    return max(PERIOD_NS, rtt)


@dataclass
class Facts:
    """What a receiver sees in one pass."""

    now: int
    received: int
    highest: int
    consumed: int
    buffer: int
    rtt: int = 0
    mtu: int = 0
    largest: int = 0
    window: int = 0


class Fill:
    def __init__(self, target_delay_ns: int = 0) -> None:
        self.target = min(target_delay_ns, RTT_MAX_NS) if target_delay_ns > 0 else TARGET_NS
        self.now: int | None = None
        self.received = self.consumed = self.standing = 0
        self.buffer = self.rtt = self.mtu = self.largest = self.window = 0
        self.still = self.gap = 0.0  # usual time between takings: as passes saw it, and whole
        self.moved = 0  # last taking, or last time without data
        self.drain = self.taking = self.latest = 0.0
        self.highest = 0  # end of data, also behind gaps
        self.repaired: int | None = None  # when a repair last freed data
        self.above: int | None = None  # standing above the threshold since
        self.sample: tuple[int, int, bool] | None = None  # begin, position, never empty since
        self.fill = self.allowed = 0.0
        self.set_point, self.period = 0, PERIOD_NS
        self.is_reporting = self.is_stalled = self.is_stall_told = False
        self.told: int | None = None  # the last report, own or heard, of this overload
        self.sent: int | None = None  # the last own one

    def update(self, facts: Facts) -> Due:
        now = later(-TIME_MAX_NS if self.now is None else self.now, facts.now)
        received = max(self.received, min(facts.received, COUNT_MAX))
        consumed = max(self.consumed, min(facts.consumed, received))
        if self.now is None:
            self.now, self.moved, self.received, self.consumed = now, now, received, consumed
            self.standing = received - consumed
        self.note_gap(now, consumed)
        self.note_standing(now, received - consumed, consumed > self.consumed)
        self.note_drain(now, consumed, received > consumed)
        if received > self.received and self.highest > self.received:
            self.repaired = now
        self.now, self.received, self.consumed = now, received, consumed
        self.highest = max(received, min(facts.highest, COUNT_MAX))
        self.buffer = max(0, min(facts.buffer, BUFFER_MAX))
        self.rtt = max(0, min(facts.rtt, RTT_MAX_NS))
        self.largest = max(0, min(facts.largest, BUFFER_MAX))
        self.window = max(0, min(facts.window, BUFFER_MAX))
        self.mtu = max(0, facts.mtu)
        self.judge()
        return self.what_is_due()

    def stall_ns(self) -> float:
        return clamp(STALL_GAPS * self.gap, float(STALL_LEAST_NS), float(TIME_MAX_NS))

    def note_gap(self, now: int, consumed: int) -> None:
        had_data, has_taken = self.received > self.consumed, consumed > self.consumed
        if has_taken and had_data:
            assert self.now is not None
            waited, seen = float(now - self.moved), float(self.now - self.moved)
            if waited > self.stall_ns():
                self.sample = None
            most = self.stall_ns()
            self.gap += (clamp(waited, 0.0, most) - self.gap) / 8.0
            self.still += (clamp(seen, 0.0, self.stall_ns()) - self.still) / 8.0
        if has_taken or not had_data:
            self.moved = now

    def note_standing(self, now: int, queue: int, has_taken: bool) -> None:
        is_late = float(now - self.moved) >= LATE_STILLS * self.still
        if has_taken or is_late or queue < self.standing:
            self.standing = queue

    def note_drain(self, now: int, consumed: int, is_busy: bool) -> None:
        """While the queue never runs empty, what is taken is the capacity; else a lower bound."""
        if self.sample is None:
            self.sample = (now, consumed, is_busy)
            return
        began, at, was_busy = self.sample
        was_busy = was_busy and is_busy
        self.sample = (began, at, was_busy)
        if now - began < DRAIN_SAMPLE_NS or (is_busy and consumed == self.consumed):
            return
        value = clamp(float(consumed - at) / float(now - began) * 1e9, 0.0, RATE_MAX)
        self.latest = value
        self.taking += (value - self.taking) / DRAIN_SAMPLES
        if self.drain <= 0 or (not was_busy and value > self.drain):
            self.drain = value
        elif was_busy:
            self.drain += (value - self.drain) / DRAIN_SAMPLES
        self.sample = (now, consumed, is_busy)

    def set_point_of(self, drain: float, buffer: int) -> int:
        most = buffer // 4 * 3 if self.window > 0 else buffer // 4
        if drain <= 0:
            return most
        steered = max(TARGET_SHARE * float(self.target), float(self.rtt))
        wanted = int(clamp(drain * steered / 1e9, 0.0, float(BUFFER_MAX)))
        return min(max(wanted, 2 * self.mtu, self.largest), most)

    def allowed_at(self, drain: float) -> float:
        """What brings the queue to its set point within tau; for the drain, or a share of it."""
        assert self.now is not None
        stall = self.stall_ns()
        waited = float(self.now - self.moved) - self.gap
        going_on = 1.0 - clamp(waited / (stall - self.gap), 0.0, 1.0)
        tau = float(max(TAU_LEAST_NS, TAU_ROUND_TRIPS * self.rtt))
        correction = float(self.set_point_of(drain, self.buffer) - self.standing) / tau * 1e9
        is_released = self.is_stalled and self.now - self.moved >= RELEASE_NS
        least = self.window / RELEASE_NS * 1e9 if is_released else 0.0
        return clamp(drain * going_on + correction, least, RATE_MAX)

    def judge(self) -> None:
        assert self.now is not None
        queue = self.received - self.consumed
        self.fill = clamp(queue / self.buffer, 0.0, 2.0) if self.buffer > 0 else 0.0
        self.set_point = self.set_point_of(self.drain, self.buffer)
        self.period = period_ns(self.rtt)
        is_still = float(self.now - self.moved) > self.stall_ns()
        self.is_stalled = is_still and queue > self.set_point // REPORTS_FROM
        self.is_stall_told = self.is_stall_told and self.is_stalled
        self.allowed = self.allowed_at(self.drain)

    def what_is_due(self) -> Due:
        assert self.now is not None
        in_target = self.drain * float(self.target) / 1e9
        is_window_enough = self.window > 0 and (self.drain <= 0 or self.window <= in_target)
        if not self.is_reporting:
            is_overload = self.standing > self.set_point // REPORTS_FROM
            self.begin(self.buffer > 0 and is_overload and not is_window_enough)
        elif self.standing < self.set_point // REPORTS_TO or is_window_enough:
            self.is_reporting = False
            is_known = self.sent is not None and self.now - self.sent <= fresh_ns(self.rtt)
            return Due.CLEAR if is_known else Due.QUIET
        is_late = self.told is None or self.now - self.told >= self.period
        is_news = is_late or (self.is_stalled and not self.is_stall_told)
        return Due.REPORT if self.is_reporting and is_news else Due.QUIET

    def begin(self, is_above: bool) -> None:
        """Report from now on, unless it may be what a repair has just freed."""
        assert self.now is not None
        since = self.above if self.above is not None else self.now
        was_repaired = self.repaired is not None and self.now - self.repaired < 2 * PASSING_NS
        waits = PASSING_NS if was_repaired and not self.is_stalled else 0
        self.is_reporting = is_above and self.now - since >= waits
        self.above = since if is_above and not self.is_reporting else None
        if self.is_reporting:
            self.told = self.sent = None

    def due(self) -> int:
        """When something may be due although nothing arrives and nothing is taken."""
        assert self.now is not None
        if self.received <= self.consumed:
            return NEVER
        if self.is_reporting:
            return self.now if self.told is None else max(self.told + self.period, self.now)
        stalled = self.moved + to_ns(self.stall_ns()) + 1
        begins = NEVER if self.above is None else self.above + PASSING_NS
        return min(stalled, begins) if stalled > self.now else begins

    def told_drain(self, drain: float, is_clear: bool) -> float:
        """An obstacle that has gone shows in the newest sample first."""
        return max(drain, self.latest) if is_clear else drain

    def on_heard(self) -> None:
        self.told, self.is_stall_told = self.now, self.is_stalled

    def on_sent(self) -> None:
        self.on_heard()
        self.sent = self.now


def aeron_window(fill: Fill, buffer: int, window: int, mtu: int) -> int:
    """The part of ``window`` for a sender without fill NAKs.

    It shrinks as the memory ``buffer`` fills.
    """
    buffer = max(0, min(buffer, BUFFER_MAX))
    if buffer == 0:
        return window
    low = max(LOW_LEAST, fill.set_point_of(fill.drain, buffer) / buffer)
    cut = clamp((clamp(fill.standing / buffer, 0.0, 1.0) - low) / (HIGH - low), 0.0, 1.0)
    if cut <= 0:
        return window
    return min(window, max(mtu, int((1.0 - cut) * window) // 32 * 32))


def aeron_window_is_due(
    consumed: int, window: int, position: int, last_window: int, whole: int
) -> bool:
    """When the window is whole again, or the sender's limit rises by over a quarter of it."""
    return last_window < window == whole or consumed + window > position + last_window + whole // 4


def fair_share(senders: list[tuple[float, bool]]) -> float:
    """Max-min fair: the level at which all of the capacity is given away.

    A sender is its rate and whether it would send more.
    """
    left, waiting = sum(rate for rate, _ in senders), len(senders)
    for rate in sorted(rate for rate, is_limited in senders if not is_limited):
        if waiting == 1 or rate >= left / waiting:
            break
        left, waiting = left - rate, waiting - 1
    return left / waiting if senders else 0.0


def wait_ns(group: float, longest: int, unit: float) -> int:
    group, longest = clamp(group, 1.0, 1e6), max(0, min(longest, RTT_MAX_NS))
    if group <= 1.0:
        return 0
    rate = math.log(group) + 1.0
    wait = longest / rate * math.log(1.0 + clamp(unit, 0.0, 1.0) * (math.exp(rate) - 1.0))
    least = longest // LEAST_SHARE + 1
    return max(least, min(to_ns(wait), max(longest, least)))


class Suppress:
    def __init__(self) -> None:
        self.due: int | None = None
        self.began, self.unit = 0, 0.0
        self.silenced = 0
        self.alike = 1.0 - LOWER

    def is_due(self, fill: Fill, is_due: bool, group: float, unit: float) -> bool:
        assert fill.now is not None
        rate = math.log(clamp(group, 1.0, 1e6)) + 1.0
        self.alike = 1.0 - LOWER * clamp(rate / CROWD_LAMBDA, 1.0, CROWD_MOST)
        if not fill.is_reporting:
            self.due = None
        elif self.due is None and is_due:
            self.began, self.unit = fill.now, unit
            self.due = self.end(fill, group)
        elif self.due is not None and group <= FOLLOWED_MOST:
            self.due = min(self.due, self.end(fill, group))
        if self.due is None or fill.now < self.due:
            return False
        self.due = None
        return True

    def end(self, fill: Fill, group: float) -> int:
        """End of the current wait at the present urgency.

        In a small group the most urgent receivers hardly wait.
        """
        size = clamp(group, 1.0, 1e6)
        urgency = clamp(fill.standing / (2.0 * max(fill.set_point, 1)), 0.0, 1.0)
        haste = (1.0 if fill.is_stalled else urgency) * (1.0 + min(SMALL_GROUP / size, 1.0)) / 2.0
        wanted = max(2.0 * (math.log(size) + 1.0) * fill.rtt, fill.period / 2.0) * (1.0 - haste)
        longest = min(wanted, WAIT_MOST_PERIODS * fill.period)
        return self.began + wait_ns(group, to_ns(longest), self.unit)

    def on_heard(self, fill: Fill, allowed: float) -> None:
        if fill.is_reporting and not fill.allowed < self.alike * allowed:
            self.silenced += self.due is not None
            self.due = None
            fill.on_heard()
