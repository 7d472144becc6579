"""Goal: send over UDP. Both sides name the address of the reader, where it listens.

Run: python examples/udp.py                           # starts both processes on this machine
     python examples/udp.py read 10.0.0.7:40123       # or on 10.0.0.7
     python examples/udp.py write 10.0.0.7:40123      # and on another machine
"""

import subprocess
import sys

import rstream

COUNT = 10_000


def write(address: str) -> None:
    channel = rstream.Channel.udp(address)
    with rstream.publisher("numbers", channel=channel) as pub:
        pub.send_many({"n": n} for n in range(COUNT))  # lost datagrams are sent again


def read(address: str) -> None:
    channel = rstream.Channel.udp(address)
    with rstream.subscriber("numbers", channel=channel) as sub:
        numbers = [message["n"] for message in sub]
    if numbers != list(range(COUNT)):
        sys.exit(f"{len(numbers)} messages, but not those that were sent")
    print(f"{len(numbers)} messages, complete and in order", flush=True)


if __name__ == "__main__":
    roles = {"read": read, "write": write}
    if len(sys.argv) >= 2 and sys.argv[1] in roles:
        roles[sys.argv[1]](sys.argv[2])
    else:
        where = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:40123"
        both = [subprocess.Popen([sys.executable, __file__, role, where]) for role in roles]
        sys.exit(max(process.wait() for process in both))
