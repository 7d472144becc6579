"""Goal: send objects between two processes of one machine, without starting anything first.

Run: python examples/hello.py              # starts both processes
     python examples/hello.py read         # or each in a terminal of its own, in either order
     python examples/hello.py write
"""

import subprocess
import sys

import rstream


def write() -> None:
    with rstream.publisher("hello") as pub:
        for px in range(3):
            pub.send({"px": px})  # waits for a reader (10 s), and for room


def read() -> None:
    with rstream.subscriber("hello") as sub:
        for tick in sub:  # ends when the publisher has closed
            print(tick, flush=True)


if __name__ == "__main__":
    roles = {"read": read, "write": write}
    if len(sys.argv) == 1:
        both = [subprocess.Popen([sys.executable, __file__, role]) for role in roles]
        sys.exit(max(process.wait() for process in both))
    roles[sys.argv[1]]()
