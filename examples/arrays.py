"""Goal: send arrays and tables between two processes; dtype, shape and columns travel along.

Run: python examples/arrays.py             # starts both processes; needs numpy and pyarrow
     python examples/arrays.py read        # or each in a terminal of its own, in either order
     python examples/arrays.py write
"""

import subprocess
import sys

import numpy as np
import pyarrow as pa

import rstream


def write() -> None:
    with rstream.publisher("frames", np.ndarray) as frames:
        for number in range(3):
            frames.send(np.full((100, 40, 3), number, "u1"))
        frames.send(np.array([(1, 2.5)], [("id", "<u4"), ("px", "<f8")]))
    with rstream.publisher("rows", pa.Table) as rows:
        rows.send(pa.table({"symbol": ["a", "b"], "px": [1.0, 2.0]}))


def read() -> None:
    with rstream.subscriber("frames", np.ndarray) as frames:
        for array in frames:
            print(array.dtype, array.shape, array.flat[-1], flush=True)
    with rstream.subscriber("rows", pa.Table) as rows:  # or pandas.DataFrame, polars.DataFrame
        for table in rows:
            print(table.to_pydict(), flush=True)


if __name__ == "__main__":
    roles = {"read": read, "write": write}
    if len(sys.argv) == 1:
        both = [subprocess.Popen([sys.executable, __file__, role]) for role in roles]
        sys.exit(max(process.wait() for process in both))
    roles[sys.argv[1]]()
