"""The commands of ``rstream`` and their options.

The file of a command is imported when the command is called.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream.cli._key import add_key
from rstream.cli._live_options import add_metrics, add_stat, add_top, add_watch
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Sequence


#: The file of each command.
_FILES: Final = {
    "bench": "_bench",
    "doctor": "_doctor",
    "driver": "_driver",
    "errors": "_driver",
    "key": "_key",
    "lab": "_lab",
    "loss": "_driver",
    "metrics": "_metrics",
    "stat": "_stat",
    "top": "_top",
    "watch": "_watch",
    "why": "_why",
}
_NO_LABORATORY: Final = """\
rstream lab: the laboratory is not installed: it runs in a checkout of rstream only. There type
  make setup
  build/venv/bin/rstream lab …"""


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="rstream",
        description="Reactive streams between processes over shared memory and UDP. These commands "
        "look at a media driver, run one, or measure. Most work on a driver directory.",
    )
    top.add_argument("--version", action="version", version=f"rstream {_core.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, summary: str, description: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=description)
        command.add_argument(
            "--dir",
            help="driver directory (default: $RSTREAM_DIR, else /dev/shm/rstream-<user>)",
        )
        return command

    add_stat(
        add(
            "stat",
            "Show the streams of a driver, live, and why nothing arrives.",
            "Show every publication and reader of a driver: how far it is, what it waits for, and "
            "which reader is slowest; then the driver's counters. Sizes and positions are bytes of "
            "the stream, frame headers included. In a terminal it goes on until Ctrl-C.",
        )
    )
    add_top(
        add(
            "top",
            "Show the streams of a driver as a live table.",
            "Show every session that is published or received here, live: its rate, rate limit, "
            "how full the slowest reader's buffer is, how long a byte waits in it, and what the "
            "session waits for. The rate counts large messages in shared memory, which no rate "
            "limits: the limit reads '+ large' while they go. In a terminal it goes on until "
            "Ctrl-C.",
        )
    )
    add_watch(
        add(
            "watch",
            "Print the messages of a stream while others read it.",
            "Print the messages of a stream, decoded, from now on. It reads what another reader "
            "reads, by a subscription that no rate and no demand follows; when it cannot keep up "
            "it leaves the stream for a moment and says how much it missed. It must run on the "
            "host of the publisher or of a reader. Notes go to standard error. Ctrl-C ends it.",
        )
    )
    why = add(
        "why",
        "Say which program holds a stream up, through all hops on this host.",
        "Walk from the publisher of a stream to the reader that holds it up, on to the stream for "
        "which that reader's program waits, and so on through the drivers of this host. The last "
        "line of each branch names what is slow: how fast it takes, what waits for it, and since "
        "when. It looks twice, a second apart.",
    )
    why.add_argument("stream", metavar="STREAM", help="the stream's name, or its stream id")
    add_metrics(
        add(
            "metrics",
            "Serve the counters of a driver to Prometheus.",
            "Serve the counters of a driver to Prometheus over HTTP, until Ctrl-C. There is no "
            "encryption and no authentication. Needs the extra prometheus.",
        )
    )
    _add_driver(
        add(
            "driver",
            "Run a media driver in the foreground, or say where it is.",
            "Run a media driver in the foreground until Ctrl-C. Publishers and subscribers start a "
            "shared driver by themselves; run one here to choose its options or see its output.",
        )
    )
    add(
        "errors",
        "Print the errors that a driver logged.",
        "Print each distinct error that a driver logged: how often, when, and its text.",
    )
    add(
        "loss",
        "Print how many bytes the readers of a driver lost.",
        "Print one line for each lossy session: how many gaps its readers saw, and how many bytes "
        "were lost in them. Lost bytes are sent again; each counts once.",
    )
    add_key(
        commands.add_parser(
            "key",
            help="Make and rotate the keys that seal datagrams between hosts.",
            description="Make, show and rotate files of keys. key='file:FILE' of publishers and "
            "readers uses one, and RSTREAM_KEY_FILE makes it the default.",
        )
    )
    _add_bench(
        commands.add_parser(
            "bench",
            help="Measure throughput or round trip time between two processes.",
            description="Measure between two processes of this machine. Every message is distinct "
            "and checked.",
        )
    )
    add(
        "doctor",
        "Say what this machine lacks for speed and safety.",
        "Check cores, socket buffers, shared memory and the driver directory, and print a command "
        "for each finding. The exit code is 1 when something necessary is missing.",
    )
    _add_lab(
        commands.add_parser(
            "lab",
            help="Compare rate laws, in virtual time or on real sockets.",
            description="Run an experiment, or draws from families of consumers, once per rate "
            "law, and print the laws beside each other. Time is virtual unless --real is given. "
            "Only a checkout of rstream has the laboratory.",
        )
    )
    return top


def _add_driver(driver: argparse.ArgumentParser) -> None:
    driver.add_argument(
        "--which", action="store_true", help="print the path of the rstreamd program and end"
    )
    driver.add_argument(
        "--clean", action="store_true", help="remove the files of a dead driver and end"
    )
    driver.add_argument(
        "--list-options",
        action="store_true",
        help="print every option of the driver with its default and meaning",
    )
    driver.add_argument(
        "options", nargs="*", metavar="name=value", help="driver options, for example mtu=8192"
    )
    driver.add_argument(
        "--terminate",
        action="store_true",
        help="ask the running driver to end (its option termination-validator must allow it)",
    )
    driver.add_argument(
        "--token", default="", help="with --terminate: the driver's termination-token"
    )


def _add_bench(bench: argparse.ArgumentParser) -> None:
    kinds = bench.add_subparsers(dest="kind", required=True, metavar="kind")
    through = kinds.add_parser("throughput", help="messages per second, publisher to subscriber")
    rtt = kinds.add_parser("rtt", help="round trip time, ping to pong and back")
    for kind in (through, rtt):
        _add_bench_options(kind)
    through.add_argument(
        "--batch",
        choices=("auto", "off"),
        default="auto",
        help="off: one offer per message; auto (default): the fastest call, offer_block",
    )
    through.add_argument(
        "--term-length",
        type=int,
        default=1 << 24,
        metavar="BYTES",
        help="bytes of a term, a power of two (default 16777216)",
    )
    rtt.add_argument(
        "--wait",
        choices=("block", "spin"),
        default="block",
        help="how both ends wait for a message: block uses no CPU (default), spin is faster with "
        "three cores or more; with fewer it yields",
    )


def _add_bench_options(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "--dir", help="driver directory (default: a new one with a driver, removed at the end)"
    )
    kind.add_argument(
        "--transport",
        choices=("ipc", "udp"),
        default="ipc",
        help="ipc: shared memory (default); udp: the loopback interface",
    )
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
        help="seconds that are measured (default 10)",
    )
    kind.add_argument(
        "--warmup",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds before them that are not measured (default 1)",
    )
    kind.add_argument(
        "--mtu",
        type=int,
        default=1408,
        metavar="BYTES",
        help="UDP: largest datagram (default 1408)",
    )
    kind.add_argument(
        "--key", metavar="FILE", help="UDP: seal the datagrams with the key of this file"
    )
    kind.add_argument(
        "--threading",
        default="shared",
        choices=("shared", "dedicated", "shared-network"),
        help="threads of the driver: one (shared, default), two, or one per agent (dedicated)",
    )
    kind.add_argument(
        "--json", metavar="FILE", help="also write the result there (- for standard output)"
    )


def _add_lab(lab: argparse.ArgumentParser) -> None:
    lab.add_argument(
        "experiment",
        metavar="NAME",
        help="an experiment (E1 ... E10), a family of consumers, families (all of them), "
        "FILE.trace, a recorded consumer, a family of links, or links (all of those)",
    )
    lab.add_argument(
        "--seeds",
        "--runs",
        type=int,
        metavar="N",
        help="runs per law (default 10, E4 60, E10 40; with --real 10, E4 20; families and links "
        "6)",
    )
    lab.add_argument("--law", metavar="LAW", help="families: the law to judge (default adaptive)")
    lab.add_argument(
        "--train",
        action="store_true",
        help="families and links: draw from the training seeds, on which parameters may be chosen",
    )
    lab.add_argument(
        "--agents-share",
        type=float,
        default=0.0,
        metavar="S",
        help="families: the share of the runs that media drivers run (0 to 1, default 0)",
    )
    lab.add_argument(
        "--markdown", metavar="FILE", help="families and links: write the table there, too"
    )
    lab.add_argument(
        "--baselines",
        metavar="LAWS",
        help="laws to compare ours and plain credit with, separated by commas: "
        "static,aimd,nak,cubic (default: all; none with --real)",
    )
    lab.add_argument(
        "--real",
        action="store_true",
        help="E1 to E4: on sockets of the loopback interface, in real time, "
        "at the rates that this machine can carry",
    )
    lab.add_argument(
        "--queues",
        action="store_true",
        help="use queues without payload instead of media drivers, as groups of more than "
        "16 receivers always do: quicker",
    )
    lab.add_argument("--json", metavar="FILE", help="write the result there")
    lab.add_argument(
        "--plot",
        metavar="FILE",
        help="draw rates and queues over time: FILE.png or FILE.html (needs matplotlib)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names and channels have any characters
            stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(arguments)
    try:
        command = importlib.import_module(f"rstream.cli.{_FILES[options.command]}")
        return command.run(options)
    except ImportError as error:
        if not (error.name or "").startswith("rstream.lab"):
            raise
        print(_NO_LABORATORY, file=sys.stderr)
        return 2
    except RStreamError as error:
        print(f"rstream: {error}", file=sys.stderr)
        if getattr(error, "hint", None) and str(error.hint) not in str(error):
            print(f"rstream: {error.hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Nobody reads any more; what is still buffered must not fail at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
