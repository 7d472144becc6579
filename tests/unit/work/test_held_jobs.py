"""A reader that is not done with a job, as the tools see it."""

from __future__ import annotations

import argparse
import os

import pytest

from rstream import metrics, work
from rstream.cli import _stat, _why
from rstream.cli._top_rows import look, rows
from rstream.work import _held_jobs
from tests.support import free_port, until


def held(driver_dir):
    return [one for one in metrics.publications(driver_dir) if one.job_held_ms]


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_tools_name_a_reader_that_is_not_done(driver_dir, name, medium, monkeypatch, capsys):
    monkeypatch.setattr(_held_jobs, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(_why, "BETWEEN_S", 0.01)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if medium == "udp" else None
    options = {"channel": channel, "dir": driver_dir}
    with (
        work.subscriber(name, **options) as reader,
        work.publisher(name, linger_s=5, **options) as jobs,
    ):
        jobs.send("slow", timeout_s=5)
        (state,) = until(lambda: held(driver_dir))
        job = reader.get(timeout_s=5)
        text = "has had its oldest job for "
        lines = _stat.publication_lines([state])
        assert f"    flows; {lines[2].partition('; ')[2]}" == lines[2]
        assert text in lines[2]
        now = look(driver_dir)
        assert sum(text in row.state for row in rows(None, now)) == 1
        _why.run(argparse.Namespace(dir=driver_dir, stream=name))
        who = lines[2].partition("; ")[2].partition(" for ")[0]
        assert f"  => {who} for " in capsys.readouterr().out
        if medium == "ipc":
            assert f"pid {os.getpid()} on" in lines[2]
        job.ack()
        until(lambda: not held(driver_dir))
        jobs.send("next", timeout_s=5)
        until(lambda: held(driver_dir))
        reader.get(timeout_s=5).ack()
    assert not held(driver_dir)


def test_a_reader_that_goes_takes_its_counter_along(driver_dir, name, monkeypatch):
    monkeypatch.setattr(_held_jobs, "LOOK_EVERY_S", 0.05)
    with work.publisher(name, linger_s=0, dir=driver_dir) as jobs:
        reader = work.subscriber(name, dir=driver_dir)
        jobs.send("slow", timeout_s=5)
        until(lambda: held(driver_dir))
        reader.close()
        until(lambda: not held(driver_dir))
        until(lambda: jobs._giving._caretaker._held_jobs._counters == 0)
