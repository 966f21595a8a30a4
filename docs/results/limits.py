#!/usr/bin/env python3
"""Where PCC is weak, in simulation: the table of docs/results/limits.md.

    python3 docs/results/limits.py target/release/pcc-lab COMMIT >docs/results/limits.md
"""
import statistics
import sys

from rfc9743 import median, runs

SENDERS = ["pcc", "cubic", "bbr"]
FIRST_STEP = "rate=100Mbit,rtt=30ms,buffer=375KB"
WIFI = "rate=20Mbit,rtt=10ms,buffer=1MB,wifi=7ms"

# What it is, what is told, and the arguments of `pcc-lab sim`, in which each sender takes {}'s place.
ROWS = [
    ("33 flows that begin at once", "loss", f"--link {FIRST_STEP} --flows '{{}}*33' --time-limit 30s"),
    ("50 flows that begin at once", "loss", f"--link {FIRST_STEP} --flows '{{}}*50' --time-limit 30s"),
    ("33 flows, 50 ms after each other", "loss", f"--link {FIRST_STEP} --flows '{{}}*33:stagger=50ms' --time-limit 30s"),
    ("the same, the first five seconds", "loss", f"--link {FIRST_STEP} --flows '{{}}*33:stagger=50ms' --time-limit 5s"),
    ("20 flows on a slow path", "loss", "--link rate=10Mbit,rtt=50ms,buffer=62KB --flows '{}*20' --time-limit 60s"),
    ("8 flows on a home's uplink", "loss", "--link rate=5Mbit,rtt=40ms,buffer=50KB --flows '{}*8' --time-limit 60s"),
    ("10 flows, a buffer of a tenth of a BDP", "loss", "--link clean,buffer=37KB --flows '{}*10' --time-limit 30s"),
    ("10 flows with 4 % of random loss", "fairness", f"--link {FIRST_STEP},loss=4% --flows '{{}}*10' --time-limit 60s"),
    ("policer of 10 Mbit/s, 30 ms", "loss", "--link clean --policer 10Mbit:64KB --flows {} --time-limit 10s"),
    ("policer of 10 Mbit/s, 1 ms", "loss", "--link rate=100Mbit,rtt=1ms,buffer=375KB --policer 10Mbit:64KB --flows {} --time-limit 10s"),
    ("a buffer of two packets", "share", "--link rate=10Mbit,rtt=20ms,buffer=3KB --flows {} --time-limit 30s"),
    ("satellite with a buffer of one packet", "share", "--link satellite,buffer=1.5KB --flows {} --time-limit 15s"),
    ("LTE", "share", "--link lte --flows {} --time-limit 60s"),
    ("LTE", "queue", "--link lte --flows {} --time-limit 60s"),
    ("jitter of 60 ms from the first packet on", "share", "--link rate=100Mbit,rtt=100ms,jitter=60ms,buffer=1bdp --flows {} --time-limit 10s"),
    ("8 % of random loss", "share", f"--link {FIRST_STEP},loss=8% --flows {{}} --time-limit 30s"),
    ("10 % of random loss, 20 Mbit/s, 20 ms", "share", "--link rate=20Mbit,rtt=20ms,buffer=50KB,loss=10% --flows {} --time-limit 30s"),
    ("two with 9 % of random loss, 120 ms", "fairness", "--link rate=50Mbit,rtt=120ms,buffer=0.5bdp,loss=9% --flows '{}*2' --time-limit 60s"),
    ("a third of the packets late by up to 60 ms", "share", "--link clean,reorder=30%:60ms --flows {} --time-limit 30s"),
    ("bad Wi-Fi", "share", f"--link {WIFI} --flows {{}} --time-limit 30s"),
    ("two on bad Wi-Fi", "fairness", f"--link {WIFI} --flows '{{}}*2' --time-limit 60s"),
    ("after a CUBIC, one BDP of buffer", "last", "--link rate=30Mbit,rtt=100ms,buffer=1bdp --flows 'cubic {}:start=5s' --time-limit 60s"),
    ("after a CUBIC, four BDP", "last", "--link rate=30Mbit,rtt=100ms,buffer=4bdp --flows 'cubic {}:start=5s' --time-limit 60s"),
    ("after a BBR, four BDP", "last", "--link rate=30Mbit,rtt=100ms,buffer=4bdp --flows 'bbr {}:start=5s' --time-limit 60s"),
    ("beside BBR, one BDP", "first", "--link clean --flows '{} bbr' --time-limit 60s"),
]

# What a column tells of a run.
TOLD = {
    "loss": ("loss, %", lambda run: statistics.mean(flow["loss"] for flow in run["flows"]) * 100),
    "share": ("share", lambda run: run["share"]),
    "queue": ("queue p95, ms", lambda run: run["flows"][0]["rtt_added_p95_ms"]),
    "fairness": ("Jain's index over 1 s", lambda run: run["jain_1s"]),
    "first": ("the sender's share", lambda run: run["flows"][0]["share"]),
    "last": ("the sender's share", lambda run: run["flows"][-1]["share"]),
}

CAUSES = """
## Causes

* **Few packets a round trip.** A sender with fewer than about six packets an RTT takes a queue that others keep full for the path's
  RTT, since its test at half the rate shortens that queue by less than the noise. Then losses seem to come without a queue, and are
  likely nobody's. [The sweep](../sweeps/crowd.md) has crowds of twelve to fifty senders.
* **Policers** have no queue, so the law loses packets on and off.
* **Rates that change all the time.** After each full moment the headroom begins anew.
* **Jitter from the first packet on** is taken for a queue until a test shows that it is none. At half the rate fewer packets wait for a slow
  one, the level falls, and so it looks like a queue.
* **Much random loss.** A fifth of lost packets is taken for somebody's overflow until some thousands of packets have shown that no rate
  lessens it. A sender of few learns it late.
* **Much reordering** makes the transport call packets lost that come later. PCC and CUBIC believe it.
* **A rival in a deep buffer** makes the RTT so long that it takes seconds until the queue is known to be the rival's. See
  [the sweep](../sweeps/crowd.md#beside-a-cubic).
* **Bad Wi-Fi.** One transfer in twenty takes twice as long as CUBIC's: start-up ends at a clump, and the climb from there takes seconds.
  Where the channel holds packets for longer than the buffer lasts, no RTT tells a queue from the channel. Senders of PCC then stand in a
  full queue, alone as in company, and five have unequal parts ([company.md](company.md)).
* **Busy hosts.** With four busy processes it loses 0.5 to 3 % of its packets ([pacing.md](pacing.md)). Nearly all of it is start-up's."""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lab, commit = sys.argv[1:]
    print(f"""# Where Ascent is weak

Paths on which PCC is behind a peer, or near it. They are simulated, and the law is that of commit {commit}. CUBIC and
BBR are models, and stand in PCC's place in runs of their own. Figures are medians of three seeds. Made by

```sh builds
make instruments
python3 docs/results/limits.py target/release/pcc-lab COMMIT >docs/results/limits.md
```

| path | measure | PCC | CUBIC | BBR | `pcc-lab sim` |
|---|---|--:|--:|--:|---|""")
    for name, kind, arguments in ROWS:
        measure, value = TOLD[kind]
        cells = [median([value(run) for run in runs(lab, arguments.format(sender))]) for sender in SENDERS]
        print(f"| {name} | {measure} | {' | '.join(cells)} | `{arguments.format('pcc')}` |", flush=True)
    print(CAUSES)


main()
