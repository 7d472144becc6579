"""An async actor reads and writes in its own event loop, and answers other calls meanwhile."""

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

COUNT = 1000
THREADS = """
    async def threads(self):
        import threading
        return [thread.name for thread in threading.enumerate()]
"""


def test_the_forwarder_of_the_how_to_page(
    ray_session: Any, driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It forwards from one handle to another until finish(), and no thread of rstream runs."""
    import rstream

    monkeypatch.setenv("RSTREAM_DIR", driver_dir)
    environment = f"{{'env_vars': {{'RSTREAM_DIR': {driver_dir!r}}}}}"
    text = next(text for text in blocks("docs/how-to/ray.md", "python") if "Forwarder" in text)
    text = text.replace("@ray.remote", f"@ray.remote(num_cpus=0, runtime_env={environment})")
    names: dict[str, Any] = {"ray": ray_session, "rstream": rstream}
    with rstream.Driver(dir=driver_dir):
        exec(text + THREADS, names)
        forwarder = names["Forwarder"].remote()
        handle = ray_session.get(forwarder.handle.remote())
        end = rstream.ray.reader("doubled", udp=False)
        received: list[Any] = []
        end.start(received.append)
        forwarding = forwarder.forward.remote(end.handle)
        with handle.publisher() as pub:
            for number in range(COUNT):
                pub.send({"px": number})
        until(lambda: len(received) == COUNT, 30)
        assert not [one for one in ray_session.get(forwarder.threads.remote()) if "rstream" in one]
        ray_session.get(forwarder.finish.remote())
        ray_session.get(forwarding)
        assert received == [{"px": 2 * number} for number in range(COUNT)]
        end.close()
        ray_session.kill(forwarder)
