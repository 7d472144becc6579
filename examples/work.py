"""Goal: share jobs among processes, and lose none when one of them is killed.

Run: python examples/work.py

Three worker processes take jobs of one name. The first one kills itself in the middle of a job:
another worker gets that job, with a mark.
"""

import os
import signal
import subprocess
import sys
import time

import rstream

NAME = "example-work"
COUNT = 30


def worker(number: int) -> None:
    with rstream.work.subscriber(NAME) as jobs:
        for job in jobs:
            if number == 0 and job.item >= 5:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)  # the work
            if job.is_redelivered:
                print(f"job {job.item} was given to another worker before", flush=True)


def main() -> None:
    workers = [subprocess.Popen([sys.executable, __file__, str(n)]) for n in range(3)]
    with rstream.work.publisher(NAME) as jobs:
        while jobs.statistics()["readers"] < len(workers):  # one that came too late would wait
            time.sleep(0.01)
        for number in range(COUNT):
            jobs.send(number)
        jobs.wait_acknowledged()
        counts = jobs.statistics()
    for process in workers:
        process.wait()
    print(f"{counts['acknowledged']} of {COUNT} jobs done, {counts['redelivered']} given twice")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        worker(int(sys.argv[1]))
    else:
        main()
