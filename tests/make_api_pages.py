"""Makes the names on the pages of docs/reference/api: ``python -m tests.make_api_pages``.

Each public name with its signature and the first paragraph of its docstring, for who reads a
checkout. The site has the whole docstrings there instead (docs/conf.py leaves the names out).
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import textwrap
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference" / "api"
BEGIN, END = "<!-- names -->\n", "<!-- end of names -->\n"
LINE_LENGTH_MAX = 100
#: Who reads of these gets them from a function, and makes none.
IS_MADE_ELSEWHERE = re.compile(r"made by|returns? it|returned by|gives? it|makes one")
MODULE = re.compile(r"automodule:: ([\w.]+)")


class Shown(str):
    """An annotation, without the quotes that a text would have."""

    __slots__ = ()
    __repr__ = str.__str__


def paragraph(value: object) -> str:
    """The first paragraph of the docstring, as Markdown in one line."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").removesuffix("::")


def sentence(value: object) -> str:
    return re.split(r"(?<=\.)\s", paragraph(value))[0].rstrip(":.")


def wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        LINE_LENGTH_MAX,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def short(text: str) -> str:
    """Without the modules of names, and without addresses."""
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)
    text = re.sub(r"<[^>]* at 0x[^>]*>", "...", text)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text.replace("~", ""))


def signature(value: Any, *, with_types: bool) -> str:
    """Its arguments in brackets; dots if Python does not know them."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    arguments = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    arguments = [
        one.replace(annotation=shown(one.annotation) if with_types else one.empty)
        for one in arguments
    ]
    returns = found.empty
    if with_types and not inspect.isclass(value):
        returns = shown(found.return_annotation)
    return short(str(found.replace(parameters=arguments, return_annotation=returns)))


def shown(annotation: Any) -> Any:
    return Shown(annotation) if isinstance(annotation, str) else annotation


def code(line: str) -> list[str]:
    """The line in a block; a long one with an argument on each line."""
    if ")" not in line or line.endswith("}"):
        return ["```text", *wrapped(line, "    "), "```"]
    if len(line) > LINE_LENGTH_MAX:
        end = line.rindex(")")
        depth, made = 0, ""
        for place, one in enumerate(line):
            made += "\n" if place == end else ""
            depth += (one in "([{") - (one in ")]}")
            made += one
            if one == "(" and depth == 1 and place < end and made.count("(") == 1:
                made += "\n    "
            elif one == "," and depth == 1 and place < end:
                made += "\n   "
        line = made
    return ["```text", line, "```"]


def members(owner: type) -> Iterator[str]:
    """Its methods and properties, those of rstream's bases too."""
    for name in sorted(dir(owner)):
        base = next((one for one in owner.__mro__ if name in vars(one)), object)
        is_ours = base.__module__.startswith("rstream")
        if (
            name.startswith("_") or not is_ours or not name.islower()
        ):  # tests of the TCK have capitals
            continue
        value = getattr(owner, name)
        is_called = inspect.isroutine(value)
        if is_called or isinstance(value, property) or inspect.isgetsetdescriptor(value):
            brackets = signature(value, with_types=False) if is_called else ""
            said = sentence(value)
            yield from wrapped(f"* `{name}{brackets}`" + (f": {said}" if said else ""), "  ")


def call_of(name: str, owner: type) -> list[str]:
    """How it is made, the keys of a dict, the values of an enum; nothing if the user makes none."""
    brackets = signature(owner, with_types=True)
    if typing.is_typeddict(owner):
        keys = typing.cast("dict[str, Any]", owner.__annotations__)
        lines = [f"{key}: {short(forward(value))}" for key, value in keys.items()]
        return ["```text", *lines, "```", ""]
    if issubclass(owner, enum.Enum):
        return ["```text", *(f"{one.name} = {one.value!r}" for one in owner), "```", ""]
    if brackets in ("(...)", "(*args, **kwargs)") or IS_MADE_ELSEWHERE.search(paragraph(owner)):
        return []
    return [*code(name + brackets), ""]


def forward(annotation: Any) -> str:
    return getattr(annotation, "__forward_arg__", None) or str(annotation)


def entry(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        bases = [one.__name__ for one in value.__bases__ if not one.__name__.startswith("_")]
        bases = [one for one in bases if one not in ("object", "Generic")]
        yield f"### class {name}" + (f" ({', '.join(bases)})" if bases else "")
        yield ""
        yield from call_of(name, value)
        yield from wrapped(paragraph(value))
        yield ""
        yield from members(value)
    else:
        is_called = inspect.isroutine(value)
        shown_value = signature(value, with_types=True) if is_called else " = " + short(repr(value))
        yield f"### {name}"
        yield ""
        yield from code(name + shown_value)
        if is_called:
            yield ""
            yield from wrapped(paragraph(value))
    yield ""


def names(module: ModuleType) -> Iterator[str]:
    yield f"## Names of {module.__name__}"
    yield ""
    for name in sorted(module.__all__):
        yield from entry(name, getattr(module, name))


def modules(text: str) -> list[str]:
    return MODULE.findall(text)


def page(text: str) -> str:
    """The page with its names anew. Raises ImportError where an extra is not installed."""
    if not modules(text):
        return text
    made = [line for one in modules(text) for line in names(importlib.import_module(one))]
    before = text.partition(BEGIN)[0].rstrip("\n")
    lines = re.sub(r"\n{3,}", "\n\n", "\n".join(made)).rstrip("\n")
    return f"{before}\n\n{BEGIN}\n{lines}\n\n{END}"


if __name__ == "__main__":
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(page(path.read_text()))
