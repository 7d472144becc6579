"""How Sphinx builds the site: `make docs` puts it into build/docs.

Sphinx, because it checks links between pages and makes the API from docstrings, with warnings as
errors; mkdocs checks less.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import rstream

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "rstream"
author = "the rstream authors"
project_copyright = "the rstream authors, Apache-2.0"
version = release = rstream.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["conf.py"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_title = f"rstream {version}"
html_show_sourcelink = False
html_copy_source = False

# Links between pages, with anchors of headings, are checked; links to other sites are left alone.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
# The same class is reachable by two paths; either page is right.
suppress_warnings = ["ref.python"]


def mark_code(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Indented paragraphs of module docstrings are code: mark them as a literal block."""
    if what != "module":
        return
    marked: list[str] = []
    for line in lines:
        if line.startswith(" ") and marked and not marked[-1].strip():
            before = next((text for text in reversed(marked) if text.strip()), "")
            if not before.startswith(" ") and not before.endswith("::"):
                marked += ["::", ""]
        marked.append(line)
    lines[:] = marked


def keep_whole(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Keep the docstring of an attribute whole.

    Napoleon would take the text before a colon for its type.
    """
    if what in ("attribute", "property", "data") and lines:
        lines.insert(0, "")


def drop_names(app: Sphinx, name: str, source: list[str]) -> None:
    """The site shows whole docstrings: it needs no list of names (tests/make_api_pages.py)."""
    source[0] = re.sub("<!-- names -->.*<!-- end of names -->", "", source[0], flags=re.DOTALL)


def setup(app: Sphinx) -> None:
    app.connect("source-read", drop_names)
    app.connect("autodoc-process-docstring", keep_whole, priority=400)
    app.connect("autodoc-process-docstring", mark_code)
