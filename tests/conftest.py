"""What every test gets: an extension as new as its sources, and its own driver directory.

Fixtures:

* ``driver_dir``: an unused path, removed afterwards with everything in it.
* ``make_driver_dir``: makes several of them.
* ``driver``: an embedded driver there. ``client``: a client of that driver.
* ``module_driver_dir``: the directory of one embedded driver for all tests of a module.
* ``name``: the name of a stream that no other test uses.
* ``own_threads``: the living threads of this test alone.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import itertools
import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests import c_builds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("rstream", deadline=None)
hypothesis.settings.load_profile("rstream")

ROOT = Path(__file__).parent.parent
_numbers = itertools.count(1)


def source_hash() -> str:
    """The hash in ``_core.__build_id__`` (see transport_ext/python/CMakeLists.txt)."""
    root = ROOT / "transport_ext"
    names = sorted(
        str(path.relative_to(root))
        for pattern in ("*.c", "*.h")
        for path in root.rglob(pattern)
        if path.relative_to(root).parts[0] not in ("tests", "bench", "fuzz")
    )
    text = "".join(f"{n}:{hashlib.sha256((root / n).read_bytes()).hexdigest()}\n" for n in names)
    return hashlib.sha256(text.encode()).hexdigest()


def pytest_configure(config: pytest.Config) -> None:
    """The plugin of ours that a test module uses; it must be there before the module is read.

    A shell starts background jobs with Ctrl-C ignored, and processes of tests inherit that.
    """
    config.pluginmanager.import_plugin("rstream.tck")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Old code must not pass the tests of new sources. RSTREAM_TEST_ANY_BUILD=1 allows it."""
    if os.environ.get("RSTREAM_TEST_ANY_BUILD") or not (ROOT / "transport_ext").is_dir():
        return
    # Clients and drivers of other directories must not meet the tests.
    from rstream import _core

    if _core.__build_id__ != source_hash():
        pytest.exit(
            "the extension is older than its C sources: CMAKE_INSTALL_ALWAYS=1 pip install "
            "--no-build-isolation --no-deps -e .  (or RSTREAM_TEST_ANY_BUILD=1)",
            returncode=3,
        )

    # Of several processes only the first one builds, and only when tests of all folders run.
    is_worker = hasattr(session.config, "workerinput")
    is_whole = session.config.args_source is not pytest.Config.ArgsSource.ARGS
    if is_whole and not is_worker and not session.config.option.collectonly:
        c_builds.start()


#: The folders and files with the longest tests begin first, so that no worker has them left at
#: the end. The tests of the C side come after what waits most while they are built.
LONGEST = (
    *("ray", "spark", "test_examples", "system", "interop", "test_ctest", "test_sim"),
    *("test_flow_models", "lab", "test_docs_fragments", "tck", "hostile", "binding"),
)
#: Their tests share one Ray, one Spark or one built wheel.
TOGETHER = ("tests/integration/ray/", "tests/integration/spark/", "tests/wheel/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first."""

    def place(item: pytest.Item) -> int:
        names = {item.path.stem, item.path.parent.name}
        return next((at for at, name in enumerate(LONGEST) if name in names), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """The collector passes over what lives as long as the run: all modules, and 6 000 tests.

    Looking through them took a quarter of a second, and tests of interrupts collect hundreds of
    times.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """One process runs a file, whose fixtures are made once then, or a folder that shares more."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

        def remove_node(self, node: Any) -> str | None:
            """A process died. What it had finished stays finished, and so does the test it died of.

            xdist gives such files to the next process as work. Nothing of them runs, so that
            process never asks for more, and the run would not end.
            """
            work = self.assigned_work[node]
            for scope in [scope for scope, tests in work.items() if all(tests.values())]:
                del work[scope]
            crashed = super().remove_node(node)
            for scope, tests in list(self.workqueue.items()):
                if crashed in tests:
                    tests[crashed] = True
                    if all(tests.values()):
                        del self.workqueue[scope]
            return crashed

    config.option.loadscopereorder = False  # in our order, whatever the number of its tests
    return Scheduler(config, log)


def pytest_sessionfinish() -> None:
    """Nothing is left running."""
    c_builds.stop()


@pytest.fixture(autouse=True)
def _no_default_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that forgets to name a directory must not touch the user's."""
    monkeypatch.setenv("RSTREAM_DIR", "/dev/null/rstream-tests-must-name-a-directory")
    for name in list(os.environ):
        if name.startswith("RSTREAM_") and name != "RSTREAM_DIR" and "TEST" not in name:
            monkeypatch.delenv(name)


def _base() -> str:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def _holder(directory: Path) -> int:
    """The process that drives a directory, 0 when none does."""
    from rstream import _core
    from rstream.errors import DriverNotFound

    try:
        is_held = directory.exists() and _core.probe(str(directory)) >= 2
        return _core.driver_info(str(directory)).pid if is_held else 0
    except DriverNotFound:
        return 0  # it ended while we looked


def _remove(path: Path) -> None:
    """Remove a driver directory with everything in it; end the driver that a test started there."""
    pid = _holder(path)
    if pid not in (0, os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(path, ignore_errors=True)
    for left in path.parent.glob(f"{path.name}*"):  # error logs that were saved beside it
        left.unlink(missing_ok=True) if not left.is_dir() else shutil.rmtree(left)


@pytest.fixture
def make_driver_dir() -> Iterator[Callable[[], str]]:
    """Makes names of unused directories; two of them stand for two hosts."""
    paths: list[Path] = []

    def make() -> str:
        paths.append(Path(_base()) / f"rstream-test-{os.getpid()}-{next(_numbers)}.d")
        return str(paths[-1])

    yield make
    for path in paths:
        _remove(path)


@pytest.fixture
def driver_dir(make_driver_dir: Callable[[], str]) -> str:
    """An unused directory."""
    return make_driver_dir()


@pytest.fixture(scope="module")
def module_driver_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The directory of an embedded driver that the tests of a module share."""
    from rstream.driver import Driver

    with Driver(dir=str(tmp_path_factory.mktemp("shared") / "driver")) as made:
        yield made.dir


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A stream's name that no other test uses."""
    return f"{request.module.__name__.rpartition('.')[-1]}-{next(_numbers)}"


@pytest.fixture
def driver(driver_dir: str) -> Iterator[object]:
    """An embedded driver with short timeouts."""
    from rstream.driver import Driver

    with Driver(
        driver_dir,
        ipc_term_length=1 << 20,
        term_length=1 << 20,
        timer_interval_s=0.1,
        publication_linger_timeout_s=0.2,
    ) as made:
        yield made


@pytest.fixture
def client(driver: object, driver_dir: str) -> Iterator[object]:
    """A client of ``driver``."""
    from rstream.client import Client

    with Client(driver_dir, start_driver=False) as made:
        yield made


@pytest.fixture
def own_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[threading.Thread]]:
    """The living threads that this test has started, or that threads of its own have. Others of
    the process come and go as they like.
    """
    own, start = [threading.current_thread()], threading.Thread.start

    def start_and_note(thread: threading.Thread) -> None:
        if threading.current_thread() in own:
            own.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_and_note)
    return lambda: [thread for thread in own[1:] if thread.is_alive()]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long messages travel in parts in shared memory too, as where there is no memory for a
    segment.
    """
    monkeypatch.setattr("rstream.stream._parts.SEGMENT_LENGTH_MAX", 0)
