"""Metrics of endpoints are recorded by Ray, for as long as the endpoint is open."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import until
from tests.test_docs_snippets import blocks

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Reader:
    def __init__(self, directory: str, text: str) -> None:
        import rstream

        self.end = rstream.ray.reader("metrics", dir=directory, host="127.0.0.1")
        exec(text, {"rstream": rstream, "self": self})
        self.end.start(lambda item: None)

    def handle(self) -> Any:
        return self.end.handle

    def recorded(self) -> tuple[dict[str, str], dict[str, float]] | None:
        """The tags, and what was counted, once a second; None: no endpoint is exported any more."""
        from rstream.ray import _metrics

        if _metrics._exporter is None:
            return None
        assert _metrics._exporter.thread.is_alive()
        for tags, progress in _metrics._exporter.rows.values():
            return tags, progress.totals
        return {}, {"messages": 0.0}

    def close(self) -> None:
        self.end.close()


def test_an_endpoint_is_exported_until_it_is_closed(ray_session: Any, driver_dir: str) -> None:
    ray = ray_session
    import rstream

    text = blocks("docs/how-to/ray.md", "python")[8]
    with rstream.Driver(dir=driver_dir):
        actor = ray.remote(num_cpus=0)(Reader).remote(driver_dir, text)
        with ray.get(actor.handle.remote()).publisher() as pub:
            pub.send_many([b"x" * 100] * 20)
            until(lambda: ray.get(actor.recorded.remote())[1]["messages"] == 20.0, 30)
        tags, _ = ray.get(actor.recorded.remote())
        assert tags["stream"] == "metrics"
        assert tags["actor"].startswith("Reader(")
        ray.get(actor.close.remote())
        until(lambda: ray.get(actor.recorded.remote()) is None, 30)
        ray.kill(actor)
