"""The plugin as a user loads it: names of the original kit, and no silent absence of tests."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from rstream import tck
from rstream.errors import ConfigError
from rstream.tck import _runner
from rstream.tck._limit import Workers
from tests.support import until

PROGRAM = '''
from rstream import stages, tck

def required_of(name):
    """No test, though its name begins like one."""
    raise AssertionError

class TestNumbers(tck.PublisherVerification[int]):
    stochastic_runs = 1
    no_signals_s = 0.01

    def create_publisher(self, elements):
        return stages.from_iterable(range(elements))

class TestTooFew(TestNumbers):
    def max_elements_from_publisher(self):
        return 1

class TestEndless(TestNumbers):
    def max_elements_from_publisher(self):
        return 2**63 - 1
'''


def run(folder, *arguments):
    (folder / "test_user.py").write_text(PROGRAM)
    (folder / "pytest.ini").write_text("[pytest]\n")  # this checkout's settings are not theirs
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_a_users_class_gets_the_tests_under_their_names(tmp_path):
    report = run(tmp_path, "-vv", "-p", "rstream.tck")
    kept = "::TestNumbers::required_spec102_maySignalLessThanRequestedAndTerminateSubscription"
    assert f"test_user.py{kept} PASSED" in report
    assert "needs 3 elements, and the publisher gives at most 1" in report
    assert "needs a completion, and the publisher never completes" in report
    assert "needs a failed publisher" in report
    assert "required_of" not in report
    # Of 39 tests 7 are untested, and 3 need a failed publisher.
    for name in ("TestNumbers", "TestTooFew", "TestEndless"):
        lines = [line for line in report.splitlines() if f"::{name}::" in line]
        assert len(lines) == 39
        assert all("PASSED" in line or "SKIPPED" in line for line in lines)
        if name == "TestNumbers":
            assert sum("PASSED" in line for line in lines) == 29


def test_without_the_plugin_it_says_so(tmp_path):
    report = run(tmp_path)
    assert "TestNumbers: pytest would not see its tests. Load the plugin: pytest -p" in report


@pytest.mark.parametrize("text", ["soon", "-1", "0.5"])
def test_a_wrong_time_in_the_environment_is_an_error(monkeypatch, text):
    monkeypatch.setenv("DEFAULT_TIMEOUT_MILLIS", text)
    with pytest.raises(ConfigError, match=f"DEFAULT_TIMEOUT_MILLIS={text}"):
        tck.PublisherVerification().create_environment()


def test_a_time_of_the_class_beats_the_environment(monkeypatch):
    monkeypatch.setenv("DEFAULT_TIMEOUT_MILLIS", "2500")
    monkeypatch.setenv("DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS", "20")

    class Mine(tck.PublisherVerification):
        timeout_s = 0.5

    env = Mine().create_environment()
    assert (env.timeout_s, env.no_signals_s) == (0.5, 0.02)


def test_names_of_tests_are_those_of_the_kit_alone():
    """A helper function of a user's module does not become a test by its name."""
    assert all(len(pattern) > len("required_*") for pattern in _runner.NAMES)


ENDLESS = '''
from rstream import abc, tck

class Loops(abc.Publisher, abc.Subscription):
    """Signals all that was requested inside of request, and never looks at a cancellation."""

    def subscribe(self, subscriber):
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n):
        while n:
            n -= 1
            self.subscriber.on_next(n)

    def cancel(self):
        pass

class TestLoops(tck.PublisherVerification[int]):
    stochastic_runs = 0
    timeout_s = 0.2
    no_signals_s = 0.01
    limit_s = 0.3

    def create_publisher(self, elements):
        return Loops()
'''


def test_a_publisher_that_never_returns_fails_the_test_and_not_the_run(tmp_path):
    """It names the rule and the line, and the next tests run."""
    kept = "required_spec317_mustSupportAPendingElementCountUpToLongMaxValue"
    (tmp_path / "test_user.py").write_text(ENDLESS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "rstream.tck"]
    done = subprocess.run(
        [*command, "-k", "spec317 or spec309"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert f"FAILED test_user.py::TestLoops::{kept}" in done.stdout
    text = (
        "AssertionError: §3.17: not over within 0.3 s (limit_s); a call into the subject does not"
    )
    assert text in done.stdout
    assert "self.subscriber.on_next(n)" in done.stdout
    assert "required_spec309_requestZeroMustSignalIllegalArgumentException" in done.stdout


def test_a_processor_that_never_returns_in_another_thread_is_told():
    """Its publisher signals in a thread that the kit has made; that one must not hang either."""

    def loop():
        while True:
            time.sleep(0.001)

    workers = Workers()
    workers.submit(loop)
    with pytest.raises(AssertionError, match=r"does not return within 0\.05 s(.|\n)*in loop"):
        workers.close(0.05)
    until(lambda: not any(thread.is_alive() for thread in workers._threads))
