"""The command line: its output, and its exit when something is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rstream
from rstream import _core

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rstream", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def test_version() -> None:
    assert run("--version").stdout == f"rstream {rstream.__version__}\n"


def test_which_prints_a_program() -> None:
    assert os.access(run("driver", "--which").stdout.strip(), os.X_OK)


def test_stat_without_a_driver_says_so(driver_dir: str) -> None:
    done = run("stat", "--dir", driver_dir)
    assert done.returncode == 1
    assert done.stderr.startswith(f"rstream: no driver in {driver_dir}")


def test_stat_without_a_driver_names_the_nearest_others(tmp_path: Path) -> None:
    wanted = tmp_path / "rstream of mine"
    near = [tmp_path / f"rstream of mine {number}" for number in range(3)]
    far = [tmp_path / f"other {number}" for number in range(9)]
    for directory in (*near, *far):
        directory.mkdir()
        (directory / "cnc.dat").write_bytes(b"")
    lines = run("stat", "--dir", str(wanted)).stderr.splitlines()
    assert lines[0].startswith(f"rstream: no driver in {wanted} ")
    dead = [line for line in lines if line.startswith("  dead: ")]
    for directory in near:
        assert f"  dead: {directory}   (rstream driver --clean --dir '{directory}')" in dead
    assert len(dead) == 4
    assert re.search(r"^  dead: \d+ more   \(ls .*/\*/cnc.dat\)$", dead[-1])


def test_stat_shows_why_a_stream_is_held(driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir), rstream.Client(dir=driver_dir) as client:
        publication = client.add_publication("aeron:ipc?term-length=64k", 7)
        done = run("stat", "--once", "--dir", driver_dir)
        publication.close()
    assert done.returncode == 0, done.stderr
    assert "stream 7, session " in done.stdout
    assert "no subscriber" in done.stdout


def test_stat_ends_with_ctrl_c(driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir):
        command = [sys.executable, "-m", "rstream", "stat", "--follow", "--dir", driver_dir]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as stat:
            assert stat.stdout is not None
            stat.stdout.readline()
            stat.send_signal(signal.SIGINT)
            assert stat.wait(10) == 130


@pytest.mark.parametrize("command", ["stat", "top"])
def test_into_a_pipe_it_prints_once_and_ends(driver_dir: str, command: str) -> None:
    with rstream.Driver(dir=driver_dir):
        done = run(command, "--dir", driver_dir)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(driver_dir) == 1


@pytest.mark.parametrize("option", ["--follow", "--interval=0.05"])
@pytest.mark.parametrize("command", ["stat", "top"])
def test_into_a_pipe_it_goes_on_when_told_to(driver_dir: str, command: str, option: str) -> None:
    with rstream.Driver(dir=driver_dir):
        whole = [sys.executable, "-m", "rstream", command, option, "--dir", driver_dir]
        with subprocess.Popen(whole, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            titles = 0
            while titles < 2:
                titles += driver_dir in process.stdout.readline()
            process.stdout.close()  # as `| head` does
            assert process.wait(10) == 0


def test_errors_of_a_driver(driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir):
        done = run("errors", "--dir", driver_dir)
    assert done.returncode == 0
    assert "0 distinct errors" in done.stdout


def test_errors_and_losses_as_aerons_tools_print_them(driver_dir: str) -> None:
    options = {"fault-receive-data-loss": "0.2", "fault-seed": "5", "term-buffer-length": "65536"}
    channel = "aeron:udp?endpoint=127.0.0.1:24577"
    with rstream.Driver(dir=driver_dir, options=options), rstream.Client(dir=driver_dir) as client:
        with pytest.raises(rstream.RStreamError):
            client.add_publication("aeron:udp?endpoint=127.0.0.1:1|mtu=7", 7)
        with (
            client.add_subscription(channel, 7) as subscription,
            client.add_publication(channel, 7) as publication,
        ):
            received, sent, deadline_s = 0, 0, time.monotonic() + 30
            while received < 300 and time.monotonic() < deadline_s:
                if sent < 300 and publication.offer(bytes(1000)) > 0:
                    sent += 1
                batch = subscription.poll(10)
                received += len(batch)
                batch.release()
            assert received == 300
        errors = run("errors", "--dir", driver_dir)
        losses = run("loss", "--dir", driver_dir)
    assert re.search(
        r"^\n1 observations from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d{4} to .* for:\n"
        r".*mtu=7",
        errors.stdout,
    )
    assert "\n1 distinct error observed." in errors.stdout
    header, line, count = losses.stdout.splitlines()
    assert header.startswith("#OBSERVATION_COUNT,TOTAL_BYTES_LOST,")
    assert count == "1 loss entries"
    observations, lost, *_, stream_id, lost_channel, source = line.split(",")
    assert int(observations) > 0
    # no byte counts twice, though some were lost again and again
    assert 0 < int(lost) <= 300 * 1056
    assert (stream_id, lost_channel) == ("7", channel)
    assert source.startswith("127.0.0.1:")


def test_terminate_needs_an_option_and_its_token(driver_dir: str) -> None:
    """L16."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        program = run("driver", "--which").stdout.strip()
        driver = subprocess.Popen(
            [program, "--dir", driver_dir, "--verbose", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert driver.stdout is not None
        assert driver.stdout.readline().startswith("rstreamd: ready")
        return driver

    with start() as driver:
        assert run("driver", "--terminate", "--dir", driver_dir).returncode == 0
        with pytest.raises(subprocess.TimeoutExpired):
            driver.wait(1)
        assert "termination-validator=deny" in run("errors", "--dir", driver_dir).stdout
        driver.terminate()
        assert driver.wait(10) == 0
    with start("--termination-validator=allow", "--termination-token=open sesame") as driver:
        assert (
            run("driver", "--terminate", "--token", "open barley", "--dir", driver_dir).returncode
            == 0
        )
        with pytest.raises(subprocess.TimeoutExpired):
            driver.wait(1)
        assert (
            run("driver", "--terminate", "--token", "open sesame", "--dir", driver_dir).returncode
            == 0
        )
        assert driver.wait(10) == 0
    assert not os.path.exists(driver_dir)
    assert run("driver", "--terminate", "--dir", driver_dir).returncode == 1


def test_aeron_variables_do_not_reach_the_shared_driver(driver_dir: str) -> None:
    code = "import sys, rstream; print(rstream.driver.ensure_driver(sys.argv[1], timeout_s=30))"
    environment = os.environ | {
        "AERON_DIR": driver_dir + "-aeron",
        "AERON_THREADING_MODE": "NONSENSE",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, driver_dir],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == driver_dir
    assert not os.path.exists(driver_dir + "-aeron")
    os.kill(_core.driver_info(driver_dir).pid, signal.SIGTERM)


def test_shared_driver_does_not_depend_on_its_first_user(driver_dir: str) -> None:
    code = (
        "import os, resource, sys, rstream; os.nice(5);"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1];"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard));"
        "rstream.driver.ensure_driver(sys.argv[1], timeout_s=30); print(hard)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, driver_dir],
        env=os.environ | {"MY_SECRET": "swordfish"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    pid = _core.driver_info(driver_dir).pid
    try:
        files = [
            line.split()[3:5]
            for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
            if line.startswith("Max open files")
        ]
        assert files == [[done.stdout.strip()] * 2]
        assert b"swordfish" not in Path(f"/proc/{pid}/environ").read_bytes()
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        may_raise = os.geteuid() == 0
        assert os.getpriority(os.PRIO_PROCESS, pid) == (0 if may_raise else 5)
    finally:
        os.kill(pid, signal.SIGTERM)


def test_clean_leaves_a_living_driver_alone(driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir):
        done = run("driver", "--clean", "--dir", driver_dir)
        assert done.returncode == 1
        assert "nothing was removed" in done.stderr
    assert run("driver", "--clean", "--dir", driver_dir).returncode == 0


def test_doctor_names_its_checks(driver_dir: str) -> None:
    done = run("doctor", "--dir", driver_dir)
    assert re.search(rf"ok +room for {driver_dir}: \d+ MiB free of \d+ MiB on ", done.stdout)
    assert "none running" in done.stdout


def test_doctor_looks_at_the_key_file(
    driver_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.key"
    monkeypatch.delenv("RSTREAM_KEY_FILE", raising=False)
    done = run("doctor", "--dir", driver_dir)
    assert re.search(r"ok +encryption: \w+\n", done.stdout)
    assert re.search(r"ok +RSTREAM_KEY_FILE is not set: UDP is plain", done.stdout)
    monkeypatch.setenv("RSTREAM_KEY_FILE", str(path))
    for mode, text, what in (
        (0, "", "No such file or directory"),
        (0o644, "", r"others may read or write it \(mode 0644\)"),
        (0o600, "nonsense", "must have one or two lines of 64 hex digits"),
    ):
        if mode:
            path.write_text(text)
            path.chmod(mode)
        done = run("doctor", "--dir", driver_dir)
        assert done.returncode == 1
        assert re.search(rf"lacks +RSTREAM_KEY_FILE: key file {path}: {what}", done.stdout)
    group = [rstream.keys.GroupKey.new(), rstream.keys.GroupKey.new()]
    rstream.keys.write_file(path, group, second="next")
    done = run("doctor", "--dir", driver_dir)
    ids = f"{group[0].id} seals, {group[1].id} opens"
    assert re.search(rf"ok +RSTREAM_KEY_FILE={path}: {ids}", done.stdout)
    assert group[0].secret.hex() not in done.stdout


def with_mounts(script: str, *arguments: str, **environment: str) -> str:
    """Standard output and error of a script in mounts of its own, which other programs do not see.

    The script calls this Python as ``$PYTHON``.
    """
    mounts = ["unshare", "--mount", "--propagation", "private", "sh", "-ec"]
    if os.geteuid() or subprocess.run([*mounts, "mount -t tmpfs tmpfs /mnt"]).returncode:
        pytest.skip("needs the right to mount")
    return subprocess.run(
        [*mounts, script, "sh", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        env={
            **{name: value for name, value in os.environ.items() if name != "RSTREAM_DIR"},
            "PYTHON": sys.executable,
            **environment,
        },
    ).stdout


def test_doctor_looks_at_the_file_system_of_the_directory(tmp_path: Path) -> None:
    text = with_mounts(
        'mount -t tmpfs -o size=4m tmpfs "$1"; head -c 4m /dev/zero > "$1/full" || :; '
        '"$PYTHON" -m rstream doctor --dir "$1/d" || echo "exit $?"',
        str(tmp_path),
    )
    assert f"lacks room for {tmp_path}/d: 0 MiB free of 4 MiB on {tmp_path}\n" in text
    assert f"mount -o remount,size=1g {tmp_path}" in text
    assert text.endswith("exit 1\n")


FALLBACK = "import rstream, sys; print(rstream.driver.resolve_dir()); rstream.driver.resolve_dir()"


@pytest.mark.parametrize("options", ["ro", "mode=0555,noexec,ro"])
def test_a_default_directory_outside_shared_memory_is_told(tmp_path: Path, options: str) -> None:
    mount = f"mount -t tmpfs -o {options} tmpfs /dev/shm; "
    text = with_mounts(
        mount + '"$PYTHON" -c "$1"; "$PYTHON" -m rstream doctor || :',
        FALLBACK,
        TMPDIR=str(tmp_path),
    )
    logged, path, *lines = text.splitlines()
    assert path.startswith(f"{tmp_path}/rstream-")
    assert logged.startswith("/dev/shm is missing or cannot be written, so the driver directory is")
    assert path in logged
    assert "$TMPDIR" in logged
    told = [line for line in lines if line.startswith("weak  /dev/shm is missing or cannot be")]
    assert len(told) == 1
    assert path in told[0]
    assert not any(line.startswith("weak  /dev/shm is") for line in run("doctor").stdout)


def test_text_from_elsewhere_cannot_move_the_cursor(driver_dir: str) -> None:
    """A counter's label is any program's; it must not reach a terminal as it is."""
    with rstream.Client(driver_dir) as client:
        label = "red \x1b[31m\nforged: 1 \x9b2J \u202eback"
        shown = r"red \x1b[31m\x0aforged: 1 \x9b2J \u202eback"
        counter = client.add_counter(1001, label=label)
        for command in (("stat", "--all"), ("stat", "--json"), ("metrics", "--once")):
            done = run(*command, "--dir", driver_dir)
            assert done.returncode == 0, done.stderr
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.stdout), command
            if command[1] == "--all":
                assert shown in done.stdout
        counter.close()


def test_output_in_a_locale_of_ascii_alone(
    driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    with rstream.publisher("größe", dir=driver_dir):
        done = run("stat", "--dir", driver_dir)
    assert done.returncode == 0, done.stderr
    assert r'stream "gr\xf6\xdfe"' in done.stdout


@pytest.mark.parametrize("command", ["doctor", "stat"])
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: path.write_text("x"), "is a link or not a directory: choose another"),
        (
            lambda path: (path.mkdir(mode=0o700), (path / "notes.txt").touch()),
            "is no driver directory: it contains notes.txt; move that away, or choose another",
        ),
    ],
    ids=["file", "strangers"],
)
def test_an_unusable_directory_is_told_with_the_reason(
    tmp_path: Path, command: str, make: Callable[[Path], object], text: str
) -> None:
    path = tmp_path / "photos"
    make(path)
    done = run(command, "--dir", str(path))
    assert done.returncode == 1
    assert f"none can start: {'driver directory ' if path.is_file() else ''}{path} {text}" in (
        done.stdout + done.stderr
    )
    assert "none running (the next use starts it)" not in done.stdout


@pytest.mark.parametrize("command", ["doctor", "stat"])
def test_a_directory_without_a_parent_is_told(tmp_path: Path, command: str) -> None:
    path = tmp_path / "none" / "driver"
    done = run(command, "--dir", str(path))
    assert done.returncode == 1
    assert f"mkdir -p {path.parent}" in done.stdout + done.stderr
    with pytest.raises(rstream.errors.DriverError, match=f"mkdir -p {path.parent}"):
        rstream.publisher("ticks", dir=str(path))


@pytest.mark.parametrize("interval", ["-1", "0", "nan", "x"])
def test_stat_refuses_an_interval_that_is_none(driver_dir: str, interval: str) -> None:
    done = run("stat", "--dir", driver_dir, "--interval", interval)
    assert done.returncode == 2
    assert f"--interval: {interval}: must be 0.01 to 86400 seconds" in done.stderr


@pytest.mark.parametrize("transport", ["ipc", "udp"])
def test_bench_throughput(transport: str) -> None:
    done = run(
        "bench",
        "throughput",
        "--transport",
        transport,
        "--seconds",
        "0.3",
        "--warmup",
        "0.2",
        "--json",
        "-",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["messages_per_s"] > 0
    assert result["lost"] == 0
    assert (result["transport"], result["size"]) == (transport, 70)


def test_bench_round_trip() -> None:
    """N29."""
    done = run("bench", "rtt", "--seconds", "0.3", "--warmup", "0.1", "--json", "-")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert 0 < result["p50_us"] <= result["p99_us"] <= result["p999_us"]


def test_bench_does_not_wait_for_a_process_that_failed() -> None:
    begin_s = time.monotonic()
    done = run("bench", "throughput", "--transport", "udp", "--mtu", "77", "--seconds", "1")
    assert done.returncode == 1
    assert "mtu=77" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - begin_s < 20


def test_bench_refuses_sizes_that_cannot_be_sent() -> None:
    assert "at least 12" in run("bench", "throughput", "--size", "5").stderr
    assert "at most 131072" in run("bench", "rtt", "--size", "131073").stderr


def test_sources_without_the_compiled_part_say_so(tmp_path: Path) -> None:
    """In the folder of a checkout Python finds the sources before the installed package."""
    shutil.copytree(
        ROOT / "rstream", tmp_path / "rstream", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import rstream"],  # -S: without the installed packages
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert "no compiled part" in done.stderr
    assert "pip install -e ." in done.stderr


@pytest.mark.skipif(not (ROOT / ".ci" / "setup.sh").exists(), reason="no checkout")
def test_setup_names_what_is_missing_first(tmp_path: Path) -> None:
    for tool in ("bash", "dirname", "python3"):
        (tmp_path / tool).symlink_to(
            sys.executable if tool == "python3" else shutil.which(tool) or tool
        )

    def first_line(**environment: str) -> str:
        done = subprocess.run(
            [ROOT / ".ci" / "setup.sh"],
            env={"PATH": str(tmp_path), **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        return done.stderr.splitlines()[0]

    assert "apt-get install gcc" in first_line()
    assert "PYTHON names (/nonexistent)" in first_line(PYTHON="/nonexistent")
    (tmp_path / "python3").unlink()
    assert "apt-get install python3 python3-venv python3-dev" in first_line()
