"""A client's name: where it comes from, and what the tools and Aeron's label make of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import rstream
from rstream import metrics
from rstream._client_name import NAME_BYTES_MAX, default_name
from rstream._process_text import process_text
from rstream.config import ClientConfig
from rstream.errors import ConfigError

PROGRAM = "from rstream._client_name import default_name as name; print(name())"


def test_program_and_pid_are_the_default(tmp_path) -> None:
    assert default_name() == f"{default_name().split('[')[0]}[{os.getpid()}]"
    script = tmp_path / "prices.py"
    script.write_text(f"import os; {PROGRAM}; print(os.getpid())")
    for command, program in (
        ([str(script)], "prices.py"),
        (["-c", f"import os; {PROGRAM}; print(os.getpid())"], "python -c"),
    ):
        lines = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=True
        ).stdout.split("\n")
        assert lines[0] == f"{program}[{lines[1]}]"


def test_a_program_with_an_odd_name(monkeypatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(sys, "argv", ["/x/" + "é" * 200 + "\x1b.py"])
    name = default_name()
    assert len(name.encode()) <= NAME_BYTES_MAX
    assert name.isprintable()
    assert name.endswith(f"[{os.getpid()}]")


def test_the_environment_names_the_clients_of_a_process(monkeypatch) -> None:
    monkeypatch.setenv("RSTREAM_CLIENT_NAME", "pricer")
    assert default_name() == "pricer"
    monkeypatch.setenv("RSTREAM_CLIENT_NAME", "x" * 101)
    with pytest.raises(ConfigError, match="RSTREAM_CLIENT_NAME"):
        default_name()


@pytest.mark.parametrize("name", ["x" * 101, "é" * 51, "a\nb", "\x1b[31m", 5])
def test_a_name_that_cannot_be_shown_is_refused(name: object, driver_dir: str) -> None:
    with pytest.raises(ConfigError, match="name="):
        ClientConfig(name=name)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="name="):
        rstream.Client(driver_dir, name=name)  # type: ignore[arg-type]


def test_a_client_and_what_the_driver_shows_of_it(driver: rstream.Driver, driver_dir: str) -> None:
    with (
        rstream.Client(driver_dir, name="a version=b name=c") as client,
        rstream.subscriber("ticks", client=client),
        rstream.publisher("ticks", dir=driver_dir, linger_s=0),
    ):
        (subscription,) = metrics.subscriptions(driver_dir)
        assert (subscription.client_name, subscription.pid) == (client.name, os.getpid())
        (publication,) = metrics.publications(driver_dir)
        assert publication.client_name == default_name()
        assert publication.process == f"{default_name().split('[')[0]}, pid {os.getpid()}"
        (label,) = [
            one.label
            for one in metrics.counters(driver_dir)
            if one.type_id == metrics.TYPE_CLIENT_HEARTBEAT and one.owner_id == client.client_id
        ]
        assert label.startswith(  # as Aeron's clients write it
            f"client-heartbeat: id={client.client_id} name=a version=b name=c version="
        )


def test_how_a_process_is_called() -> None:
    assert process_text("a.py[7]", 7) == "a.py, pid 7"
    assert process_text("a.py[7]", 8, "ada") == "a.py[7], pid 8 on ada"
    assert process_text("", 8) == "pid 8"
    assert process_text("", None, "ada") == ""
