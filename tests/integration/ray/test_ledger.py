"""A reading actor that dies after a commit: its ledger's actor has what it had not consumed."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from typing import Any

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]

TIMEOUT_S = 90.0


class Store:
    """What counts: batches by their names. A batch that comes twice is counted once."""

    def __init__(self) -> None:
        self.batches: dict[tuple[str, int, int, int], list[int]] = {}
        self.repeated = 0

    def add(self, key: tuple[str, int, int, int], values: list[int]) -> int:
        self.repeated += key in self.batches
        self.batches[key] = values
        return len(self.batches)

    def values(self) -> list[int]:
        return [value for values in self.batches.values() for value in values]

    def repeats(self) -> int:
        return self.repeated


class RowReader:
    """Stores what it reads; with ``die_at`` its first life ends while it has that batch in hand."""

    def __init__(self, directory: str, ledger: Any, store: Any, die_at: int) -> None:
        import ray

        import rstream.ray

        self.store, self.die_at = store, die_at
        self.is_first = not ray.get_runtime_context().was_current_actor_reconstructed
        self.end = rstream.ray.committed_reader(
            "ledger", dir=directory, host="127.0.0.1", ledger=ledger
        )
        self.end.start(self.take)

    def take(self, batch: Any) -> None:
        import os

        import ray

        from rstream.ledger import marks_of

        marks = marks_of(batch)
        assert marks is not None
        key = (marks.query, marks.epoch, marks.partition, marks.sequence)
        count = ray.get(self.store.add.remote(key, batch.column(0).to_pylist()))
        if self.is_first and count == self.die_at:
            os._exit(1)

    def handle(self) -> Any:
        return self.end.handle


def test_an_actor_that_dies_after_the_commit_gets_its_rows_again(
    ray_session: Any, driver_dir: str
) -> None:
    import rstream
    import rstream.ray
    from tests.unit.ledger.conftest import Job

    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        ledger = rstream.ray.ActorLedger()
        store = ray.remote(num_cpus=0)(Store).remote()
        reader = ray.remote(num_cpus=0, max_restarts=1)(RowReader).remote(
            driver_dir, ledger, store, 3
        )
        try:
            job = Job(ray.get(reader.handle.remote()), rowsPerMessage="10", offerTimeout="30")
            job.run(0, range(50))
            deadline_s = time.monotonic() + TIMEOUT_S
            while len(ray.get(store.values.remote())) < 50 and time.monotonic() < deadline_s:
                time.sleep(0.05)
            assert Counter(ray.get(store.values.remote())) == Counter(range(50))
            assert ray.get(store.repeats.remote()) <= 2, "what was in hand, and just before"
            assert job.run(0, range(50)).repeated == 1
            job.run(1, range(50, 60))
            while len(ray.get(store.values.remote())) < 60 and time.monotonic() < deadline_s:
                time.sleep(0.05)
            assert Counter(ray.get(store.values.remote())) == Counter(range(60))
        finally:
            for actor in (reader, store):
                ray.kill(actor)
            with contextlib.suppress(Exception):
                ledger.end()


class Forgetful:
    """Makes its ledger itself."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def refused(self) -> str:
        import rstream.ray
        from rstream.errors import ConfigError

        ledger = rstream.ray.ActorLedger()
        try:
            rstream.ray.committed_reader("own", dir=self.directory, ledger=ledger)
        except ConfigError as error:
            return str(error)
        return ""

    def named(self, name: str) -> bool:
        import rstream.ray

        ledger = rstream.ray.ActorLedger(name)
        try:
            rstream.ray.committed_reader("own", dir=self.directory, ledger=ledger).close()
        finally:
            ledger.end()
        return True


def test_a_ledger_that_would_die_with_its_reader_is_refused(
    ray_session: Any, driver_dir: str
) -> None:
    import rstream

    ray = ray_session
    with rstream.Driver(dir=driver_dir):
        actor = ray.remote(num_cpus=0)(Forgetful).remote(driver_dir)
        try:
            text = ray.get(actor.refused.remote(), timeout=TIMEOUT_S)
            assert "stream 'own': this actor made the ActorLedger itself" in text
            assert ray.get(actor.named.remote("test-forgetful"), timeout=TIMEOUT_S)
        finally:
            ray.kill(actor)
