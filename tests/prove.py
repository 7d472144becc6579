"""`make prove`: all that takes long, once, on the finished commit.

Writes build/prove/report.md.

python -m tests.prove [SECTION ...]; the sections are sim sim-coverage sim-faults reliability kills
hostile interop model churn sanitize fuzz coverage repair families links idle soak bench demo
(default: all)
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import run_fuzzers

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "prove"
TRANSPORT = ROOT / "transport_ext"

Outcome = tuple[bool, str]


def pytest_section(path: str, **environment: str) -> Callable[[], Outcome]:
    """A test file with larger numbers than `make test` takes."""

    def run() -> Outcome:
        command = [sys.executable, "-m", "pytest", "-q", "-s", "--timeout=7200", "-m", "", path]
        log = OUT / (Path(path).stem + ".log")
        with log.open("w") as file:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=file,
                stderr=file,
                check=False,
            ).returncode
        text = log.read_text()
        facts = re.findall(
            r"^(?:\.|F)?((?:RSTREAM_SEED|\{'received|kills:|churn:|idle:|\d+ messages each).*)$",
            text,
            re.MULTILINE,
        )
        return code == 0, "; ".join(facts)[:600] + " " + text.strip().splitlines()[-1]

    return run


def workflow(preset: str) -> Outcome:
    result = subprocess.run(
        ["cmake", "--workflow", "--preset", preset],
        cwd=TRANSPORT,
        capture_output=True,
        text=True,
        check=False,
    )
    (OUT / f"{preset}.log").write_text(result.stdout + result.stderr)
    summary = re.findall(r"\d+% tests passed.*", result.stdout)
    return result.returncode == 0, f"{preset}: {summary[-1] if summary else 'no tests ran'}"


def sanitize() -> Outcome:
    outcomes = [workflow(preset) for preset in ("asan", "tsan")]
    return all(ok for ok, _ in outcomes), "; ".join(text for _, text in outcomes)


def simulate() -> Outcome:
    """100 000 worlds from fresh seeds, in one run."""
    first = int.from_bytes(os.urandom(4), "big")
    result = subprocess.run(
        ["make", "-s", "sim", "SEEDS=100000", f"FROM={first}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    (OUT / "sim.log").write_text(result.stdout + result.stderr)
    return result.returncode == 0, "; ".join(
        re.findall(
            r"^(?:seed \d+.*|\d+ seeds from.*)$", result.stdout + result.stderr, re.MULTILINE
        )
    )[:600]


def sim_coverage() -> Outcome:
    """The lines of agents and laws that 300 simulated runs reach."""
    build = ROOT / "build" / "c" / "sim-coverage"
    options = [
        "-DRST_TESTS=ON",
        "-DRST_COVERAGE=ON",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_C_FLAGS=-O1",
    ]
    rooms = [
        argument
        for room in ("driver", "client", "flow", "loss")
        for argument in ("--filter", f"{room}/")
    ]
    steps = (
        ["cmake", "-S", str(TRANSPORT), "-B", str(build), "-G", "Ninja", *options],
        ["cmake", "--build", str(build), "--target", "sim"],
        [str(build / "tests" / "sim" / "sim"), "--seeds", "300", "--from", "1"],
        [
            sys.executable,
            "-m",
            "gcovr",
            "--root",
            ".",
            *rooms,
            "--gcov-ignore-parse-errors=all",
            str(build / "tests" / "sim"),
        ],
    )
    for old in build.rglob("*.gcda"):
        old.unlink()
    output = ""
    with (OUT / "sim-coverage.log").open("w") as log:
        for step in steps:
            result = subprocess.run(
                step, cwd=TRANSPORT, capture_output=True, text=True, check=False
            )
            output = result.stdout
            log.write(result.stdout + result.stderr)
            if result.returncode != 0:
                return False, f"{step[0]} failed: {(result.stdout + result.stderr).strip()[-300:]}"
    total = re.search(r"^TOTAL\s+(\d+)\s+(\d+)\s+(\d+)%", output, re.MULTILINE)
    percent = int(total[3]) if total else 0
    return (
        percent >= 90,
        f"lines of driver, client, flow and loss covered by simulation alone: {percent} %",
    )


def sim_faults() -> Outcome:
    """Each deliberate fault is found within 1000 worlds."""
    result = subprocess.run(
        ["make", "-s", "sim-faults"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    (OUT / "sim-faults.log").write_text(result.stdout + result.stderr)
    faults = re.findall(r"^ *\d+ .*$", result.stdout, re.MULTILINE)
    return (
        result.returncode == 0,
        f"{len(faults)} faults, not found: {result.stdout.count('NOT FOUND')}",
    )


def fuzz() -> Outcome:
    """10 million mutated frames under ASan and UBSan, and a million inputs for other decoders."""
    good, lines = run_fuzzers(lambda name: "10000000" if name == "frame" else "1000000")
    return good, "; ".join(lines)


def coverage() -> Outcome:
    """Line coverage of the C floors 0-3."""
    ok, text = workflow("cov")
    rooms = (
        "util",
        "concurrent",
        "protocol",
        "channel",
        "logbuffer",
        "flow",
        "loss",
        "media",
        "cnc",
    )
    filters = [argument for room in rooms for argument in ("--filter", f"{room}/")]
    command = [
        sys.executable,
        "-m",
        "gcovr",
        "--root",
        ".",
        *filters,
        str(ROOT / "build" / "c" / "cov"),
    ]
    result = subprocess.run(command, cwd=TRANSPORT, capture_output=True, text=True, check=False)
    (OUT / "coverage.txt").write_text(result.stdout + result.stderr)
    total = re.search(r"^TOTAL\s+(\d+)\s+(\d+)\s+(\d+)%", result.stdout, re.MULTILINE)
    percent = int(total[3]) if total else 0
    return ok and percent >= 90, f"{text}; lines of floors 0-3 covered: {percent} %"


def repair() -> Outcome:
    """The cost of loss: on a link in virtual time, and over real sockets with and without loss."""
    ok, _ = workflow("dev")
    lines: list[str] = []
    for name in ("test_driver_repair", "test_system_repair"):
        programs = sorted((ROOT / "build" / "c" / "dev").rglob(name))
        if not programs:
            return False, f"{name} is not built"
        result = subprocess.run(
            [str(programs[0])],
            env={**os.environ, "RSTREAM_REPAIR": "strict"},
            capture_output=True,
            text=True,
            check=False,
        )
        (OUT / f"{name}.log").write_text(result.stdout + result.stderr)
        ok = ok and result.returncode == 0
        lines += re.findall(r"^repair: (.*)$", result.stderr, re.MULTILINE)
    return ok, "; ".join(lines)


IDLE = """
import sys, time
from rstream.client import Client
with Client(dir=sys.argv[1]) as client:
    subscription = client.add_subscription(sys.argv[2], 1)
    publication = client.add_publication(sys.argv[2], 1)
    while not publication.is_connected:
        publication.wait(0.1)
    print("ready", flush=True)
    begin = time.process_time()
    end = time.monotonic() + float(sys.argv[3])
    while time.monotonic() < end:
        subscription.wait(5)
    print(time.process_time() - begin, flush=True)
"""


def idle() -> Outcome:
    """CPU of an idle driver, publisher and subscriber over 20 s, in shares of a core."""
    from rstream.cli._bench import _cpu_seconds
    from rstream.driver import rstreamd_path
    from tests.support import free_port

    seconds = 20.0
    lines: list[str] = []
    good = True
    for channel in (
        "aeron:ipc?term-length=1m",
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=1m",
    ):
        directory = tempfile.mkdtemp(prefix="rstream-idle-", dir="/dev/shm")
        driver = subprocess.Popen([rstreamd_path(), "--dir", directory], stdin=subprocess.DEVNULL)
        try:
            client = subprocess.Popen(
                [sys.executable, "-c", IDLE, directory, channel, str(seconds)],
                stdout=subprocess.PIPE,
                text=True,
            )
            assert client.stdout is not None
            client.stdout.readline()
            before = _cpu_seconds(driver.pid)
            reader = float(client.stdout.readline()) / seconds
            share = (_cpu_seconds(driver.pid) - before) / seconds
            client.wait()
            good = good and share < 0.01 and reader < 0.01
            lines.append(
                f"{channel.split('?')[0]}: driver {share:.2%}, client {reader:.2%} of a core"
            )
        finally:
            driver.terminate()
            driver.wait()
            shutil.rmtree(directory, ignore_errors=True)
    return good, "; ".join(lines)


def laboratory(name: str, *options: str) -> Callable[[], Outcome]:
    """The laws on all families of a kind, 30 draws of each, on test seeds."""

    def run() -> Outcome:
        arguments = ["lab", name, "--runs", "30", "--markdown", str(OUT / f"{name}.md"), *options]
        result = subprocess.run(
            [sys.executable, "-m", "rstream", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        (OUT / f"{name}.log").write_text(result.stdout + result.stderr)
        lines = re.findall(r"^(?:## Verdict|\* \*\*MISSED).*$", result.stdout, re.MULTILINE)
        said = "; ".join(line.strip("#* ").replace("**", "") for line in lines)
        return result.returncode == 0, said

    return run


def command(*arguments: str) -> Callable[[], Outcome]:
    def run() -> Outcome:
        result = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        (OUT / f"{arguments[0]}.log").write_text(result.stdout + result.stderr)
        keep = [
            line
            for line in result.stdout.splitlines()
            if line.startswith(
                (
                    "ratio:",
                    "soak: OK",
                    "soak: FAILED",
                    "demo: OK",
                    "demo: FAILED",
                    "demo: delivered",
                    "demo: by Spark",
                )
            )
        ]
        return result.returncode == 0, "; ".join(keep)

    return run


SECTIONS: dict[str, Callable[[], Outcome]] = {
    "sim": simulate,
    "sim-coverage": sim_coverage,
    "sim-faults": sim_faults,
    "reliability": pytest_section(
        "tests/system/test_reliability.py", RSTREAM_RELIABILITY_COUNT="10000000"
    ),
    "kills": pytest_section("tests/system/test_kills.py", RSTREAM_KILLS="50"),
    "hostile": pytest_section(
        "tests/hostile",
        RSTREAM_HOSTILE_LONG="1",
        RSTREAM_HOSTILE_COUNT="2000",
        RSTREAM_HOSTILE_S="10",
    ),
    "interop": pytest_section(
        "tests/interop", RSTREAM_INTEROP_COUNT="100000", RSTREAM_INTEROP_WHOLE="1"
    ),
    "model": pytest_section("tests/test_log_buffer_model.py", RSTREAM_MODEL_LARGE="1"),
    "churn": pytest_section(
        "tests/system/test_churn.py", RSTREAM_CHURN_COUNT="1000", RSTREAM_CHURN_S="600"
    ),
    "sanitize": sanitize,
    "fuzz": fuzz,
    "coverage": coverage,
    "repair": repair,
    "families": laboratory(
        "families", "--agents-share", "0.1", "--plot", str(OUT / "families.html")
    ),
    "links": laboratory("links"),
    "idle": idle,
    "soak": pytest_section("tests/system/test_soak.py"),
    "bench": command("tests.bench"),
    "demo": command("examples.flights"),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.prove")
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="default: all")
    chosen = parser.parse_args().sections or list(SECTIONS)
    OUT.mkdir(parents=True, exist_ok=True)
    lines = ["| section | verdict | minutes | what was seen |", "|---|---|---|---|"]
    good = True
    for name in chosen:
        begin = time.monotonic()
        ok, text = SECTIONS[name]()
        good = good and ok
        minutes = (time.monotonic() - begin) / 60
        print(f"prove: {name}: {'OK' if ok else 'FAILED'} ({minutes:.1f} min) {text}", flush=True)
        lines.append(
            f"| {name} | {'OK' if ok else 'FAILED'} | {minutes:.1f} | {text.replace('|', '/')} |"
        )
        (OUT / "report.md").write_text("\n".join(lines) + "\n")
    print(f"prove: {'OK' if good else 'FAILED'}, report in build/prove/report.md")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
