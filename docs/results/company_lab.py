#!/usr/bin/env python3
"""Prints docs/results/company-lab.md of the lab's stored results. Runs of the scenarios below that are lacking are made first.

    python3 docs/results/company_lab.py target/release/pcc-lab COMMIT >docs/results/company-lab.md
"""
import json
import subprocess
import sys

LAB, COMMIT = sys.argv[1:]
# Scenario, what it is, what a point is, and the measures that it is about with their titles and units.
LOSS, JAIN, SHARE = ("loss", "loss, %", 100), ("jain@1s", "Jain", 1), ("share", "share of the path", 1)
SCENARIOS = [
    ("company", "One kind, each from a random moment of 5 s on", "flows", [("rtt-added-p95", "p95, ms", 1), LOSS, JAIN, SHARE]),
    ("company-codel", "Eight of one kind behind CoDel and fq_codel", "queue", [("rtt-added-p95", "p95, ms", 1), LOSS, SHARE]),
    ("lan", "One kind on a LAN", "flows", [LOSS, JAIN, SHARE]),
    ("small-buffer-crowd", "One kind in a tenth of a bandwidth-delay product", "flows", [LOSS, SHARE]),
    ("random-loss-crowd", "Ten of one kind, 4 % of random loss", "", [JAIN, LOSS, SHARE]),
    ("harm-shallow", "A CUBIC beside one flow, in a small buffer", "buffer", [("victim", "the CUBIC's, Mbit/s", 1), ("goodput", "the flow's, Mbit/s", 1)]),
    ("harm-codel", "A CUBIC beside one flow, behind CoDel", "", [("victim", "the CUBIC's, Mbit/s", 1), ("goodput", "the flow's, Mbit/s", 1)]),
    ("among-cubics", "One flow among ten CUBICs", "buffer", [("goodput", "the flow's, Mbit/s", 1)]),
    ("files-beside", "Files of 100 kB by CUBIC beside one flow", "buffer", [("fct", "median, ms", 1), ("fct-p95", "p95, ms", 1)]),
]
SEEDS = 3
# No scenario names it, since its runs take longer than the module's.
BPF = "bpf:pcc"


def lab(*words):
    done = subprocess.run([LAB, *words, "--json"], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def figure(value, scale=1):
    number = scale * value
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


def name(algorithm):
    return {"quic:pcc": "PCC, QUIC", "pcc": "PCC, the module", "bpf:pcc": "PCC, the BPF program"}.get(algorithm, algorithm)


def figures(scenario, point, measures):
    [told], [loaded] = (lab("run", scenario, "--seeds", str(SEEDS), *more) for more in ([], ["--algorithm", BPF]))
    points = list(dict.fromkeys(row["point"] for row in told["rows"]))
    rows = sorted(told["rows"] + loaded["rows"], key=lambda row: points.index(row["point"]))
    heads = ([point] if point else []) + ["sender"] + [title for _, title, _ in measures]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * (len(heads) - len(measures)) + "--:|" * len(measures))
    for row in rows:
        cells = ([row["point"]] if point else []) + [name(row["algorithm"])]
        for key, _, scale in measures:
            mean, margin = (row[key][part] for part in ("mean", "margin"))
            cells.append(f"{figure(mean, scale)} ± {figure(margin, scale)}")
        print("| " + " | ".join(cells) + " |")


print(f"""# In company, in the lab

Senders of one kind beside each other, and one sender beside others, on a real Linux network stack in virtual time. Starts are drawn by
the seed. PCC is of commit {COMMIT}. A cell has the mean of {SEEDS} seeds and its 95 % margin. Made by

```sh long
pcc-lab run {" ".join(scenario for scenario, *_ in SCENARIOS)} --seeds {SEEDS}
pcc-lab run {" ".join(scenario for scenario, *_ in SCENARIOS)} --seeds {SEEDS} --algorithm {BPF}
python3 docs/results/company_lab.py target/release/pcc-lab COMMIT >docs/results/company-lab.md
```

*p95* is the 95th percentile of the RTT that the queue adds, *Jain* Jain's index over 1 s. All figures count from the first packet on, the
arrivals among them. With six seeds `pcc-lab check` judges the promises of these scenarios.
""")
for scenario, title, point, measures in SCENARIOS:
    print(f"## {title}\n\n`pcc-lab run {scenario}`\n")
    figures(scenario, point, measures)
    print()
