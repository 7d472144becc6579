"""Under gevent a wait of rstream would hold all greenlets of the thread: it is refused. What needs
no wait works, and threads of gevent's pool wait. With gevent installed the real one is asked too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types

import pytest

from rstream import policy, stream
from rstream.errors import ConfigError

PROGRAM = """
from gevent import monkey
monkey.patch_all()
import gevent
import rstream
from rstream.errors import ConfigError

pool = gevent.get_hub().threadpool
sub, pub = rstream.subscriber("g"), rstream.publisher("g")
try:
    sub.get()
except ConfigError as error:
    assert "threadpool" in error.hint, error.hint
else:
    raise AssertionError
got = gevent.spawn(lambda: pool.apply(sub.get, (), {"timeout_s": 20}))
gevent.sleep(0.1)
pub.send(1)
assert got.get() == 1
pool.apply(pub.close)
pool.apply(sub.close)
print("right")
"""


@pytest.fixture
def gevent_runs_here(monkeypatch):
    """This thread has a hub, as ``gevent._hub_local`` says of the calling thread."""
    here = threading.get_ident()
    local = types.ModuleType("gevent._hub_local")
    local.get_hub_if_exists = lambda: object() if threading.get_ident() == here else None
    monkeypatch.setitem(sys.modules, "gevent._hub_local", local)


def test_a_wait_is_refused(gevent_runs_here, module_driver_dir, name):
    with (
        stream.subscriber(name, dir=module_driver_dir) as sub,
        stream.publisher(name, dir=module_driver_dir, linger_s=0) as pub,
    ):
        with pytest.raises(ConfigError, match="greenlets"):
            sub.get(timeout_s=1)
        with pytest.raises(ConfigError, match="greenlets"):
            next(iter(sub))
        pub.send(1)
        assert sub.get(timeout_s=0) == 1
        with pytest.raises(ConfigError, match="greenlets"):
            for number in range(1_000_000):
                pub.send(number)
        assert pub.events()  # it can be used


def test_other_threads_wait(gevent_runs_here, module_driver_dir, name):
    got = []
    with (
        stream.subscriber(name, dir=module_driver_dir, on_slow=policy.Buffer(9)) as sub,
        stream.publisher(name, dir=module_driver_dir, linger_s=0) as pub,
    ):
        thread = threading.Thread(target=lambda: got.append(sub.get(timeout_s=20)))
        thread.start()
        pub.send(1)
        thread.join(20)
    assert got == [1]


def test_gevent_itself(driver_dir):
    pytest.importorskip("gevent")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"RSTREAM_DIR": driver_dir, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr
