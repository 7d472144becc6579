"""The programs about Ray in the documentation run as they stand there."""

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

SEEN = """        self.last = tick

    def seen(self):
        return getattr(self, "last", None)
"""


def test_the_how_to_page(
    ray_session: Any, driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's workers do not have the test's environment, so the actor gets the directory."""
    import rstream

    monkeypatch.setenv("RSTREAM_DIR", driver_dir)
    environment = f"{{'env_vars': {{'RSTREAM_DIR': {driver_dir!r}}}}}"
    text = blocks("docs/how-to/ray.md", "python")[0]
    text = text.replace("@ray.remote", f"@ray.remote(num_cpus=0, runtime_env={environment})")
    text = text.replace("        self.last = tick\n", SEEN)
    names: dict[str, Any] = {"ray": ray_session, "rstream": rstream}
    with rstream.Driver(dir=driver_dir):
        exec(text, names)
        scorer = names["scorer"]
        until(lambda: ray_session.get(scorer.seen.remote()) == {"px": 1.0}, 20)
        ray_session.kill(scorer)
