"""The command line's grammar; each command lives in a file of its own and is imported when it is called."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rstream import _core
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="rstream", description="Reactive streams over a NAK-reliable transport."
    )
    top.add_argument("--version", action="version", version=f"rstream {_core.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "--dir", help="driver directory (default: $RSTREAM_DIR, else the user's shared one)"
        )
        return command

    stat = add("stat", "Show what a driver's streams do, live, and why nothing arrives.")
    stat.add_argument("--once", action="store_true", help="print once and end")
    stat.add_argument(
        "--interval",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds between prints (default 1)",
    )
    stat.add_argument("--all", action="store_true", help="every counter, also the zero ones")

    driver = add("driver", "Run a media driver in the foreground, or say where it is.")
    driver.add_argument(
        "--which", action="store_true", help="print the path of the rstreamd program"
    )
    driver.add_argument("--clean", action="store_true", help="remove what a dead driver left")
    driver.add_argument(
        "--list-options", action="store_true", help="print every option of the driver"
    )
    driver.add_argument(
        "options", nargs="*", metavar="name=value", help="driver options, for example mtu=8192"
    )

    driver.add_argument(
        "--terminate",
        action="store_true",
        help="ask the driver to end (its option termination-validator must allow it)",
    )
    driver.add_argument("--token", default="", help="what --terminate brings along")

    add("errors", "Print the distinct errors that a driver logged.")
    add("loss", "Print what the readers of a driver lost on the way, one line for each source.")

    bench = commands.add_parser(
        "bench", help="Measure throughput or round trip between two processes."
    )
    kinds = bench.add_subparsers(dest="kind", required=True, metavar="kind")
    through = kinds.add_parser("throughput", help="messages per second, publisher to subscriber")
    rtt = kinds.add_parser("rtt", help="round trip time, ping to pong and back")
    for kind in (through, rtt):
        kind.add_argument(
            "--dir", help="driver directory (default: one of its own, removed at the end)"
        )
        kind.add_argument("--transport", choices=("ipc", "udp"), default="ipc")
        kind.add_argument(
            "--size",
            type=int,
            default=70,
            metavar="BYTES",
            help="message size (default 70, at least 12)",
        )
        kind.add_argument(
            "--seconds",
            type=float,
            default=10.0,
            metavar="S",
            help="steady state measured (default 10)",
        )
        kind.add_argument(
            "--warmup",
            type=float,
            default=1.0,
            metavar="S",
            help="not measured, before (default 1)",
        )
        kind.add_argument(
            "--mtu",
            type=int,
            default=1408,
            metavar="BYTES",
            help="UDP: largest datagram (default 1408)",
        )
        kind.add_argument(
            "--threading", default="shared", choices=("shared", "dedicated", "shared-network")
        )
        kind.add_argument(
            "--json", metavar="FILE", help="also write the result there (- for standard output)"
        )
    through.add_argument("--batch", choices=("auto", "off"), default="auto",
                         help="off: one offer per message; auto: the fastest way there is (offer_block)")  # fmt: skip
    through.add_argument(
        "--term-length", type=int, default=1 << 24, metavar="BYTES", help="default 16777216"
    )
    rtt.add_argument(
        "--wait", choices=("block", "spin"), default="block", help="how both ends wait"
    )
    add("doctor", "Say what this machine lacks for speed and safety.")
    _add_lab(
        commands.add_parser(
            "lab",
            help="Run an experiment of the laws of rate in virtual time, one law beside the other.",
        )
    )
    return top


def _add_lab(lab: argparse.ArgumentParser) -> None:
    lab.add_argument(
        "experiment", nargs="?", metavar="E1 ... E10", help="which experiment (docs/flow.md)"
    )
    lab.add_argument("--scenario", metavar="FILE", help="a scenario of your own, in TOML")
    lab.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="runs per law (default 10, E4 60, E10 40; with --real 10, E4 20, a scenario of your own 3)",
    )
    lab.add_argument(
        "--baselines",
        metavar="LAWS",
        help="laws beside ours and credit, by commas: static,aimd,nak,cubic (default all; none with --real)",
    )
    lab.add_argument(
        "--real",
        action="store_true",
        help="E1 to E4 and scenarios: on sockets of the loopback in real time, at what this machine can carry",
    )
    lab.add_argument(
        "--queues",
        action="store_true",
        help="all of it by queues without payload, as groups of more than 16 receivers are: quicker",
    )
    lab.add_argument("--json", metavar="FILE", help="write the result there")
    lab.add_argument(
        "--plot",
        metavar="FILE",
        help="draw rate, limit, fill and fill NAKs over time: FILE.png or FILE.html (needs matplotlib)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry of the command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        if options.command == "stat":
            from rstream.cli import _stat

            return _stat.run(options)
        if options.command in ("driver", "errors", "loss"):
            from rstream.cli import _driver

            return _driver.run(options)
        if options.command == "bench":
            from rstream.cli import _bench

            return _bench.run(options)
        if options.command == "lab":
            from rstream.cli import _lab

            return _lab.run(options)
        from rstream.cli import _doctor

        return _doctor.run(options)
    except RStreamError as error:
        print(f"rstream: {error}", file=sys.stderr)
        if getattr(error, "hint", None) and str(error.hint) not in str(error):
            print(f"rstream: {error.hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
