#!/usr/bin/env python3
"""PCC in this computer's kernel beside a rival in a deep buffer: the table of docs/results/rivals.md.

    sudo python3 docs/results/rivals.py target/release/pcc >docs/results/rivals.md

It loads PCC into the kernel, and takes it out again. It needs root and iperf3; BBR where the kernel has it.
"""
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PATHS = ["rate=20Mbit,rtt=40ms,buffer=1MB", "rate=10Mbit,rtt=30ms,buffer=250KB"]
ALONE, TOGETHER = 10, 30  # seconds that the first has before the second comes, and with it
RUNS = 3

# The first sender, then the second, to a server each.
SENDERS = """
sleep 3
iperf3 --client $PCC_SHELL_OUTSIDE --port {port} --congestion {first} --time {all} --json >{place}/first &
sleep {alone}
iperf3 --client $PCC_SHELL_OUTSIDE --port {next} --congestion {second} --time {together} --json >{place}/second
wait; sleep 1
"""
SERVERS = "iperf3 --server --port {port} >/dev/null & iperf3 --server --port {next} >/dev/null; wait"


def rate(file, begin):
    """Mbit/s that iperf3 sent from this second on."""
    with open(file) as told:
        result = json.load(told)
    if "error" in result:
        sys.exit(f"iperf3: {result['error']}")
    seconds = [interval["sum"] for interval in result["intervals"]]
    rates = [second["bits_per_second"] for second in seconds if second["start"] >= begin - 0.5]
    return sum(rates) / len(rates) / 1e6


def run(pcc, path, port, first, second):
    """Mbit/s of both while both are there. The far ends are this computer: pairs at a time need ports of their own."""
    with tempfile.TemporaryDirectory() as place:
        ports = {"port": port, "next": port + 1}
        times = {"alone": ALONE, "together": TOGETHER, "all": ALONE + TOGETHER}
        senders = SENDERS.format(**ports, **times, first=first, second=second, place=place)
        shell = [pcc, "shell", path, "--outside", SERVERS.format(**ports), "--", "sh", "-ec", senders]
        subprocess.run(shell, check=True, stderr=subprocess.DEVNULL)
        return rate(f"{place}/first", ALONE), rate(f"{place}/second", 0)


def cell(pairs, which):
    values = [pair[which] for pair in pairs]
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def measure(pcc, rivals):
    """For each path and rival, the runs of PCC first, of PCC second, and of a CUBIC in PCC's place."""
    orders = [("pcc", None), (None, "pcc"), ("cubic", None), (None, "cubic")]
    results = {}
    for _ in range(RUNS):
        for path in PATHS:
            for rival in rivals:
                print(f"{path}, {rival}", file=sys.stderr)
                pairs = [[name or rival for name in order] for order in orders]
                ports = range(5301, 5301 + 2 * len(pairs), 2)
                with ThreadPoolExecutor() as beside:
                    all_told = beside.map(lambda pair, port: run(pcc, path, port, *pair), pairs, ports)
                    for order, told in zip(orders, all_told):
                        results.setdefault((path, rival, order), []).append(told)
    return results, orders


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pcc = os.path.realpath(sys.argv[1])
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as file:
        available = file.read().split()
    rivals = [name for name in ["cubic", "bbr", "reno"] if name in available]
    load = os.getloadavg()[0]
    subprocess.run([pcc, "kernel", "load", "--for", "3h"], check=True, stdout=subprocess.DEVNULL)
    try:
        results, orders = measure(pcc, rivals)
    finally:
        subprocess.run([pcc, "kernel", "unload"], stdout=subprocess.DEVNULL)
    print(f"""# A rival in a deep buffer, in this computer's kernel

`sudo python3 docs/results/rivals.py target/release/pcc` makes this page. Two TCP connections share an emulated path in real time, behind
`pcc shell`. The second comes {ALONE} s after the first. The figure is what a sender sent in the {TOGETHER} s that both were there, in Mbit/s:
the median of {RUNS} runs, with the least and the most. The last two columns have a CUBIC in PCC's place. Four pairs run at a time, each over
a path of its own. The kernel is Linux {platform.release().split("-")[0]}. The load was {load:.0f} at the beginning and {os.getloadavg()[0]:.0f} at the end,
on {os.cpu_count()} processors.

| path | rival | PCC first | PCC second | CUBIC first | CUBIC second |
|---|---|---|---|---|---|""")
    for path in PATHS:
        for rival in rivals:
            cells = [cell(results[path, rival, order], order.index(None) ^ 1) for order in orders]
            print(f"| `{path}` | {rival} | {' | '.join(cells)} |")


main()
