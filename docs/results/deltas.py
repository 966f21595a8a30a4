#!/usr/bin/env python3
"""Files that changed a little, by `pcc get` and `pcc put` beside rsync: the table of docs/results/deltas.md.

    sudo python3 docs/results/deltas.py target/release/pcc COMMIT >docs/results/deltas.md

Everything runs in a network namespace of its own, as in transfers.py. It needs root, OpenSSH's server, rsync, mke2fs and debugfs.
"""
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import delta_files
import transfers

PATHS = {"clean": "rate=100Mbit,rtt=50ms", "1 % lost": "rate=100Mbit,rtt=50ms,loss=1%"}
KINDS = ["image", "mailbox", "dump"]
RUNS = int(os.environ.get("DELTA_RUNS", 3))
LONGEST = 300  # seconds

PCC = "--quiet --no-path-memory --ssh {ssh} --remote-pcc {pcc}"
# What a row is called, and the command at the near end: `old` is where the old file is.
WAYS = [
    ("`pcc get`", "{pcc} get " + PCC + " {outside}:{new} {old}"),
    ("`pcc get -W`", "{pcc} get -W " + PCC + " {outside}:{new} {old}"),
    ("`rsync`", "rsync -e {ssh} {outside}:{new} {old}"),
    ("`pcc put`", "{pcc} put " + PCC + " {new} {outside}:{old}"),
    ("`pcc put -W`", "{pcc} put -W " + PCC + " {new} {outside}:{old}"),
    ("`rsync`, to the host", "rsync -e {ssh} {new} {outside}:{old}"),
]


def moved(counters):
    """Bytes on the wire, both ways, by the counters of the interfaces of a namespace."""
    lines = [line.split(":") for line in pathlib.Path(counters).read_text().splitlines()[2:]]
    return sum(int(fields.split()[column]) for name, fields in lines if name.strip() != "lo" for column in (0, 8))


def run(pcc, path, command, kind, place, ssh):
    """Seconds and megabytes of one run."""
    with tempfile.TemporaryDirectory(dir=place) as to:
        old, new = f"{to}/file", f"{place}/{kind}.new"
        shutil.copyfile(f"{place}/{kind}.old", old)
        # Else it might be as old as the new one.
        os.utime(old, (1_500_000_000, 1_500_000_000))
        command = command.format(pcc=shlex.quote(pcc), outside="$PCC_SHELL_OUTSIDE", old=old, new=new, ssh=shlex.quote(ssh))
        begun = time.monotonic()
        with open(f"{place}/said", "w+") as said:
            shell = f"timeout {LONGEST} {command}; code=$?; cat /proc/net/dev >{to}/counters; exit $code"
            done = subprocess.run([pcc, "shell", path, "--", "bash", "-c", shell], stdout=subprocess.DEVNULL, stderr=said)
            seconds = time.monotonic() - begun
            said.seek(0)
            if done.returncode:
                sys.exit(f"{command}: exit code {done.returncode}: {said.read().strip()}")
        if subprocess.run(["cmp", "-s", old, new]).returncode:
            sys.exit(f"{command}: another file arrived")
        megabytes = moved(f"{to}/counters") / 1e6
        print(f"{path}, {kind}, {command.split(' --')[0]}: {seconds:.2f} s, {megabytes:.2f} MB", file=sys.stderr)
        return seconds, megabytes


def measure(pcc):
    with tempfile.TemporaryDirectory() as place:
        delta_files.make(pathlib.Path(place))
        sizes = {kind: os.path.getsize(f"{place}/{kind}.new") for kind in KINDS}
        serve, ssh, _, _ = transfers.servers(pcc, place)
        try:
            time.sleep(1)
            rows = {(name, path, kind): [] for name, _ in WAYS for path in PATHS for kind in KINDS}
            for _ in range(RUNS):
                for path, text in PATHS.items():
                    for kind in KINDS:
                        for name, command in WAYS:
                            rows[name, path, kind].append(run(pcc, text, command, kind, place, ssh))
            return sizes, rows
        finally:
            serve.terminate()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pcc, commit = os.path.realpath(sys.argv[1]), sys.argv[2]
    if os.environ.get("PCC_TRANSFERS") != "inside":
        inside = "ip link set lo up && exec " + shlex.join([sys.executable, __file__, pcc, commit])
        sys.exit(subprocess.run(["unshare", "--net", "sh", "-c", inside], env={**os.environ, "PCC_TRANSFERS": "inside"}).returncode)
    load = os.getloadavg()[0]
    sizes, rows = measure(pcc)
    print(f"""# Files that changed a little, beside rsync

`sudo python3 docs/results/deltas.py target/release/pcc COMMIT` makes this page, here of commit {commit}. An older version
of the file is at the destination. Each cell has the seconds, with ssh's login, and the megabytes on the wire in both directions, with all headers: {"of one run" if RUNS == 1 else f"medians of {RUNS} runs in turns"}. The paths
have 100 Mbit/s and a round trip of 50 ms, emulated in real time. ssh and rsync have the kernel's CUBIC, Linux's default. The load was {load:.0f} at the
beginning and {os.getloadavg()[0]:.0f} at the end, on {os.cpu_count()} processors.

| file | size | what changed |
|---|--:|---|
| image | {sizes["image"] / 1e6:.0f} MB | an ext4 file system of 900 files: 40 files have another content, 10 are gone, 10 are new |
| mailbox | {sizes["mailbox"] / 1e6:.0f} MB | 3000 mails: 40 are gone from the middle, 60 came |
| dump | {sizes["dump"] / 1e6:.0f} MB | 600,000 rows: 300 have other values, 100 came between them, 2000 behind them |
""")
    for path in PATHS:
        print(f"\n| {path} | {' | '.join(f'{kind}, s | MB' for kind in KINDS)} |\n|---|{'--:|' * 2 * len(KINDS)}")
        for name, _ in WAYS:
            cells = []
            for kind in KINDS:
                seconds, megabytes = zip(*rows[name, path, kind])
                cells += [f"{statistics.median(seconds):.1f}", f"{statistics.median(megabytes):.2f}"]
            print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
