"""The Python fragments of README and documentation run, each after what its page leaves out.

Whole programs are run by ``test_docs_snippets``, fragments that need a Ray or a Spark by the
integration tests. A fragment that no test runs is an error here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.fragments import codecs, ray, rx, streams, work
from tests.fragments.fragment import Fragment
from tests.support import free_port
from tests.test_docs_snippets import ROOT, Shell, blocks, output, shell

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("shell",)  # a fixture

FRAGMENTS = tuple(
    fragment for topic in (streams, codecs, rx, ray, work) for fragment in topic.FRAGMENTS
)
#: Pages whose fragments other tests run, and the names of these tests.
ELSEWHERE = {
    "docs/index.md": "test_the_first_program_sends_and_reads",
    "docs/tutorial/two-processes.md": "test_two_processes",
    "docs/tutorial/pipeline.md": "test_pipeline, test_the_newest_tick",
    "docs/tutorial/ray.md": "test_ray",
    "docs/how-to/asyncio.md": "test_asyncio",
    "docs/how-to/testing.md": "test_testing",
    "docs/how-to/spark.md": "tests/integration/spark/test_docs.py",
}
#: The same for single fragments: page, and number on the page.
ELSEWHERE_SINGLY = {
    ("docs/how-to/sharing-work.md", 0): "test_sharing_work",
    ("docs/how-to/sharing-work.md", 1): "test_sharing_work",
    ("README.md", 0): "test_the_first_program_sends_and_reads",
    ("README.md", 6): "tests/integration/spark/test_docs.py",
    ("docs/how-to/request-response.md", 0): "test_requests",
    ("docs/how-to/request-response.md", 1): "test_requests",
    ("docs/how-to/late-subscribers.md", 0): "test_the_last_value",
    ("docs/how-to/late-subscribers.md", 1): "test_the_last_value",
    ("docs/how-to/ray.md", 0): "tests/integration/ray/test_docs.py",
    ("docs/how-to/ray.md", 2): "tests/integration/ray/test_async_actors.py",
    ("docs/how-to/ray.md", 6): "tests/integration/ray/test_ray_data.py",
    ("docs/how-to/ray.md", 8): "tests/integration/ray/test_metrics.py",
    ("docs/explanation/security.md", 1): "tests/integration/ray/test_keys.py",
    ("docs/explanation/security.md", 2): "tests/integration/ray/test_keys.py",
}


def pages() -> Iterator[str]:
    """README, and every page of the documentation that is ours."""
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        if "aeron" not in path.parts:
            yield str(path.relative_to(ROOT))


def test_every_fragment_is_run_by_a_test() -> None:
    here = {(fragment.page, fragment.number) for fragment in FRAGMENTS}
    assert len(here) == len(FRAGMENTS)
    there = {
        (page, number)
        for page in pages()
        for number in range(len(blocks(page, "python")))
        if page not in ELSEWHERE
    }
    assert here | ELSEWHERE_SINGLY.keys() == there


@pytest.mark.parametrize(
    "fragment", FRAGMENTS, ids=lambda fragment: f"{fragment.page}-{fragment.number}"
)
def test_fragment(shell: Shell, fragment: Fragment) -> None:
    pytest.importorskip(fragment.needs)
    name = shell.write("fragment.py", fragment.program(free_port()))
    printed = output(shell.start(sys.executable, name))
    if fragment.shown is not None:
        assert printed == fragment.shown
