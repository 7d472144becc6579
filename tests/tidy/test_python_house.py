"""The house rules of the Python side as tests."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTIONAL = (
    "msgspec",
    "numpy",
    "pyarrow",
    "reactivex",
    "ray",
    "pyspark",
    "anyio",
    "cloudpickle",
    "matplotlib",
    "prometheus_client",
    "rich",
    "pytest",
)
NEEDS = {
    "rstream.aio": "anyio",
    "rstream.prometheus": "prometheus_client",
    "rstream.ray": "ray",
    "rstream.spark": "pyspark",
    "rstream.rx": "reactivex",
}


def modules() -> list[str]:
    found = [info.name for info in pkgutil.walk_packages([str(ROOT / "rstream")], "rstream.")]
    assert len(found) > 15
    return [name for name in found if not name.endswith("__main__")]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_import_is_light() -> None:
    result = run_python(
        f"import sys, rstream; print([m for m in {OPTIONAL!r} if m in sys.modules])"
    )
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


@pytest.mark.ci  # 50 s
@pytest.mark.timeout(300)
def test_every_module_can_be_imported_alone() -> None:
    """Each in a fresh interpreter, forked from one that has loaded no module of ours, only those of
    others, which take most of the time.

    Circular imports fail here.
    """
    code = (
        f"import os, sys, asyncio, concurrent.futures, {', '.join(OPTIONAL)}\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'rstream']\n"
        f"for name in {modules()!r}:\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        try:\n"
        "            __import__(name)\n"
        "        except BaseException as error:\n"
        "            print(f'{name}: {error!r}', flush=True); os._exit(1)\n"
        "        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
    )
    result = run_python(code)
    assert not result.stdout, result.stdout
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "name",
    [
        "rstream",
        "rstream.abc",
        "rstream.aio",
        "rstream.codecs",
        "rstream.errors",
        "rstream.metrics",
        "rstream.policy",
        "rstream.prometheus",
        "rstream.rate",
        "rstream.rx",
        "rstream.stages",
        "rstream.stream",
        "rstream.tck",
        "rstream.testing",
        "rstream.work",
    ],
)
def test_all_is_complete_and_sorted(name: str) -> None:
    module = importlib.import_module(name)
    exported = tuple(module.__all__)

    def order(word: str) -> tuple[int, str]:
        """Constants, then classes, then the rest, as ruff's RUF022 sorts."""
        return (0 if word.isupper() else 1 if word[0].isupper() else 2, word)

    assert exported == tuple(sorted(exported, key=order))
    missing = [attribute for attribute in exported if not hasattr(module, attribute)]
    assert not missing


@pytest.mark.parametrize("name", ["rstream._core", "rstream.lab._lab"])
def test_an_extension_exports_its_init_function_alone(name: str) -> None:
    path = importlib.import_module(name).__file__
    assert path is not None
    result = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        pytest.skip("nm (binutils) is not installed")
    symbols = {
        line.split()[-1] for line in result.stdout.splitlines() if line.split()[-2:-1] != ["A"]
    }
    assert symbols == {f"PyInit_{name.rpartition('.')[2]}"}


def test_layers() -> None:
    result = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))], capture_output=True, text=True,
        check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_module_takes_what_lies_above_it_from_the_package() -> None:
    """``import rstream`` gives every room to every other one, and import-linter does not see it."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "rstream").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import) and any(one.name == "rstream" for one in node.names)
    ]
    assert not found, found


def test_nothing_private_crosses_a_package() -> None:
    """What a room shares with others has a public name, in its face or in its ``_internal.py``."""
    package = ROOT / "rstream"
    found: list[str] = []
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
                "rstream."
            ):
                continue
            room, *inside = str(node.module).split(".")[1:]
            if room == own or room.startswith("_") or not (package / room).is_dir():
                continue
            found += [
                f"{path.relative_to(ROOT)}: {node.module}.{one.name}"
                for one in node.names
                if any(word[0] == "_" and word != "_internal" for word in (*inside, one.name))
            ]
    assert not found


def packages_taken_apart(room: str) -> set[str]:
    """Packages of rstream whose private modules a package imports when it is loaded."""
    taken: set[str] = set()
    for path in (ROOT / "rstream" / room).glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            name = str(node.module) if isinstance(node, ast.ImportFrom) else ""
            if name.startswith("rstream.") and name.count(".") > 1:
                taken.add(name.split(".")[1])
    return {other for other in taken - {room} if imports_own_modules(other)}


def imports_own_modules(room: str) -> bool:
    return f"from rstream.{room}._" in (ROOT / "rstream" / room / "__init__.py").read_text()


def rooms() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "rstream").glob("*/__init__.py"))


@pytest.mark.parametrize("room", rooms())
def test_a_package_is_imported_before_its_modules(room: str) -> None:
    """Decision 90: else threads that import both at once may see a module half imported."""
    if room == "cli":
        return  # a program of one thread
    text = (ROOT / "rstream" / room / "__init__.py").read_text()
    head = text[: text.index("from rstream.")] if "from rstream." in text else text
    missing = {
        other for other in packages_taken_apart(room) if f"import rstream.{other} " not in head
    }
    assert not missing, f"rstream/{room}/__init__.py: begin with import rstream.{missing}"


def test_texts_do_not_point_to_pages_that_a_wheel_has_not() -> None:
    """Errors, logs and help say themselves what to do. Docstrings and comments may point."""
    found: list[str] = []
    for path in sorted((ROOT / "rstream").rglob("*.py")):
        tree = ast.parse(path.read_text())
        docstrings = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and "docs/" in node.value
        ]
    assert not found, "\n".join(found)
