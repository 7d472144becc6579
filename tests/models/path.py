"""Model of flow/path*.c: what a sender learns from an arrival item, and how much it may send."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import IntEnum

from .numbers import NS_PER_MS, NS_PER_S, TIME_MAX_NS, clamp, later, to_ns

COUNT_MAX = 1 << 62
RTT_MAX_NS = HOLD_MAX_NS = 10 * NS_PER_S
BANDWIDTH_MAX = WINDOW_MOST = 1e12
NEVER = (1 << 63) - 1
#: Of the receiver, and of what the sender remembers.
PERIOD_NS = (NS_PER_MS // 4, 20 * NS_PER_MS)
SILENCE_NS, SILENT_ROUND_TRIPS = 20 * NS_PER_MS, 3
MARKS, PAUSES = 128, 8
PAUSE_NS = (NS_PER_MS // 50, NS_PER_MS // 2)
MEMORY_NS = 10 * NS_PER_S
#: Of the law.
REFERENCE = 12.5e6
FIRST_DATAGRAMS, FIRST_RTT_NS = 10, 10 * NS_PER_MS
FLOOR_S = 0.4e-3
SHALLOW_S = 0.3e-3
USUAL_MOST = 0.03


class State(IntEnum):
    START = 0
    ALONE = 1
    COMPETE = 2
    TEST = 3


def period_ns(rtt: int) -> int:
    return max(PERIOD_NS[0], min(rtt // 4 if rtt >= 0 else -(-rtt // 4), PERIOD_NS[1]))


@dataclass
class Item:
    contiguous: int = 0
    highest: int = 0
    received: int = 0
    since: int = 0
    missing: int = 0
    clock: int = 0
    hold: int = 0
    fresh: int = 0


@dataclass
class Mark:
    """The sending of everything up to a position, and the newest item at that time."""

    position: int
    sent_ns: int
    sent: int
    received: int | None = None
    clock: int = 0


class Track:
    def __init__(self) -> None:
        self.now = self.sent_ns = self.heard = 0
        self.position = self.resent_to = self.sent = self.left = self.forgiven = 0
        self.item = Item()
        self.base = Item()
        self.is_first, self.was_resend = True, False
        self.marks = [Mark(0, 0, 0)]
        self.refused = self.old = self.silences = 0

    def reached(self) -> int:
        return min(self.left + self.item.since, self.sent)

    def under_way(self) -> int:
        return max(self.sent - self.reached() - self.forgiven, 0)

    def mark(self, sent_ns: int) -> None:
        received = None if self.is_first else self.item.received
        self.marks.append(Mark(self.position, sent_ns, self.sent, received, self.item.clock))

    def on_sent(self, position: int, amount: int, most: int, least: int, now: int) -> None:
        self.now = later(self.now, now)
        if self.under_way() == 0:
            self.heard = self.now
        pause = max(PAUSE_NS[0], min(least // PAUSES, PAUSE_NS[1]))
        is_resend, is_pause = position <= self.position, self.now - self.sent_ns >= pause
        if (is_pause or is_resend != self.was_resend) and self.marks[-1].sent < self.sent:
            self.mark(self.sent_ns)
        if is_pause:
            self.mark(self.now)
        self.was_resend = is_resend
        self.sent += max(amount, 0)
        self.position = max(self.position, position)
        if is_resend:
            self.resent_to = max(self.resent_to, position)
        self.sent_ns = self.now
        if self.sent - self.marks[-1].sent >= most // MARKS:
            self.mark(self.now)

    def between(self, below: Mark, above: Mark, share: float) -> Mark:
        return Mark(
            above.position,
            below.sent_ns + int(share * (above.sent_ns - below.sent_ns)),
            below.sent + int(share * (above.sent - below.sent)),
            above.received,
            above.clock,
        )

    def newest(self, below: Mark) -> Mark:
        return Mark(self.position, self.sent_ns, self.sent, below.received, below.clock)

    def when_position(self, position: int) -> Mark:
        """Interpolated between the last mark below a position and the next one."""
        while len(self.marks) > 1 and self.marks[1].position < position:
            self.marks.pop(0)
        below = self.marks[0]
        above = self.marks[1] if len(self.marks) > 1 else self.newest(below)
        length = above.position - below.position
        share = (position - below.position) / length if length > 0 else 1.0
        return self.between(below, above, share)

    def when_bytes(self, amount: int) -> Mark:
        """The same for the last of so many bytes, resends among them."""
        number = 0
        while number + 1 < len(self.marks) and self.marks[number + 1].sent < amount:
            number += 1
        below = self.marks[number]
        above = self.marks[number + 1] if number + 1 < len(self.marks) else self.newest(below)
        length = above.sent - below.sent
        share = (amount - below.sent) / length if length > 0 else 1.0
        return self.between(below, above, clamp(share, 0.0, 1.0))

    def is_possible(self, item: Item) -> bool:
        return (
            item.contiguous <= item.highest <= self.position
            and 0 <= item.since <= item.received
            and item.missing >= 0
            and 0 <= item.fresh <= item.hold <= HOLD_MAX_NS
            and -TIME_MAX_NS <= item.clock <= TIME_MAX_NS
        )

    def is_old(self, item: Item) -> bool:
        last = self.item
        return (
            item.highest < last.highest
            or item.received <= last.received
            or item.missing < last.missing
            or item.contiguous < last.contiguous
            or (not self.is_first and item.clock < last.clock)
        )

    def with_base(self, told: Item) -> Item:
        return replace(
            told,
            received=told.received + self.base.received,
            missing=min(told.missing + self.base.missing, COUNT_MAX),
            clock=int(clamp(told.clock + self.base.clock, -TIME_MAX_NS, TIME_MAX_NS)),
        )

    def is_anew(self, item: Item) -> bool:
        """A new image counts from 0."""
        last = self.item
        return (
            not self.is_first
            and item.highest > last.highest
            and (
                item.received < last.received
                or item.missing < last.missing
                or item.clock < last.clock
            )
        )

    def on_item(self, item: Item, now: int) -> tuple[int, int, int, int, bool] | None:
        """Round trip (0: none), bandwidth (0: unknown), bytes received, missing; of a resend?"""
        self.now = later(self.now, now)
        if not self.is_possible(item):
            self.refused += 1
            return None
        told, item = item, self.with_base(item)
        if self.is_anew(item):
            since = self.now - self.heard
            self.base = replace(self.item, clock=self.item.clock + since - told.clock)
            item = self.with_base(told)
        if self.is_old(item):
            self.old += 1
            return None
        arrived = max(min(item.received, self.sent), self.item.received)
        moved = item.highest - self.item.highest
        received = arrived - self.item.received
        then = Mark(0, 0, 0)
        is_resend = moved == 0 or item.highest <= self.resent_to
        if moved > 0 and is_resend:
            self.left = min(self.sent, self.reached() + max(received - item.since, 0))
        elif moved > 0:
            then = self.when_position(item.highest)
            passed = max(then.sent - self.left, 0)
            self.left += passed
            self.forgiven = max(self.forgiven - passed, 0)
        most = self.left - arrived + item.since
        lost = max(min(item.missing, most), self.item.missing)
        missing = lost - self.item.missing
        self.item = replace(item, received=arrived, missing=lost)
        if is_resend:
            then = self.when_bytes(self.sent - self.under_way())
        held = item.fresh if is_resend else item.hold
        rtt = max(0, min(self.now - then.sent_ns - held, RTT_MAX_NS))
        bandwidth = 0
        passed = item.clock - then.clock
        if then.received is not None and passed > 0:
            rate = (arrived - then.received) / passed * 1e9
            bandwidth = int(clamp(rate, 0.0, BANDWIDTH_MAX))
        self.heard, self.is_first, self.silences = self.now, False, 0
        return rtt, bandwidth, received, missing, is_resend

    def on_silence(self, now: int) -> None:
        self.now = later(self.now, now)
        self.forgiven = self.sent - self.reached()
        self.heard = self.now
        self.silences += 1


class Extreme:
    """The greatest value of the last one to two memories."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.ends = 0

    def add(self, value: float, now: int) -> None:
        if not self.values:
            self.values, self.ends = [value, value], now + MEMORY_NS
        elif now >= self.ends:
            self.values, self.ends = [value, self.values[0]], now + MEMORY_NS
        self.values[0] = max(self.values[0], value)

    def get(self) -> float:
        return max(self.values, default=0.0)


@dataclass
class Round:
    end: int
    rtts: list[float] = field(default_factory=list)
    bandwidth: float = 0.0
    is_held: bool = False
    has_loss: bool = False


class Path:
    def __init__(self, datagram: int, rtt: int) -> None:
        self.track = Track()
        self.datagram = float(max(64, min(datagram, 65536)))
        self.window = FIRST_DATAGRAMS * self.datagram
        self.state = State.START
        self.newest = min(rtt if rtt > 0 else FIRST_RTT_NS, RTT_MAX_NS) / 1e9
        self.least = self.queue = 0.0
        self.leasts, self.tops = Extreme(), Extreme()
        self.round, self.rounds, self.cut_at = Round(0), 1, 0
        self.bandwidths = dict[int, float]()
        self.lost = self.judged = self.usual = 0.0
        self.shallow, self.shallow_at = 1.0, 0
        self.loss: tuple[int, float] | None = None  # when, and the window then
        self.above = self.calm = self.fails = self.cuts = 0
        self.has_emptied = self.has_lost = False
        self.growth = self.before = self.most = self.kept = 0.0
        self.epoch = 0

    # What may be sent.

    def rtt(self) -> float:
        return self.least + self.queue if self.least > 0 else self.newest

    def rate(self) -> float:
        return self.window / self.rtt()

    def target(self) -> float:
        wanted = clamp(2e-3 * math.pow(REFERENCE / self.rate(), 0.25), 0.8e-3, 5e-3)
        return max(FLOOR_S, self.shallow * wanted)

    def bandwidth(self) -> float:
        """The greatest of the last ten rounds and this one; infinite while none is known."""
        lately = [self.bandwidths.get(self.rounds - ago, 0.0) for ago in range(1, 11)]
        return max(*lately, self.round.bandwidth) or math.inf

    def limit(self, now: int) -> int:
        age = max(0, min(now - self.track.heard, period_ns(to_ns(self.rtt() * 1e9))))
        is_start = self.state == State.START
        arriving = self.rate() if is_start else min(self.rate(), self.bandwidth())
        return int(clamp(self.window + arriving * (age / 1e9), self.datagram, 2e12))

    def pace(self) -> int:
        if self.state == State.START:
            wanted = 1.3 * self.window / (self.least if self.least > 0 else self.newest)
        else:
            most = max(1.05 * self.rate(), 1.25 * self.bandwidth())
            wanted = min(1.05 * self.window / min(self.rtt(), self.newest), most)
        return int(clamp(wanted, 1.0, BANDWIDTH_MAX))

    def run(self) -> int:
        two = 2 * self.datagram
        least = two if two <= self.pace() * 1e-3 else self.datagram
        return int(max(least, min(self.pace() * 0.25e-3, self.window / 8, 65536)))

    # Events.

    def on_sent(self, position: int, amount: int, now: int) -> None:
        self.track.on_sent(position, amount, self.limit(now), to_ns(self.least * 1e9), now)
        self.round.is_held |= self.track.under_way() + self.datagram >= self.window

    def on_item(self, item: Item, now: int) -> bool:
        sample = self.track.on_item(item, now)
        if sample is None:
            return False
        rtt, bandwidth, received, missing, is_resend = sample
        self.lost += missing / self.datagram
        self.judged += (missing + received) / self.datagram
        self.round.has_loss |= missing > 0
        self.round.bandwidth = max(self.round.bandwidth, float(bandwidth))
        if rtt > 0:
            newest = rtt / 1e9
            if is_resend and self.least > 0:
                newest = clamp(newest, self.least, self.newest)
            self.newest = newest
            self.leasts.add(-self.newest, self.track.now)
            self.least = -self.leasts.get()
            self.round.rtts.append(self.newest)
        if self.state == State.START and self.least > 0:
            self.watch_start(received)
        needed = 1 if self.window < 4 * self.datagram else 3
        settled = self.track.sent - self.track.under_way()
        if settled >= self.round.end and len(self.round.rtts) >= needed:
            self.end_round()
        return True

    def on_silence(self, now: int) -> None:
        if self.track.silences > 0:
            self.set_window(self.window / 2)
        if self.least > 0:
            self.queue, self.newest = 0.0, self.least
        self.track.on_silence(now)

    def end_round(self) -> None:
        self.queue = max(min(self.round.rtts) - self.least, 0.0)
        self.tops.add(self.queue, self.track.now)
        self.bandwidths[self.rounds] = self.round.bandwidth
        [self.start, self.alone, self.compete, self.test][self.state]()
        if self.judged >= 30:
            if self.queue < self.target() / 2:
                usual = self.usual + (self.lost / self.judged - self.usual) / 8
                self.usual = min(usual, USUAL_MOST)
            self.lost = self.judged = 0.0
        self.round, self.rounds = Round(self.track.sent), self.rounds + 1

    # Helpers of the states.

    def set_window(self, window: float) -> None:
        self.window = clamp(window, self.datagram / 2, WINDOW_MOST)

    def is_heavy(self) -> bool:
        usual = self.usual * self.judged
        return self.lost >= 1.9 + usual + 2 * math.sqrt(usual) and self.lost > 0.02 * self.judged

    def since(self, then: int) -> float:
        return (self.track.now - then) / 1e9

    def since_loss(self) -> float:
        return math.inf if self.loss is None else self.since(self.loss[0])

    def note_congestion(self) -> None:
        self.loss = (self.track.now, self.window)

    def set_shallow(self, shallow: float) -> None:
        self.shallow, self.shallow_at = clamp(shallow, 0.0, 1.0), self.track.now

    def note_shallow(self, queue: float, noise: float) -> None:
        if queue > max(SHALLOW_S, noise):
            self.shallow = 1.0
            self.set_shallow(0.5 * queue / self.target())

    def note_cut(self) -> None:
        self.cut_at = self.rounds
        self.lost = self.judged = self.growth = 0.0
        self.calm = 0
        self.has_emptied = False

    def cut(self, share: float) -> None:
        self.queue = max(share * self.rtt() - self.least, 0.0)
        self.set_window(share * self.window)
        self.note_cut()

    def enter_alone(self) -> None:
        self.state, self.fails = State.ALONE, 0
        self.note_cut()

    # The states.

    def end_start(self, bandwidth: float, queue: float) -> None:
        if self.is_heavy():
            self.note_congestion()
            self.note_shallow(queue, self.least / 16)
        if bandwidth > 0:
            self.set_window(min(self.window, bandwidth * self.least))
        self.enter_alone()

    def watch_start(self, received: int) -> None:
        queue = self.newest - self.least
        is_above = queue > max(self.target() / 2, self.least / 8)
        self.above = self.above + 1 if is_above else 0
        if self.above >= 3:
            bandwidth = self.bandwidth()
            self.end_start(bandwidth if bandwidth < math.inf else 0.0, queue)
        elif self.round.is_held:
            self.set_window(self.window + 0.6 * received)

    def start(self) -> None:
        if self.is_heavy() or self.queue > max(self.target() / 2, self.least / 16):
            self.end_start(0.97 * self.round.bandwidth, max(self.round.rtts) - self.least)

    def alone(self) -> None:
        target, since = self.target(), self.rounds - self.cut_at
        keep = min(1.0, (self.least + min(0.2e-3, target / 4)) / self.rtt())
        if self.queue < target / 2:
            self.has_emptied, self.fails = True, 0
        self.calm = self.calm + 1 if self.queue < target / 4 and self.round.is_held else 0
        if since >= 2 and self.is_heavy():
            self.cut_heavy(keep)
        elif since >= 3 and self.queue >= target:
            self.cut_queue(keep, target)
        elif since >= 3 and self.round.is_held:
            self.grow(target)
        if self.shallow < 1 and self.since(self.shallow_at) >= 30 * self.rtt():
            self.set_shallow(2 * self.shallow)

    def cut_heavy(self, keep: float) -> None:
        through = 0.97 * self.round.bandwidth * self.least / self.window
        share = max(min(0.85, keep), min(1.0, through))
        top = self.tops.get()
        is_severe = self.lost > 0.1 * self.judged
        self.note_congestion()
        if self.queue > top / 2:
            self.note_shallow(top, self.least / MARKS)
        self.cut(0.7 * share if is_severe else share)

    def cut_queue(self, keep: float, target: float) -> None:
        if not self.has_emptied:
            self.before = self.window if self.fails == 0 else self.before
            is_tiny = self.before < 4 * self.datagram
            self.fails += not is_tiny or self.queue > 1.5 * target
        if self.fails >= 3:
            self.enter_compete()
        else:
            self.cut(0.97 * keep)

    def grow(self, target: float) -> None:
        quarter = self.datagram / 4
        if self.growth > 0 or self.calm >= 8:
            self.growth = max(self.growth, 1.0) * 1.5 if self.calm > 0 else 0.0
        wanted = target / 8 * math.pow(REFERENCE, 0.75) * math.pow(self.rate(), 0.25)
        most = max(self.rate() * target / 2, self.window / 8)
        step = max(min(wanted, most), quarter) * max(self.growth, 1.0)
        self.set_window(self.window + min(step, max(self.window / 2, quarter)))

    def enter_compete(self) -> None:
        before = self.before
        if self.loss is not None and self.since_loss() < max(1.0, 60 * self.rtt()):
            before = 0.7 * self.loss[1]
        self.set_window(max(before, self.window))
        self.state, self.most, self.epoch = State.COMPETE, self.window, self.track.now
        self.has_lost, self.cuts = False, 0
        self.note_cut()

    def cubic(self) -> float:
        most, t = self.most / 1500, self.since(self.epoch)
        distance = t - math.cbrt(0.625 * most)
        reno = 0.75 * most + 0.43 * t / self.rtt()
        return 1500 * max(0.4 * distance * distance * distance + most, reno)

    def compete(self) -> None:
        is_full = self.round.has_loss and self.queue > self.tops.get() / 2
        self.calm = self.calm + 1 if self.queue < self.target() / 2 else 0
        if self.calm >= 3:
            self.enter_alone()
        elif self.rounds - self.cut_at >= 2 and (is_full or self.is_heavy()):
            self.cut_cubic()
        elif self.round.is_held:
            is_new = not self.has_lost and self.since_loss() > max(5.0, 100 * self.rtt())
            wanted = 1.1 * self.window if is_new else self.cubic()
            self.set_window(max(self.window, min(wanted, 1.5 * self.window)))

    def cut_cubic(self) -> None:
        self.note_congestion()
        self.most = 0.9 * self.window if self.window < self.most else self.window
        self.epoch, self.has_lost, self.kept = self.track.now, True, self.window
        self.note_cut()
        self.cuts += 1
        share = 0.75
        if self.cuts >= 2:
            self.cuts, self.state = 0, State.TEST
            share = min(share, 0.95 * self.least / self.rtt())
        self.set_window(share * self.window)

    def test(self) -> None:
        if self.queue < self.target() / 2:
            self.enter_alone()
        elif self.rounds - self.cut_at >= 3:
            self.state = State.COMPETE
            self.set_window(0.75 * self.kept)
            self.note_cut()


class Arrival:
    def __init__(self) -> None:
        self.highest = self.received = self.since = self.missing = 0
        self.now = self.highest_at = 0
        self.told: int | None = None
        self.has_news = False

    def on_data(self, first: int, end: int, now: int) -> None:
        if end <= first:
            return
        self.now = later(self.now, now)
        self.has_news = True
        self.received += end - first
        if end <= self.highest:
            self.since += end - first
            return
        self.missing += max(first - self.highest, 0)
        self.highest, self.highest_at, self.since = end, self.now, 0

    def due(self, rtt: int) -> int:
        if not self.has_news:
            return NEVER
        return self.now if self.told is None else max(self.told + period_ns(rtt), self.now)

    def tell(self, contiguous: int, now: int) -> Item:
        self.told, self.has_news = later(self.now, now), False
        hold = min(self.told - self.highest_at, HOLD_MAX_NS)
        return Item(
            contiguous=min(contiguous, self.highest),
            highest=self.highest,
            received=self.received,
            since=self.since,
            missing=self.missing,
            clock=self.now,
            hold=hold,
            fresh=min(self.told - self.now, HOLD_MAX_NS),
        )
