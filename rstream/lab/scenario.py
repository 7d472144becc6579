"""The parts of a run: senders with a law each, consumers with a capacity, images between them.

Times are in seconds and rates in bytes per second; ``engine.py`` converts them for the C engines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = (
    "BUFFER",
    "FORGERIES",
    "LAWS",
    "MB",
    "Consumer",
    "Forger",
    "LabImage",
    "Law",
    "Liar",
    "Scenario",
    "Sender",
    "group",
)

MB: Final = 1e6
BUFFER: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class LawParts:
    """The parts of a law: rate limit, flow control of the group, window of a receiver, fill NAKs.

    ``reports``: whether receivers send fill NAKs.
    """

    rate: str
    fc: str
    congestion: str
    reports: bool


#: The laws by the names in scenarios and reports, each with the ``fc`` it needs.
LAWS: Final[Mapping[str, LawParts]] = {
    "adaptive": LawParts("adaptive", "max", "static", True),
    "adaptive-auto": LawParts("adaptive", "max", "auto", True),
    "nak": LawParts("nak", "max", "static", True),
    "aimd": LawParts("aimd", "max", "static", True),
    "fixed": LawParts("fixed", "max", "static", False),
    "credit": LawParts("unlimited", "min", "static", False),
    "static": LawParts("unlimited", "max", "static", False),
    "cubic": LawParts("unlimited", "min", "cubic", False),
}
#: The kinds of forgery, in the order of the engine.
FORGERIES: Final = ("fresh", "stranger", "name", "replay")


@dataclass(frozen=True, slots=True)
class Law:
    """A law with its parameters.

    They are fields of the engine's sender and image records: ``initial``, ``window_ns``,
    ``buffer_bytes`` and others.
    """

    name: str = "adaptive"
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """A publication: its law, its network path, and the rate of its application.

    ``app_rate`` 0: the application always has something to send.
    """

    law: Law = field(default_factory=Law)
    rtt_s: float = 1e-3
    link_rate: float = 1000 * MB
    mtu: int = 1408
    receiver_timeout_s: float = 5.0
    loss: float = 0.0
    control_loss: float = 0.0
    nak_delay_s: float = 0.0
    history_bytes: float = 128 << 20
    group_size: int = 0
    begins_s: float = 0.0
    ends_s: float = math.inf
    app_rate: float = 0.0
    backlog_bytes: float = BUFFER


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """A process that reads.

    ``levels`` are pairs (from second, bytes per second); ``pauses`` are pairs (start, length) in
    seconds.
    """

    levels: tuple[tuple[float, float], ...] = ((0.0, 100 * MB),)
    noise: float = 0.0
    noise_s: float = 0.01
    pauses: tuple[tuple[float, float], ...] = ()
    in_turn: bool = False
    forward_to: int = -1
    dies_s: float = math.inf
    hangs_s: float = math.inf
    evict_after_s: float = math.inf


@dataclass(frozen=True, slots=True)
class LabImage:
    """The stream of one sender at one consumer."""

    sender: int
    consumer: int
    buffer_bytes: float = BUFFER


@dataclass(frozen=True, slots=True, kw_only=True)
class Liar:
    """A receiver that sends false fill NAKs, while its status messages are true.

    ``allowed``: the rate that it asks for, bytes per second.
    """

    image: int
    from_s: float
    to_s: float
    period_s: float
    allowed: float = 0.0
    fill: float = 1.0
    drain_share: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Forger:
    """A host outside the group that sends fill NAKs. ``kind``: one of FORGERIES."""

    sender: int
    kind: str
    from_s: float
    to_s: float
    period_s: float
    image: int = 0
    allowed: float = 0.0
    fill: float = 1.0
    drain: float = 1 * MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that defines a run, except the seed.

    Without the following flags the queue engine runs it.

    * ``agents``: real media drivers, on a network in memory.
    * ``real``: real media drivers on sockets of the loopback, in real time; overrides ``agents``.
    """

    name: str
    seconds: float
    senders: tuple[Sender, ...]
    consumers: tuple[Consumer, ...]
    images: tuple[LabImage, ...]
    liars: tuple[Liar, ...] = ()
    forgers: tuple[Forger, ...] = ()
    step_s: float = 1e-4
    sample_s: float = 1e-3
    traced: int = 8
    agents: bool = False
    real: bool = False

    def under(self, law: Law) -> Scenario:
        """The same scenario with another law at every sender."""
        return replace(self, senders=tuple(replace(sender, law=law) for sender in self.senders))


def group(
    name: str,
    seconds: float,
    consumers: tuple[Consumer, ...],
    *,
    buffer_bytes: float = BUFFER,
    drain_s: float = 1.0,
    step_s: float = 1e-4,
    sample_s: float = 1e-3,
    sender: Sender | None = None,
    liars: tuple[Liar, ...] = (),
    forgers: tuple[Forger, ...] = (),
) -> Scenario:
    """A scenario of one sender with an image at each consumer.

    The application sends for ``seconds``; then the queues have ``drain_s`` seconds to drain.
    """
    return Scenario(
        name=name,
        seconds=seconds + drain_s,
        senders=(
            replace(
                sender or Sender(), ends_s=seconds, nak_delay_s=0.0 if len(consumers) == 1 else 0.01
            ),
        ),
        consumers=consumers,
        images=tuple(LabImage(0, i, buffer_bytes) for i in range(len(consumers))),
        step_s=step_s,
        sample_s=sample_s,
        traced=min(8, len(consumers)),
        liars=liars,
        forgers=forgers,
    )
