"""Models of flow/rate*.c: the rate of a sender after the reports it received.

Naive on purpose: sources are a dict, a window is a list of the strengths reported in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .numbers import NEVER, NS_PER_MS, NS_PER_S, RATE_MAX, TIME_MAX_NS, clamp, later
from .reaction import BUFFER_MAX, DETECT_NS, RTT_MAX_NS, fill_low, margin_of, window_ns

SOURCES_MAX = 16
SOURCE_LIFE_NS = 2 * NS_PER_S
SAMPLE_NS = 100 * NS_PER_MS
SAMPLES = 20
SENDERS_MAX = 1024


@dataclass
class Report:
    """The contents of a fill NAK (flow/fill_report.h)."""

    receiver_id: int = 0
    strength: float = 0.0
    fill: float = 0.0
    drain: float = 0.0
    drain_all: float = 0.0
    variation: float = 0.0
    sender_count: int = 1
    buffer_bytes: int = 0
    rtt_ns: int = 0

    def cleaned(self) -> Report:
        drain = clamp(self.drain, 0.0, RATE_MAX)
        return replace(
            self,
            strength=clamp(self.strength, 0.0, 1.0),
            fill=clamp(self.fill, 0.0, 2.0),
            drain=drain,
            drain_all=clamp(self.drain_all, drain, RATE_MAX),
            variation=clamp(self.variation, 0.0, 1.0),
            sender_count=max(1, min(self.sender_count, SENDERS_MAX)),
            buffer_bytes=max(0, min(self.buffer_bytes, BUFFER_MAX)),
            rtt_ns=max(0, min(self.rtt_ns, RTT_MAX_NS)),
        )


@dataclass
class Params:
    initial: float = 0.0
    least: float = 65536.0
    most: float = RATE_MAX
    floor_share: float = 0.05
    target_delay_ns: int = 10 * NS_PER_MS
    detect_ns: int = DETECT_NS
    window_ns: int = 50 * NS_PER_MS
    step_share: float = 0.01
    increase: float = 1e6
    decrease: float = 0.5
    datagrams_per_s: float = 0.0
    triggers: tuple[float, ...] = (0.5, 0.75, 0.87, 1.0)
    cuts: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75)


class Rate:
    """Common to all laws: time, use, the history for the floor, and the recent sources."""

    name = "unlimited"
    has_steps = True

    def __init__(self, params: Params, now: int) -> None:
        least = clamp(params.least, 1.0, RATE_MAX)
        self.params = replace(
            params,
            least=least,
            most=clamp(params.most, least, RATE_MAX),
            initial=clamp(params.initial, 0.0, RATE_MAX),
            floor_share=clamp(params.floor_share, 0.0, 1.0),
            target_delay_ns=max(1, min(params.target_delay_ns, RTT_MAX_NS)),
            detect_ns=max(0, min(params.detect_ns, RTT_MAX_NS)),
            window_ns=max(NS_PER_MS, min(params.window_ns, RTT_MAX_NS)),
            step_share=clamp(params.step_share, 0.0, 1.0),
            increase=clamp(params.increase, 0.0, RATE_MAX),
            decrease=clamp(params.decrease, 0.0, 1.0),
            datagrams_per_s=clamp(params.datagrams_per_s, 0.0, RATE_MAX),
        )
        self.now = later(-TIME_MAX_NS, now)
        self.rate = clamp(self.params.initial, self.params.least, self.params.most)
        self.datagrams = RATE_MAX
        self.due = NEVER
        self.margin = 0.0
        self.sources: dict[int, tuple[int, Report]] = {}
        self.rtt = self.buffer = self.sent = 0
        self.mark = (self.now, 0)
        self.samples, self.before = [self.rate], 0.0  # the first sample does not count
        self.sampled = (self.now, 0)
        self.start()

    def advance(self, now: int) -> None:
        self.now = later(self.now, now)
        for key in [k for k, (at, _) in self.sources.items() if self.now - at >= SOURCE_LIFE_NS]:
            del self.sources[key]

    def highest(self) -> float:
        return max(*self.samples, self.before)

    def take_sample(self) -> None:
        at, sent = self.sampled
        if self.now - at < SAMPLE_NS:
            return
        used = float(self.sent - sent) / float(self.now - at) * 1e9
        self.sampled = (self.now, self.sent)
        if used < self.rate / 2.0:
            return
        if len(self.samples) == SAMPLES + 1:
            self.samples, self.before = [0.0], max(self.samples)
        self.samples.append(clamp(used, 0.0, RATE_MAX))
        self.set(self.rate)

    def restart(self, rate: float) -> None:
        count = len(self.samples) - 1
        self.samples, self.before = [0.0], 0.0
        self.set(rate)
        self.samples = [self.rate] + [0.0] * count

    def set(self, rate: float) -> None:
        floor = self.params.floor_share * self.highest()
        self.rate = clamp(max(rate, floor), self.params.least, self.params.most)

    def take_use(self) -> float:
        """Bytes per second since the last mark; sets a new mark."""
        at, sent = self.mark
        self.mark = (self.now, self.sent)
        return float(self.sent - sent) / float(self.now - at) * 1e9 if self.now > at else 0.0

    def on_report(self, report: Report, now: int) -> None:
        report = report.cleaned()
        self.advance(now)
        if report.receiver_id not in self.sources and len(self.sources) == SOURCES_MAX:
            del self.sources[min(self.sources, key=lambda key: self.sources[key][0])]
        self.sources[report.receiver_id] = (self.now, report)
        self.hear(report)

    def on_cycle(self, now: int, sent: int, rtt: int = 0, buffer: int = 0) -> int:
        self.advance(now)
        self.sent = max(self.sent, min(sent, 1 << 62))
        self.rtt = max(0, min(rtt, RTT_MAX_NS))
        self.buffer = max(0, min(buffer, BUFFER_MAX))
        self.take_sample()
        if self.has_steps and self.now >= self.due:
            self.step()
        return self.due

    def change(self, rate: float, datagrams: float, now: int) -> None:
        self.advance(now)
        self.params.most = clamp(rate, self.params.least, RATE_MAX)
        self.datagrams = clamp(datagrams, 0.0, RATE_MAX) or RATE_MAX
        self.set(self.rate if self.has_steps else self.params.most)

    def start(self) -> None: ...
    def hear(self, report: Report) -> None: ...
    def step(self) -> None: ...


class Unlimited(Rate):
    has_steps = False

    def start(self) -> None:
        self.params.least = self.params.most = RATE_MAX
        self.set(RATE_MAX)


class Fixed(Rate):
    name = "fixed"
    has_steps = False

    def start(self) -> None:
        self.params.least = 1.0
        self.params.most = self.params.initial or RATE_MAX
        self.set(self.params.most)
        self.datagrams = self.params.datagrams_per_s or RATE_MAX


class Adaptive(Rate):
    name = "adaptive"
    FIRST = 1e6

    def start(self) -> None:
        if self.params.initial <= 0:
            self.set(self.FIRST)
        self.target = self.base = self.rate
        self.opened: int | None = None
        self.heard: list[float] = []  # strengths in the window
        self.k = 0
        self.is_starting, self.has_begun = True, False
        self.settle()
        self.due = self.now

    def reports(self) -> list[Report]:
        return [report for _, report in self.sources.values()]

    def settle(self) -> None:
        buffers = [r.buffer_bytes for r in self.reports() if r.buffer_bytes > 0]
        drains = [r.drain for r in self.reports() if r.drain > 0]
        buffer = min(buffers, default=self.buffer)
        believed = max(4 * self.rtt, 200 * NS_PER_MS)
        rtt = max([self.rtt, *(min(r.rtt_ns, believed) for r in self.reports())])
        fastest = max(self.rate, self.target)
        low = fill_low(
            self.params.target_delay_ns,
            min(drains, default=0.0),
            buffer,
            rtt,
            fastest,
            self.params.detect_ns,
        )
        self.window = window_ns(buffer, low, fastest, rtt)
        self.reach = rtt + self.window
        self.margin = margin_of(buffer, low, fastest, self.reach, self.params.detect_ns)

    def hear(self, report: Report) -> None:
        if report.strength <= 0:
            return
        if self.opened is None or self.now - self.opened >= self.window:
            if self.k > 0 or self.is_starting:
                self.target = self.rate
                self.ceiling = max(self.highest(), self.rate)
            self.settle()
            self.opened, self.base, self.heard = self.now, self.rate, []
            self.is_starting = False
        if report.strength > max(self.heard, default=0.0):
            self.set(self.base * (1.0 - report.strength / 2.0))
        self.heard.append(report.strength)
        drains = [r.drain for r in self.reports() if r.drain > 0]
        if drains:
            self.target = clamp(
                min(drains) + self.increment(),
                0.0,
                self.ceiling + clamp(self.towards_fair(), 0.0, self.rate),
            )
        self.target = max(self.target, self.rate)
        self.k = 0
        self.due = self.now + self.reach
        self.take_use()

    def slowest(self) -> Report | None:
        """The report of the consumer with the lowest drain."""
        return min(
            (r for r in self.reports() if r.drain_all > 0), key=lambda r: r.drain_all, default=None
        )

    def towards_fair(self) -> float:
        """Half of the way to the fair share, if several senders share; negative above it."""
        slowest = self.slowest()
        if slowest is None or slowest.sender_count <= 1:
            return 0.0
        return (slowest.drain_all / slowest.sender_count - slowest.drain) / 2.0

    def increment(self) -> float:
        slowest = self.slowest()
        if slowest is None:
            return 0.003 * self.rate
        fair = slowest.drain_all / slowest.sender_count
        return clamp(
            clamp(slowest.variation / 4.0, 0.003, 0.03) * fair + self.towards_fair(), 0.0, self.rate
        )

    def step(self) -> None:
        used = self.take_use()
        if self.is_starting and not self.has_begun:
            if self.buffer == 0 and self.sent == 0:
                return  # the first status message carries the buffer; before it nothing can be sent
            self.has_begun = True
            self.settle()
            if self.params.initial <= 0 and self.buffer > 0:
                self.restart(max(self.FIRST, float(self.buffer) / 2.0 / float(self.reach) * 1e9))
                self.target = self.rate
            self.due = self.now + self.reach
            return
        self.settle()
        if used < self.rate / 2.0:
            self.due = self.now + self.reach
        elif self.is_starting:
            self.set(2.0 * self.rate)
            self.target = self.rate
            self.settle()
            self.due = self.now + max(self.reach, self.params.target_delay_ns)
        else:
            self.step_up()

    def step_up(self) -> None:
        start = self.rate
        self.k = min(self.k + 1, 1000)
        if self.k > 4:
            j = self.k - 4
            start = self.target
            growth = min(0.125 * 2.0 ** min(j - 1, 7), 0.5)
            self.target += max(self.increment() * min(j, 10), self.target * growth)
        elif self.k > 2:
            self.target += self.increment()
        self.target = clamp(self.target, 0.0, self.params.most)
        self.set((start + self.target) / 2.0)
        self.settle()
        rtt = self.reach - self.window
        is_probe = self.k > 4
        self.due = self.now + (
            max(2 * rtt, self.window // 2, self.params.target_delay_ns)
            if is_probe
            else max(rtt, self.window)
        )


class Nak(Rate):
    name = "nak"

    def start(self) -> None:
        if self.params.initial <= 0:
            self.set(self.params.most)
        self.base = self.rate
        self.opened: int | None = None
        self.heard: list[float] = []  # cuts in the window
        self.used = 0.0
        self.quiet = 0
        self.due = self.now + self.params.window_ns

    def hear(self, report: Report) -> None:
        pairs = zip(self.params.triggers, self.params.cuts, strict=True)
        cut = max((share for trigger, share in pairs if report.fill >= trigger), default=0.0)
        if cut <= 0:
            return
        if self.opened is None or self.now - self.opened >= self.params.window_ns:
            if self.opened is None:
                self.become_limiting(self.used or self.take_use())
            self.opened, self.base, self.heard = self.now, self.rate, []
        if cut > max(self.heard, default=0.0):
            self.set(self.base * (1.0 - cut))
        self.heard.append(cut)
        self.quiet = 0
        self.due = self.now + self.params.window_ns
        self.take_use()

    def become_limiting(self, used: float) -> None:
        if 0 < used < self.rate:
            self.restart(used)

    def step(self) -> None:
        self.used = self.take_use()
        self.due = self.now + self.params.window_ns
        if self.used >= self.rate / 2.0:
            self.quiet = min(self.quiet + 1, 20)
            self.set(self.rate + self.params.step_share * self.highest() * self.quiet)


class Aimd(Rate):
    name = "aimd"

    def start(self) -> None:
        self.cut_at: int | None = None
        self.due = self.now + self.round()

    def round(self) -> int:
        return max(self.rtt, 10 * NS_PER_MS)

    def hear(self, report: Report) -> None:
        if report.strength <= 0:
            return
        if self.cut_at is None or self.now - self.cut_at >= self.round():
            self.cut_at = self.now
            self.set(self.rate * self.params.decrease)
        self.due = self.now + self.round()
        self.take_use()

    def step(self) -> None:
        used = self.take_use()
        self.due = self.now + self.round()
        if used >= self.rate / 2.0:
            self.set(self.rate + self.params.increase)


LAWS = {law.name: law for law in (Adaptive, Nak, Fixed, Aimd, Unlimited)}
