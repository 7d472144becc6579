"""The page about Ray: the fragments that need no Ray."""

from __future__ import annotations

from tests.fragments.fragment import Fragment

FEATURES = """
import threading, types
import numpy as np
import rstream

class Model:
    def fit(self, x, y):
        print(len(x), x[0], y[-1])

model = Model()
opened = rstream.ray.reader

def reader(*args, **options):
    end = opened(*args, **options)
    threading.Thread(target=send, args=(end.handle,)).start()
    return end

def send(handle):
    import pyarrow
    x = np.arange(1500.0)
    with handle.publisher() as pub:
        for part in range(0, 1500, 300):
            piece = x[part : part + 300]
            pub.send(pyarrow.table({"x": piece, "y": piece}))

rstream.ray.reader = reader
"""
FRAGMENTS = (
    Fragment(
        page="docs/how-to/ray.md",
        number=1,
        before="import rstream, types\n"
        "self = types.SimpleNamespace(end=rstream.ray.reader('ticks'), scores=[])",
        after="with self.end.handle.publisher() as pub:\n"
        "    pub.send_many({'px': px} for px in range(3))\n"
        "self.end.finish(); print(self.scores)",
        shown="[{'px': 1}, {'px': 2}]\n",
        needs="reactivex",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=3,
        before="import numpy as np, rstream\n"
        "ends = [rstream.ray.reader(type=np.ndarray) for _ in range(2)]\n"
        "sums = []\n"
        "for end in ends: end.start(lambda array: sums.append(int(array.sum())))\n"
        "handles, weights = [end.handle for end in ends], np.ones(100_000)",
        after="for end in ends: end.finish()\nprint(sums)",
        shown="[100000, 100000]\n",
        needs="numpy",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=4,
        before="import rstream\nstore = lambda *facts: print(*facts)\njobs = ['a', 'b']",
        after="end.finish()",
        shown="a False\nb False\n",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=5,
        before="import numpy as np, rstream\non_frame = lambda frame: print(frame.shape)",
        after="end.finish()",
        shown="(100000,)\n",
        needs="numpy",
    ),
    Fragment(
        page="docs/how-to/ray.md",
        number=7,
        before=FEATURES,
        shown="1024 0.0 1023.0\n476 1024.0 1499.0\n",
        needs="pyarrow",
    ),
)
