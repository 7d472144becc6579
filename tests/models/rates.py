"""Models of flow/rate*.c: the rate of a sender after the reports it received.

Naive on purpose: sources are a dict, and a window is a list of the cuts made in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .fill import BUFFER_MAX, RTT_MAX_NS, fresh_ns, period_ns
from .numbers import NEVER, NS_PER_MS, NS_PER_S, RATE_MAX, TIME_MAX_NS, clamp, later

SOURCES_MAX = 16
SOURCE_LIFE_NS = 2 * NS_PER_S
SAMPLE_NS = 100 * NS_PER_MS
SAMPLES = 20
DETECT_NS = 200_000


@dataclass
class Report:
    """The contents of a fill NAK (flow/fill_report.h)."""

    receiver_id: int = 0
    is_clear: bool = False
    fill: float = 0.0
    drain: float = 0.0
    allowed: float = 0.0
    buffer_bytes: int = 0
    rtt_ns: int = 0

    def cleaned(self) -> Report:
        return replace(
            self,
            fill=clamp(self.fill, 0.0, 2.0),
            drain=clamp(self.drain, 0.0, RATE_MAX),
            allowed=clamp(self.allowed, 0.0, RATE_MAX),
            buffer_bytes=max(0, min(self.buffer_bytes, BUFFER_MAX)),
            rtt_ns=max(0, min(self.rtt_ns, RTT_MAX_NS)),
        )


@dataclass
class Params:
    initial: float = 0.0
    least: float = 4096.0
    most: float = RATE_MAX
    floor_share: float = 0.05
    target_delay_ns: int = 10 * NS_PER_MS
    detect_ns: int = DETECT_NS
    is_group: bool = False
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
        self.younger, self.older, self.count = self.rate, 0.0, 0  # samples of what was sent
        self.sampled = (self.now, 0)
        self.reports = self.sample_reports = 0  # that ask for a rate
        self.start()

    def advance(self, now: int) -> None:
        self.now = later(self.now, now)
        for key in [k for k, (at, _) in self.sources.items() if self.now - at >= SOURCE_LIFE_NS]:
            del self.sources[key]

    def highest(self) -> float:
        return max(self.younger, self.older)

    def take_sample(self) -> None:
        at, sent = self.sampled
        if self.now - at < SAMPLE_NS:
            return
        used = float(self.sent - sent) / float(self.now - at) * 1e9
        self.sampled = (self.now, self.sent)
        is_used = used >= self.rate / 2.0 or self.reports != self.sample_reports
        self.sample_reports = self.reports
        if is_used and self.count == SAMPLES:
            self.younger, self.older, self.count = 0.0, self.younger, 0
        self.younger = max(self.younger, clamp(used, 0.0, RATE_MAX))
        self.count += is_used
        self.set(self.rate)

    def restart(self, rate: float) -> None:
        self.younger = self.older = 0.0
        self.set(rate)
        self.younger = self.rate

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
        self.reports += not report.is_clear
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
    BACK, GROWTH, GROWTH_MOST, GROWTHS = 1.5, 0.03, 0.5, 8
    PROVEN = 2.0
    BELIEVED_RTT_NS = 200 * NS_PER_MS

    def start(self) -> None:
        if self.params.initial <= 0:
            self.set(self.FIRST)
        self.is_episode = False
        self.height = self.back_to = self.jump = (
            0.0  # before the episode; on the way back; its step
        )
        self.drain, self.growths = 0.0, 0
        self.is_starting, self.has_begun = True, False
        self.due = self.now

    def trip(self) -> int:
        """The longest round trip that somebody knows."""
        most = max(4 * self.rtt, self.BELIEVED_RTT_NS)
        return max([self.rtt, *(min(r.rtt_ns, most) for _, r in self.sources.values())])

    def reach_s(self) -> float:
        return (self.trip() + period_ns(self.trip())) / 1e9

    def tell_margin(self) -> None:
        reported = [r.buffer_bytes for _, r in self.sources.values() if r.buffer_bytes > 0]
        buffer = float(min(reported, default=self.buffer))
        steered_s = max(self.params.target_delay_ns, self.trip()) / 1e9
        queue = clamp(self.rate * steered_s, 0.0, buffer / 4.0)
        self.margin = (buffer - queue) / (
            self.rate * (self.reach_s() + self.params.detect_ns / 1e9)
        )

    def follow(self) -> bool:
        """Go to the smallest rate that a fresh report asks for."""
        fresh = fresh_ns(self.trip())
        asked = [
            r.allowed
            for at, r in self.sources.values()
            if not r.is_clear and self.now - at <= fresh
        ]
        if asked:
            self.set(min(asked))
        return bool(asked)

    def hear(self, report: Report) -> None:
        if not report.is_clear and not self.is_episode:
            is_guess = self.is_starting and self.params.initial <= 0
            self.height = RATE_MAX if is_guess else max(self.rate, self.back_to)
            self.back_to, self.growths = 0.0, 0
            self.is_episode, self.is_starting = True, False
        if self.follow():
            self.jump = 0.0
            self.due = self.now + self.next_growth()
        elif report.is_clear and self.is_episode:
            self.hear_clear(report)
        self.take_use()
        self.tell_margin()

    def hear_clear(self, report: Report) -> None:
        free = clamp(1.0 - report.fill, 0.0, 1.0) * report.buffer_bytes
        steered_s = max(self.params.target_delay_ns, self.trip()) / 1e9
        room = clamp(free / 2.0, 0.0, 2.0 * report.drain * steered_s)
        jump = report.drain + room / self.reach_s()
        self.drain = report.drain
        if not self.params.is_group:
            self.jump_back(jump)
            return
        if self.jump <= 0:
            self.due = self.now + self.trip() + period_ns(self.trip())
        self.jump = min(self.jump, jump) if self.jump > 0 else jump

    def jump_back(self, jump: float) -> None:
        self.height = min(self.height, self.PROVEN * max(self.drain, self.highest()))
        self.is_episode, self.jump, self.back_to = False, 0.0, self.height
        self.set(max(self.rate, min(jump, self.height)))
        self.due = self.now + max(self.trip(), NS_PER_MS)

    def next_growth(self) -> int:
        return max(2 * self.trip(), period_ns(0))

    def next_step(self) -> int:
        if self.is_starting:
            return max(2 * self.trip(), self.params.target_delay_ns)
        return max(self.trip(), NS_PER_MS) if self.rate < self.back_to else self.next_growth()

    def step(self) -> None:
        used = self.take_use()
        if self.is_starting and not self.has_begun:
            self.begin()
        elif self.follow():
            self.due = self.now + self.next_growth()
        elif self.jump > 0:
            self.jump_back(self.jump)
        else:
            self.is_episode = False
            if used >= self.rate / 2.0:
                self.grow()
            self.due = self.now + self.next_step()
        self.tell_margin()

    def begin(self) -> None:
        self.due = self.now
        if self.buffer == 0 and self.sent == 0:
            return  # the first status message carries the buffer; before it nothing can be sent
        self.has_begun = True
        if self.params.initial <= 0 and self.buffer > 0:
            half = max(self.FIRST, self.buffer / 2.0 / self.reach_s())
            self.set(half if self.params.is_group else RATE_MAX)
        self.due += self.next_step()

    def grow(self) -> None:
        if self.is_starting:
            self.set(2.0 * self.rate)
        elif self.rate < self.back_to:
            self.set(min(self.BACK * self.rate, self.back_to))
        else:
            self.back_to = 0.0
            growth = min(self.GROWTH * 2**self.growths, self.GROWTH_MOST)
            self.set((1.0 + growth) * self.rate)
            self.growths = min(self.growths + 1, self.GROWTHS)


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
        if report.is_clear or cut <= 0:
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
        if report.is_clear:
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
