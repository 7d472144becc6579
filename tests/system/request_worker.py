"""The second process of the request tests: ``python -m tests.system.request_worker DIR NAME``.

It serves a function that answers with its process id, or hangs. It reports in lines on standard
output.
"""

from __future__ import annotations

import os
import sys
import time

import rstream


def main(directory: str, name: str) -> None:
    def answer(query: str) -> int:
        if query == "hang":
            print("hangs", flush=True)
            time.sleep(600)
        return os.getpid()

    with rstream.serve(name, dir=directory)(answer):
        print("serves", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
