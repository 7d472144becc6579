"""docs/reference/api has each public name, with its signature and what its docstring says first."""

from pathlib import Path

import pytest

from tests.make_api_pages import PAGES, modules, page


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(PAGES.glob("*.md")) if modules(path.read_text())],
    ids=lambda path: path.stem,
)
def test_the_page_matches_the_package(path: Path) -> None:
    text = path.read_text()
    try:
        made = page(text)
    except ImportError as error:
        pytest.skip(f"an extra is not installed: {error}")
    assert made == text, "run: python -m tests.make_api_pages"
