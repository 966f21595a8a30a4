"""Files over loopback beside the raw stream, in memory: `python3 docs/results/loopback.py target/release/pcc [ROUNDS]`.

Writes loopback.md beside it. Needs the Python package blake3, and 3 GB in /dev/shm.
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import blake3

SIZE = 10**9
PIECE = 256 << 10


def ended(process):
    """CPU seconds of a process that ends."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    return used.ru_utime + used.ru_stime, status


def measured(server, client):
    """Gbit/s, and CPU seconds a gigabyte of server and client."""
    begun = time.monotonic()
    child = subprocess.Popen(client, stdout=subprocess.PIPE)
    printed = child.stdout.read()
    used, status = ended(child)
    seconds = time.monotonic() - begun
    server.terminate()
    assert status == 0, client
    return printed, (SIZE * 8e-9 / seconds, ended(server)[0], used)


def listening(pattern, *command):
    """A server, and what it printed of where it listens."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if found := re.search(pattern, line):
            return server, found[0]
    sys.exit("the server named no address")


def serve(pcc, *args):
    return listening(r"https://[^\s']+", pcc, "serve", *args, "--listen", "127.0.0.1:0")


def raw(pcc, _):
    server, port = listening(r"(?<=127\.0\.0\.1:)\d+", pcc, "perf", "-s", "-p", "0", "-B", "127.0.0.1")
    client = [pcc, "perf", "-c", "127.0.0.1", "-p", port, "-n", str(SIZE // 10**6) + "M", "-R", "-J", "--insecure"]
    printed, (_, *used) = measured(server, client)
    return json.loads(printed)["end"]["sum_received"]["bits_per_second"] * 1e-9, *used


def get(pcc, directory):
    server, url = serve(pcc, str(directory / "file"))
    copy = directory / "copy"
    figures = measured(server, [pcc, "get", url, "-o", str(copy), "--quiet", "--no-path-memory"])[1]
    copy.unlink()
    return figures


def put(pcc, directory):
    server, url = serve(pcc, "--writable", str(directory / "in"))
    figures = measured(server, [pcc, "put", str(directory / "file"), url, "--quiet", "--no-path-memory"])[1]
    (directory / "in/file").unlink()
    return figures


def work(directory):
    """CPU seconds a gigabyte of what a transfer does beyond the stream: read, write, hash."""

    def timed(of):
        before = resource.getrusage(resource.RUSAGE_SELF)
        of()
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    pieces, buffer, hasher = [os.urandom(PIECE) for _ in range(8)], bytearray(PIECE), blake3.blake3()

    def read():
        with open(directory / "file", "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    def write():
        with open(directory / "written", "wb", buffering=0) as file:
            for at in range(SIZE // PIECE):
                file.write(pieces[at % 8])

    def digest():
        for at in range(SIZE // PIECE):
            hasher.update(pieces[at % 8])

    used = timed(read), timed(write), timed(digest)
    (directory / "written").unlink()
    return used


def main(pcc, rounds):
    os.environ["PCC_TOKEN"] = "not-a-secret-of-anybody"
    ways = {"raw stream, `pcc perf -R`": raw, "`pcc get`": get, "`pcc put`": put}
    found, works, load = {name: [] for name in ways}, [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        directory = Path(directory)
        (directory / "in").mkdir()
        (directory / "file").write_bytes(os.urandom(10**6) * (SIZE // 10**6))
        for number in range(rounds):
            for name in list(ways)[:: 1 - number % 2 * 2]:
                found[name].append(ways[name](pcc, directory))
            works.append(work(directory))
    page = Path(__file__).with_suffix(".md")
    page.write_text(text(found, [statistics.median(of) for of in zip(*works)], rounds, load))


def priority():
    """Of this session, by which the scheduler compares it with others."""
    group = Path("/proc/self/autogroup")
    return int(group.read_text().split()[-1]) if group.exists() else os.nice(0)


def text(found, works, rounds, load):
    middle = {name: [statistics.median(of) for of in zip(*figures)] for name, figures in found.items()}
    base = next(iter(middle.values()))
    least = base[1] + base[2] + works[0] + works[1] + 2 * works[2]
    rows = [
        f"| {name} | {rate:.2f} | {rate / base[0]:.2f} | {server:.2f} | {client:.2f} | {server + client:.2f} |"
        for name, (rate, server, client) in middle.items()
    ]
    return f"""# Files over loopback

`python3 docs/results/loopback.py target/release/pcc` makes this page. A file of 1 GB in `/dev/shm` goes to another one there, over HTTP/3 on
the loopback interface. The raw stream carries zeros, which nobody reads from a file, hashes or writes. Both ends share {os.cpu_count()} processors.
Medians of {rounds} rounds, in turns. The load was {load:.0f} at the beginning and {os.getloadavg()[0]:.0f} at the end, and the scheduler's
priority was {priority()}: rates depend on both, CPU time less so.

| | Gbit/s | over the raw stream | server, CPU s a GB | client, CPU s a GB | both |
|---|--:|--:|--:|--:|--:|
{chr(10).join(rows)}

| work beyond the stream, alone in a loop | CPU s a GB |
|---|--:|
| reading the file, in pieces of 256 KiB | {works[0]:.2f} |
| writing the file | {works[1]:.2f} |
| BLAKE3, at each end | {works[2]:.2f} |

A transfer needs at least {least:.2f} s of CPU a GB: the raw stream, one read, one write and two digests. Where both ends share all processors,
it has at most {(base[1] + base[2]) / least:.2f} of the raw stream's rate. More is possible only where processors are left. The largest part of
the work beyond the stream is the kernel's, which finds new pages for the written file.

`pcc get` takes {sum(middle["`pcc get`"][1:]) / least:.2f} times the least, and `pcc put` {sum(middle["`pcc put`"][1:]) / least:.2f} times.
"""


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
