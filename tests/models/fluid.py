"""A closed loop of the laws with a fluid for data, to judge their parameters in seconds.

``group``: one sender and receivers whose capacity varies (the base scenario of the experiments).
``share``: several senders into one receiver. The receivers' fill and the senders' rate are the
models that tests/unit/test_flow_models.py compares with the C laws. Bytes that overrun a buffer are
lost for good and counted.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .fill import Due, Facts, Fill, fair_share
from .numbers import NS_PER_MS, NS_PER_S
from .rates import Rate, Report

MB = 1e6
BUFFER = 4 << 20
MTU = 1408
NOISE_NS = 10 * NS_PER_MS  # how long a receiver stays faster or slower than usual

Level = Callable[[float], float]
Law = Callable[[int], Rate]


@dataclass
class Receiver:
    capacity: Level  # bytes/s at a time in seconds
    noise: float = 0.0
    dies_s: float = math.inf  # sends nothing from then on
    evicted_s: float = math.inf  # the sender ignores it from then on
    consumed: float = 0.0
    lost: float = 0.0
    queue: float = 0.0
    factor: float = 1.0
    fill: Fill = field(default_factory=Fill)

    def is_there(self, now_s: float) -> bool:
        return now_s < min(self.dies_s, self.evicted_s)

    def take(self, amount: float, now_s: float, dt: float, buffer: int) -> float:
        """Bytes that arrive and leave in a step; the capacity is without its noise."""
        capacity = self.capacity(now_s)
        self.queue += amount
        self.lost += max(0.0, self.queue - buffer)
        self.queue = min(self.queue, float(buffer))
        eaten = min(self.queue, capacity * self.factor * dt)
        self.queue -= eaten
        self.consumed += eaten
        return capacity


@dataclass
class Outcome:
    utilisation: float = 0.0  # delivered to the slowest living receiver / integral of its capacity
    overrun: float = 0.0  # lost / sent to all receivers
    report_count: int = 0
    times_s: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    queues: list[float] = field(default_factory=list)  # the longest queue, in bytes

    def queue_ms(self, share: float, capacity: float = 100 * MB) -> float:
        return (
            sorted(self.queues)[min(int(len(self.queues) * share), len(self.queues) - 1)]
            / capacity
            * 1000
        )

    def reached_s(self, since_s: float, low: float, high: float, hold_s: float = 0.2) -> float:
        """Time until the rate and its mean over the next ``hold_s`` lie between the limits."""
        window = max(1, round(hold_s * len(self.times_s) / self.times_s[-1]))
        for i, (at_s, rate) in enumerate(zip(self.times_s, self.rates, strict=True)):
            mean = sum(self.rates[i : i + window]) / window
            if at_s >= since_s and low <= rate <= high and low <= mean <= high:
                return at_s - since_s
        return math.inf


class Credit:
    """fc=min with the free buffer as window: no rate law."""

    def __init__(self, count: int, buffer: int, timeout_s: float) -> None:
        self.limits = {i: float(buffer) for i in range(count)}
        self.heard = dict.fromkeys(range(count), 0.0)
        self.timeout_s = timeout_s

    def on_status(self, i: int, edge: float, now_s: float) -> None:
        self.limits[i], self.heard[i] = max(self.limits[i], edge), now_s

    def room(self, sent: float, now_s: float) -> float:
        living = [
            limit for i, limit in self.limits.items() if now_s - self.heard[i] < self.timeout_s
        ]
        return max(0.0, min(living) - sent) if living else 0.0


def group(
    law: Law | None,
    receivers: list[Receiver],
    seconds: float,
    *,
    rtt_s: float = 1e-3,
    buffer: int = BUFFER,
    step_ns: int = 250_000,
    seed: int = 1,
    timeout_s: float = 1.0,
    rate_most: float = 1000 * MB,
    demand: Level | None = None,
) -> Outcome:
    """``law`` None: credit alone. ``demand``: bytes/s that the application sends."""
    dice, outcome, dt = random.Random(seed), Outcome(), step_ns / NS_PER_S
    rate, credit = law(0) if law else None, Credit(len(receivers), buffer, timeout_s)
    if rate:
        rate.params.is_group = len(receivers) > 1
    delay, rtt_ns = max(1, round(rtt_s / 2 / dt)), round(rtt_s * NS_PER_S)
    forward = deque([0.0] * delay)
    backward: deque[list[tuple[int, Report | None, float]]] = deque([] for _ in range(delay))
    sent = arrived = integral = 0.0
    for tick in range(round(seconds / dt)):
        now_ns, now_s = tick * step_ns, tick * dt
        if now_ns % NOISE_NS < step_ns:
            for r in receivers:
                r.factor = max(0.05, 1 + r.noise * dice.gauss(0, 1))
        for i, report, edge in backward.popleft():
            credit.on_status(i, edge, now_s)
            if rate and report:
                rate.on_report(report, now_ns)
        amount = rate_most * dt if demand is None else min(rate_most, demand(now_s)) * dt
        if rate:
            rate.on_cycle(now_ns, int(sent), rtt_ns, buffer)
            amount = min(amount, rate.rate * dt)
        else:
            amount = min(amount, credit.room(sent, now_s))
        sent += amount
        forward.append(amount)
        amount = forward.popleft()
        arrived += amount
        back: list[tuple[int, Report | None, float]] = []
        slowest, longest = math.inf, 0.0
        for i, r in enumerate(receivers):
            if not r.is_there(now_s):
                continue
            slowest = min(slowest, r.take(amount, now_s, dt, buffer))
            longest = max(longest, r.queue)
            report = None
            if rate:
                facts = Facts(
                    now_ns, int(arrived), int(arrived), int(arrived - r.queue), buffer, rtt_ns, MTU
                )
                report = report_of(i, r.fill, r.fill.update(facts), r.fill.drain)
                outcome.report_count += report is not None
            if report or tick % 4 == 0:
                back.append((i, report, r.consumed + r.lost + buffer))
        backward.append(back)
        integral += slowest * dt
        if tick % 4 == 0:
            outcome.times_s.append(now_s)
            outcome.rates.append(rate.rate if rate else amount / dt)
            outcome.queues.append(longest)
    living = [r for r in receivers if r.is_there(seconds)]
    outcome.utilisation = min(r.consumed for r in living) / integral
    outcome.overrun = sum(r.lost for r in receivers) / max(1.0, arrived * len(receivers))
    return outcome


def report_of(receiver_id: int, fill: Fill, due: Due, drain: float) -> Report | None:
    """The report that is due, which counts as sent. ``drain``: the sender's share of it."""
    if due == Due.QUIET:
        return None
    fill.on_sent()
    return Report(
        receiver_id,
        due == Due.CLEAR,
        fill.fill,
        drain,
        fill.allowed_at(drain),
        fill.buffer,
        fill.rtt,
    )


def share_of(i: int, fills: list[Fill]) -> float:
    """What sender ``i`` of one consumer may have of what it drains."""
    others = [fill for number, fill in enumerate(fills) if number != i]
    return fair_share(
        [
            (fills[i].drain, True),
            *((f.drain if f.is_reporting else f.taking, f.is_reporting) for f in others),
        ]
    )


def steps(*pairs: tuple[float, float]) -> Level:
    """A step function: each value holds from its time on."""

    def at(now_s: float) -> float:
        return next(level for since, level in reversed(pairs) if now_s >= since)

    return at


def paused(level: Level, *pauses: tuple[float, float]) -> Level:
    return lambda now_s: (
        0.0 if any(at <= now_s < at + length for at, length in pauses) else level(now_s)
    )


def base_scenario(noise: float = 0.15) -> list[Receiver]:
    """Four receivers of 100 MB/s: one dies, one pauses twice, one runs at 40 % for two seconds."""
    flat = steps((0, 100 * MB))
    return [
        Receiver(flat, noise=noise),
        Receiver(flat, noise=noise, dies_s=2.0),
        Receiver(paused(flat, (3.0, 0.2), (8.0, 0.2)), noise=noise),
        Receiver(steps((0, 100 * MB), (4.0, 40 * MB), (6.0, 100 * MB)), noise=noise),
    ]


def drain_fifo(queues: list[float], room: float) -> list[float]:
    """The consumer reads in order of arrival: a sender's share is the share of its queue."""
    total = sum(queues)
    left = max(0.0, 1 - room / total) if total > 0 else 0.0
    return [queue * left for queue in queues]


def drain_in_turn(queues: list[float], room: float) -> list[float]:
    """The consumer polls the images in turn: a queue below an equal share is served whole."""
    left = list(queues)
    busy = sorted((i for i, queue in enumerate(left) if queue > 0), key=lambda i: left[i])
    while busy:
        eaten = min(left[busy[0]], room / len(busy))
        room -= eaten
        left[busy.pop(0)] -= eaten
    return left


def jain(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values)) if any(values) else 0.0


@dataclass
class Shared:
    rates: list[list[float]]  # for each half second, the mean of each sender
    utilisation: float
    overrun: float


def share(
    laws: list[Law],
    seconds: float,
    *,
    capacity: float = 100 * MB,
    drain: Callable[[list[float], float], list[float]] = drain_fifo,
    rtt_s: float = 1e-3,
    buffer: int = BUFFER,
    step_ns: int = 500_000,
    noise: float = 0.15,
    seed: int = 1,
) -> Shared:
    """Several senders into one receiver; each has an image and a buffer of its own."""
    dice, dt, n = random.Random(seed), step_ns / NS_PER_S, len(laws)
    rates, fills = [law(0) for law in laws], [Fill() for _ in laws]
    delay, rtt_ns = max(1, round(rtt_s / 2 / dt)), round(rtt_s * NS_PER_S)
    forward = [deque([0.0] * delay) for _ in laws]
    backward: list[deque[Report | None]] = [deque([None] * delay) for _ in laws]
    sent, arrived, queues, marks = [0.0] * n, [0.0] * n, [0.0] * n, [0.0] * n
    means: list[list[float]] = []
    integral = lost = 0.0
    for tick in range(round(seconds / dt)):
        now_ns = tick * step_ns
        if now_ns % NOISE_NS < step_ns:
            factor = max(0.05, 1 + noise * dice.gauss(0, 1))
        for i, rate in enumerate(rates):
            if report := backward[i].popleft():
                rate.on_report(report, now_ns)
            rate.on_cycle(now_ns, int(sent[i]), rtt_ns, buffer)
            sent[i] += rate.rate * dt
            forward[i].append(rate.rate * dt)
            amount = forward[i].popleft()
            arrived[i] += amount
            lost += max(0.0, queues[i] + amount - buffer)
            queues[i] = min(queues[i] + amount, float(buffer))
        integral += capacity * factor * dt
        queues = drain(queues, capacity * factor * dt)
        for i, fill in enumerate(fills):
            came = int(arrived[i])
            facts = Facts(now_ns, came, came, int(arrived[i] - queues[i]), buffer, rtt_ns, MTU)
            backward[i].append(report_of(1, fill, fill.update(facts), share_of(i, fills)))
        if (tick + 1) % round(0.5 / dt) == 0:
            means.append([(s - m) / 0.5 for s, m in zip(sent, marks, strict=True)])
            marks = list(sent)
    return Shared(
        means, (sum(arrived) - lost - sum(queues)) / integral, lost / max(1.0, sum(arrived))
    )
