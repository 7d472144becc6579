"""Models of flow/fill*.c: how full an image is and will be, and when its sender is told.

In a group: which receiver tells it.
"""

from __future__ import annotations

import math

from .numbers import NS_PER_MS, RATE_MAX, TIME_MAX_NS, clamp, later, to_ns
from .reaction import BUFFER_MAX, FILL_HIGH, RTT_MAX_NS, fill_low, window_ns

SLOPE_NS = 2 * NS_PER_MS
DRAIN_SAMPLE_NS = 10 * NS_PER_MS
STALL_LEAST_NS = 10 * NS_PER_MS
COUNT_MAX = 1 << 62


class Fill:
    def __init__(self, target_delay_ns: int = 0) -> None:
        self.target_delay_ns = (
            min(target_delay_ns, RTT_MAX_NS) if target_delay_ns > 0 else 10 * NS_PER_MS
        )
        self.now: int | None = None
        self.received = self.highest = self.consumed = 0
        self.slope = 0.0  # dq/dt, bytes/s
        # q when the consumer last read, or is late
        self.level = self.level_before = self.level_ns = 0
        self.still = 0.0  # the usual time without a visible read
        self.drain = self.deviation = self.variation = 0.0
        self.arriving = 0.0  # arriving bytes/s, the maximum of late
        self.arrival: tuple[int, int] | None = None  # start of the sample for arriving
        self.gap = 0.0  # usual time between two reads while there was data
        self.moved = 0  # last read, or last time without data
        # its start, and whether the image never ran empty
        self.sample: tuple[int, int, bool] | None = None
        self.fill = self.predicted = self.strength = 0.0
        self.window = 50 * NS_PER_MS
        self.rtt = 0
        self.low = 0.5  # fill at which reports begin
        self.is_stalled = False
        self.told: tuple[int, float] | None = None

    def update(
        self, now: int, received: int, consumed: int, buffer: int, rtt: int, highest: int = 0
    ) -> bool:
        """Whether a fill NAK is due. ``highest``: end of the received data, also behind a gap."""
        now = later(-TIME_MAX_NS if self.now is None else self.now, now)
        received = max(self.received, min(received, COUNT_MAX))
        consumed = max(self.consumed, min(consumed, received))
        if self.now is None:
            self.now, self.moved, self.received, self.consumed = now, now, received, consumed
            self.level = self.level_before = received - consumed
            self.level_ns = now
            self.highest = received
        # Data that lay behind a gap and is now readable did not arrive now: no growth.
        self.level_before += max(0, min(received, self.highest) - self.received)
        has_taken = consumed > self.consumed
        self.note_gap(now, consumed)
        self.note_level(now, received - consumed, has_taken)
        self.note_drain(now, consumed, received > consumed)
        self.now, self.received, self.consumed = now, received, consumed
        self.highest = max(self.highest, received, min(highest, COUNT_MAX))
        self.note_arrivals(now)
        self.rtt = max(0, min(rtt, RTT_MAX_NS))
        self.judge(max(0, min(buffer, BUFFER_MAX)), self.rtt)
        if self.strength <= 0:
            return False
        if self.told is None or self.now - self.told[0] >= self.window // 2:
            return True
        return self.strength >= self.told[1] + 0.25

    def stall_ns(self) -> float:
        return clamp(4.0 * self.gap, float(STALL_LEAST_NS), float(TIME_MAX_NS))

    def is_stall(self, waited: int) -> bool:
        return float(waited) > self.stall_ns()

    def note_gap(self, now: int, consumed: int) -> None:
        had_data, has_taken = self.received > self.consumed, consumed > self.consumed
        if has_taken and had_data:
            waited = now - self.moved
            if self.is_stall(waited):
                self.sample = None
            self.gap += (min(float(waited), self.stall_ns()) - self.gap) / 8.0
            assert self.now is not None
            self.still += (
                clamp(float(self.now - self.moved), 0.0, self.stall_ns()) - self.still
            ) / 8.0
        if has_taken or not had_data:
            self.moved = now

    def note_level(self, now: int, queue: int, has_taken: bool) -> None:
        """The queue after a read. Between reads it only rises, and counts when the consumer is
        late.
        """
        if not has_taken and float(now - self.moved) < 2.0 * self.still and queue >= self.level:
            return
        self.level = queue
        passed = now - self.level_ns
        if passed > 0:
            within = float(passed + SLOPE_NS)
            self.slope += float(queue - self.level_before) / within * 1e9 - self.slope * (
                float(passed) / within
            )
            self.level_before, self.level_ns = queue, now

    def note_drain(self, now: int, consumed: int, is_busy: bool) -> None:
        """While the queue never runs empty, the bytes read are the capacity; else a lower bound of
        it.
        """
        if self.sample is None:
            self.sample = (now, consumed, is_busy)
            return
        began, at, was_busy = self.sample
        was_busy = was_busy and is_busy
        self.sample = (began, at, was_busy)
        if now - began < DRAIN_SAMPLE_NS or (is_busy and consumed == self.consumed):
            return
        value = clamp(float(consumed - at) / float(now - began) * 1e9, 0.0, RATE_MAX)
        if self.drain <= 0 or (not was_busy and value > self.drain):
            self.drain = value
        elif was_busy:
            self.deviation += (abs(value - self.drain) - self.deviation) / 8.0
            self.drain += (value - self.drain) / 16.0
        self.variation = clamp(self.deviation / self.drain, 0.0, 1.0) if self.drain > 0 else 0.0
        self.sample = (now, consumed, is_busy)

    def note_arrivals(self, now: int) -> None:
        """Arriving bytes, also behind a gap: an increase counts at once, a decrease slowly."""
        began, at = self.arrival = self.arrival or (now, self.highest)
        if now - began < DRAIN_SAMPLE_NS:
            return
        value = clamp(float(self.highest - at) / float(now - began) * 1e9, 0.0, RATE_MAX)
        self.arriving += (
            value - self.arriving if value > self.arriving else (value - self.arriving) / 16.0
        )
        self.arrival = (now, self.highest)

    def judge(self, buffer: int, rtt: int) -> None:
        self.low = low = fill_low(
            self.target_delay_ns,
            self.drain,
            buffer,
            rtt,
            self.arriving if self.arriving > 0 else self.drain,
        )
        self.window = window_ns(buffer, low, self.drain, rtt)
        ahead_s = 2.0 * float(rtt + self.window) / 1e9
        share = 1.0 / buffer if buffer > 0 else 0.0
        self.fill = clamp(float(self.received - self.consumed) * share, 0.0, 2.0)
        level = clamp(float(self.level) * share, 0.0, 2.0)
        self.predicted = clamp(level + ahead_s * self.slope * share, 0.0, 4.0)
        self.is_stalled = self.fill > low / 2.0 and self.is_stall(self.now - self.moved)
        if self.is_stalled:
            self.strength = 1.0
        elif level < 0.05:
            self.strength = 0.0
        else:
            self.strength = clamp((self.predicted - low) / (FILL_HIGH - low), 0.0, 1.0)

    def on_told(self, strength: float) -> None:
        """After a fill NAK of our own, or of another receiver in the group."""
        strength = clamp(strength, 0.0, 1.0)
        if self.told is not None and self.now - self.told[0] < self.window // 2:
            strength = max(strength, self.told[1])
        self.told = (self.now, strength)


class Demand:
    """The highest demand of the last one to two T."""

    def __init__(self) -> None:
        self.periods: list[int] = []
        self.ends = 0

    def set(self, messages: int, in_ns: int, now: int) -> int:
        messages, in_ns = max(0, min(messages, COUNT_MAX)), max(1, min(in_ns, RTT_MAX_NS))
        now = later(-TIME_MAX_NS, now)
        if not self.periods or now >= self.ends:
            is_late = not self.periods or now - self.ends >= in_ns
            self.periods = [messages if is_late else self.periods[-1], messages]
            self.ends = now + in_ns
        self.periods[-1] = max(self.periods[-1], messages)
        return max(self.periods)


def buffer_of(window: int, highest: int, mean_bytes: int, mtu: int) -> int:
    window = max(0, min(window, BUFFER_MAX))
    return window if highest < 0 else min(window, max(highest * max(mean_bytes, 0), mtu, 0))


def aeron_window(fill: Fill, buffer: int, window: int, mtu: int) -> int:
    """The part of ``window`` for a sender without fill NAKs.

    It shrinks as the memory ``buffer`` fills.
    """
    buffer = max(0, min(buffer, BUFFER_MAX))
    if buffer == 0:
        return window
    low = fill_low(
        fill.target_delay_ns,
        fill.drain,
        buffer,
        fill.rtt,
        fill.arriving if fill.arriving > 0 else fill.drain,
    )
    strength = clamp((clamp(fill.level / buffer, 0.0, 1.0) - low) / (FILL_HIGH - low), 0.0, 1.0)
    if strength <= 0:
        return window
    return min(window, max(mtu, int((1.0 - strength) * window) // 32 * 32))


def aeron_window_is_due(
    consumed: int, window: int, position: int, last_window: int, whole: int
) -> bool:
    """When the window is whole again, or the sender's limit rises by over a quarter of it."""
    return last_window < window == whole or consumed + window > position + last_window + whole // 4


def wait_ns(group: float, longest: int, unit: float) -> int:
    group, longest = clamp(group, 1.0, 1e6), max(0, min(longest, RTT_MAX_NS))
    if group <= 1.0:
        return 0
    rate = math.log(group) + 1.0
    wait = longest / rate * math.log(1.0 + clamp(unit, 0.0, 1.0) * (math.exp(rate) - 1.0))
    least = longest // 64 + 1
    return max(least, min(to_ns(wait), max(longest, least)))


class Suppress:
    def __init__(self) -> None:
        self.due: int | None = None
        self.began, self.unit = 0, 0.0
        self.silenced = 0
        self.alike = 0.25

    def is_due(self, fill: Fill, is_due: bool, group: float, unit: float) -> bool:
        assert fill.now is not None
        rate = math.log(clamp(group, 1.0, 1e6)) + 1.0
        self.alike = 0.25 * clamp(rate / 4.0, 1.0, 2.0)
        is_news = (
            fill.told is None
            or fill.now - fill.told[0] >= fill.window // 2
            or fill.strength >= fill.told[1] + self.alike
        )
        if fill.strength <= 0:
            self.due = None
        elif self.due is None and is_due and is_news:
            self.began, self.unit = fill.now, unit
            self.due = self.end(fill, group)
        elif self.due is not None and group <= 8.0:
            self.due = min(self.due, self.end(fill, group))
        if self.due is None or fill.now < self.due:
            return False
        self.due = None
        return True

    def end(self, fill: Fill, group: float) -> int:
        """End of the current wait at the present strength.

        In a small group the strongest receivers hardly wait.
        """
        size = clamp(group, 1.0, 1e6)
        haste = fill.strength * (1.0 + min(4.0 / size, 1.0)) / 2.0
        longest = min(
            max(2.0 * (math.log(size) + 1.0) * fill.rtt, fill.window / 4) * (1.0 - haste),
            1.5 * fill.window,
        )
        return self.began + wait_ns(group, to_ns(longest), self.unit)

    def on_heard(self, fill: Fill, strength: float) -> None:
        if strength > 0 and strength >= fill.strength - self.alike:
            self.silenced += self.due is not None
            self.due = None
            fill.on_told(strength)
