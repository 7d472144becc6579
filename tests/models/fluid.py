"""A closed loop of the laws with fluid for data: one or several senders, receivers with a capacity over time."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .fill import Fill
from .numbers import NS_PER_MS, NS_PER_S
from .rates import Rate, Report

MB = 1e6


@dataclass
class Receiver:
    capacity: Callable[[float], float]  # bytes/s at a time in seconds
    dies_s: float = math.inf
    noise: float = 0.0
    consumed: float = 0.0
    queue: float = 0.0
    fill: Fill = field(default_factory=Fill)
    factor: float = 1.0
    noted: int = 0

    def capacity_at(self, now_s: float) -> float:
        return self.capacity(now_s) * self.factor


@dataclass
class Outcome:
    utilisation: float
    queue_p50_ms: float
    queue_p99_ms: float
    overrun: float
    naks: int
    rates: list[tuple[float, float, float]]
    delivered: float
    min_windows: list[float]


def run(
    law: Callable[[int], Rate] | None, receivers: list[Receiver], seconds: float, *, rtt_s: float = 1e-3, buffer: int = 4 << 20,
    step_ns: int = 250_000, seed: int = 1, noise_ns: int = 10 * NS_PER_MS, timeout_s: float = 5.0, max_rate: float = 1000 * MB,
    warmup_s: float = 0.0,
) -> Outcome:
    """``law`` None: credit alone (fc=min, window = free buffer)."""
    random_ = random.Random(seed)
    rate = law(0) if law else None
    delay = max(1, round(rtt_s / 2 * NS_PER_S / step_ns))
    forward: deque[float] = deque([0.0] * delay)
    backward: deque[list[tuple[int, Report]]] = deque([[] for _ in range(delay)])
    edges: deque[list[tuple[int, float]]] = deque([[] for _ in range(delay)])
    limits = {i: float(buffer) for i in range(len(receivers))}
    heard = {i: 0.0 for i in range(len(receivers))}
    sent = delivered_slowest = integral = overrun = arrived = 0.0
    delays: list[float] = []
    rates: list[tuple[float, float, float]] = []
    naks = 0
    dt = step_ns / NS_PER_S
    next_noise = 0
    begin = None
    for tick in range(round(seconds / dt)):
        now_ns, now_s = tick * step_ns, tick * dt
        if now_ns >= next_noise:
            next_noise += noise_ns
            for r in receivers:
                r.factor = max(0.05, 1 + r.noise * random_.gauss(0, 1)) if r.noise else 1.0
        for i, report in backward.popleft():
            if rate:
                rate.on_report(report, now_ns)
        for i, edge in edges.popleft():
            limits[i], heard[i] = max(limits.get(i, 0), edge), now_s
        if rate:
            rate.on_cycle(now_ns, int(sent), int(rtt_s * NS_PER_S), buffer)
            amount = min(rate.rate, max_rate) * dt
        else:
            living = [limits[i] for i in limits if now_s - heard[i] < timeout_s]
            amount = max(0.0, min(min(living) - sent, max_rate * dt)) if living else 0.0
        sent += amount
        forward.append(amount)
        amount = forward.popleft()
        arrived += amount
        out: list[tuple[int, Report]] = []
        out_edges: list[tuple[int, float]] = []
        slowest = math.inf
        worst = 0.0
        for i, r in enumerate(receivers):
            if now_s >= r.dies_s:
                continue
            capacity = r.capacity_at(now_s)
            slowest = min(slowest, capacity)
            r.queue += amount
            if r.queue > buffer:
                overrun += r.queue - buffer
                r.consumed += r.queue - buffer  # lost for good: counted, and skipped
                r.queue = buffer
            eaten = min(r.queue, capacity * dt)
            r.queue -= eaten
            r.consumed += eaten
            worst = max(worst, r.queue)
            if rate:
                if r.fill.update(now_ns, int(arrived), int(arrived - r.queue), buffer, int(rtt_s * NS_PER_S)):
                    naks += 1
                    out.append((i, Report(i, r.fill.strength, r.fill.fill, r.fill.drain, r.fill.drain, r.fill.variation, 1, buffer, int(rtt_s * NS_PER_S))))
                    r.fill.on_told(r.fill.strength)
            if tick % 2 == 0:
                out_edges.append((i, r.consumed + buffer))
        backward.append(out)
        edges.append(out_edges)
        if now_s >= warmup_s:
            alive = [r for r in receivers if now_s < r.dies_s]
            if begin is None:
                begin = min(r.consumed for r in alive)
            integral += slowest * dt
            if tick % 4 == 0:
                nominal = max(1.0, min(r.capacity(now_s) or 100 * MB for r in alive))
                delays.append(worst / (100 * MB) * 1000)
                rates.append((now_s, rate.rate if rate else amount / dt, worst))
            delivered_slowest = min(r.consumed for r in alive) - begin
    delays.sort()
    return Outcome(
        delivered_slowest / integral, delays[len(delays) // 2], delays[int(len(delays) * 0.99)], overrun / max(1.0, sent * len(receivers)), naks, rates,
        delivered_slowest, [],
    )


def steps(*pairs: tuple[float, float]) -> Callable[[float], float]:
    """Capacity: from each time on the value beside it."""

    def at(now_s: float) -> float:
        value = pairs[0][1]
        for since, level in pairs:
            if now_s >= since:
                value = level
        return value

    return at


def paused(capacity: Callable[[float], float], *pauses: tuple[float, float]) -> Callable[[float], float]:
    return lambda now_s: 0.0 if any(a <= now_s < a + d for a, d in pauses) else capacity(now_s)


def four_receivers(noise: float = 0.15) -> list[Receiver]:
    """The base scenario of the design: one dies, one pauses, one has a dip in capacity."""
    flat = steps((0, 100 * MB))
    return [
        Receiver(flat, noise=noise),
        Receiver(flat, noise=noise, dies_s=2.0),
        Receiver(paused(flat, (3.0, 0.2), (7.0, 0.2)), noise=noise),
        Receiver(steps((0, 100 * MB), (4.0, 40 * MB), (6.0, 100 * MB)), noise=noise),
    ]


def share(
    laws: list[Callable[[int], Rate]], starts_s: list[float], seconds: float, *, capacity: float = 100 * MB, is_fifo: bool = True, rtt_s: float = 1e-3,
    buffer: int = 4 << 20, step_ns: int = 500_000, noise: float = 0.15, seed: int = 1,
) -> tuple[list[list[float]], float, float]:
    """Several senders into one receiver: per half second each one's mean rate; the utilisation; the overrun."""
    random_ = random.Random(seed)
    rates = [law(0) for law in laws]
    n = len(rates)
    fills = [Fill() for _ in rates]
    delay = max(1, round(rtt_s / 2 * NS_PER_S / step_ns))
    forward = [deque([0.0] * delay) for _ in rates]
    backward: list[deque[Report | None]] = [deque([None] * delay) for _ in rates]
    sent, arrived, queue = [0.0] * n, [0.0] * n, [0.0] * n
    mean: list[list[float]] = []
    marks = [0.0] * n
    dt = step_ns / NS_PER_S
    factor, integral, lost = 1.0, 0.0, 0.0
    rtt_ns = int(rtt_s * NS_PER_S)
    drains = [0.0] * n
    for tick in range(round(seconds / dt)):
        now_ns, now_s = tick * step_ns, tick * dt
        if tick % round(0.01 / dt) == 0:
            factor = max(0.05, 1 + noise * random_.gauss(0, 1))
        for i, rate in enumerate(rates):
            if now_s < starts_s[i]:
                continue
            report = backward[i].popleft()
            if report is not None:
                rate.on_report(report, now_ns)
            rate.on_cycle(now_ns, int(sent[i]), rtt_ns, buffer)
            amount = min(rate.rate, 1000 * MB) * dt
            sent[i] += amount
            forward[i].append(amount)
            amount = forward[i].popleft()
            arrived[i] += amount
            queue[i] += amount
            if queue[i] > buffer:
                lost += queue[i] - buffer
                queue[i] = float(buffer)
        room = capacity * factor * dt
        integral += room
        total = sum(queue)
        if is_fifo:
            part = min(1.0, room / total) if total > 0 else 0.0
            queue = [q * (1 - part) for q in queue]
        else:
            for _ in range(3):
                busy = [i for i in range(n) if queue[i] > 0]
                for i in busy:
                    eaten = min(queue[i], room / len(busy))
                    queue[i] -= eaten
                left = room - (total - sum(queue))
                total, room = sum(queue), left
                if room <= 1:
                    break
        drains = [f.drain for f in fills]
        living = sum(1 for s in starts_s if now_s >= s)
        for i, fill in enumerate(fills):
            if now_s < starts_s[i]:
                continue
            due = fill.update(now_ns, int(arrived[i]), int(arrived[i] - queue[i]), buffer, rtt_ns)
            out = None
            if due:
                out = Report(1, fill.strength, fill.fill, fill.drain, sum(drains), fill.variation, living, buffer, rtt_ns)
                fill.on_told(fill.strength)
            backward[i].append(out)
        if (tick + 1) % round(0.5 / dt) == 0:
            mean.append([(s - m) / 0.5 for s, m in zip(sent, marks, strict=True)])
            marks = list(sent)
    return mean, sum(arrived) / integral, lost / max(1.0, sum(arrived))


def jain(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values)) if any(values) else 0.0
