#!/usr/bin/env python3
"""Ten cases of company that were made up before they were run and tuned on by nobody: the page docs/results/company.md.

    python3 docs/results/company.py target/release/pcc-lab COMMIT >docs/results/company.md
"""
import json
import shlex
import statistics
import subprocess
import sys

# What happens, the arguments of `pcc-lab sim` with {} for the senders under comparison, and which flow's fate is told besides.
CASES = [
    ("Six at random, and a CUBIC that sends 40 MB from the 15th second on",
     "--link rate=80Mbit,rtt=12ms,buffer=3bdp --flows '{}*6:start=random:0..10s cubic:start=15s:size=40MB' --time-limit 40s", "done"),
    ("Nine at random, of which four leave after 8 MB",
     "--link rate=30Mbit,rtt=60ms,buffer=1.5bdp --flows '{}*5:start=random:0..5s {}*4:start=random:0..5s:size=8MB' "
     "--time-limit 60s", None),
    ("Three beside two BBR",
     "--link rate=200Mbit,rtt=25ms,buffer=2bdp --flows '{}*3:start=random:0..3s bbr*2:start=random:0..3s' --time-limit 40s", "part"),
    ("Seven behind CoDel", "--link rate=15Mbit,rtt=35ms,buffer=4bdp --queue codel --flows '{}*7:start=random:0..5s' --time-limit 60s", None),
    ("RTTs of 15, 30, 60 and 120 ms, 1 % of random loss",
     "--link rate=40Mbit,rtt=15ms,buffer=200KB,loss=1% --flows '{}:start=random:0..3s {}:rtt=+15ms:start=random:0..3s "
     "{}:rtt=+45ms:start=random:0..3s {}:rtt=+105ms:start=random:0..3s' --time-limit 60s", None),
    # Made up once the law was that of 682c8517.
    ("Thirteen, and a CUBIC, on a slow uplink",
     "--link rate=20Mbit,rtt=18ms,buffer=60KB --flows '{}*13:start=random:0..8s cubic:start=random:0..8s' --time-limit 60s", "times"),
    ("Two, and a CUBIC, over a long path with a tenth of its buffer",
     "--link rate=150Mbit,rtt=90ms,buffer=.1bdp --flows '{}*2:start=random:0..5s cubic:start=random:0..5s' --time-limit 60s", "times"),
    ("Twenty-four that send 3 MB each, within 20 s",
     "--link rate=60Mbit,rtt=45ms,buffer=1bdp --flows '{}*24:start=random:0..20s:size=3MB' --time-limit 60s", "longest"),
    ("Five over a Wi-Fi that holds packets for 5 ms",
     "--link rate=50Mbit,rtt=20ms,buffer=1MB,wifi=5ms --flows '{}*5:start=random:0..5s' --time-limit 60s", None),
    ("Four behind a policer",
     "--link rate=200Mbit,rtt=30ms,buffer=1bdp --policer 40Mbit:128kB --flows '{}*4:start=random:0..4s' --time-limit 60s", None),
]
SEEDS = range(1, 11)
# Seconds that a file took which had not come when the run ended.
LONGEST = 60.0


def runs(lab, arguments, sender):
    """One run a seed."""
    for seed in SEEDS:
        command = [lab, "sim", *shlex.split(arguments.replace("{}", sender)), "--seed", str(seed), "--json"]
        yield json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["runs"][0]


def middle_and_worst(values, worst, digits):
    if None in values:
        return "–"
    return f"{statistics.median(values):.{digits}f} ({worst(values):.{digits}f})"


def besides(all_runs, what):
    """What became of others: seconds that the file took, at most those until the end; the BBR flows' part of all goodput; what the last
    flow has, times its fair part. Or seconds that the slowest of all files took."""
    if what == "done":
        times = [run["flows"][-1]["finished_s"] for run in all_runs]
        return middle_and_worst([25.0 if time is None else time for time in times], max, 1)
    if what == "part":
        parts = [sum(flow["goodput_mbit"] for flow in run["flows"][3:]) / sum(flow["goodput_mbit"] for flow in run["flows"]) for run in all_runs]
        return middle_and_worst(parts, min, 2)
    if what == "times":
        rates = [[flow["goodput_mbit"] for flow in run["flows"]] for run in all_runs]
        return middle_and_worst([rate[-1] * len(rate) / sum(rate) for rate in rates], min, 2)
    if what == "longest":
        times = [[flow["finished_s"] for flow in run["flows"]] for run in all_runs]
        return middle_and_worst([max(LONGEST if one is None else one for one in each) for each in times], max, 1)
    return "–"


def main():
    lab, commit = sys.argv[1:]
    print(f"""# In company, on paths that nobody tuned on

Ten cases that were written down before they ran, the last five of them once this law was done. No change of the law was judged by them. The law is
that of commit {commit}. Each case has ten seeds, and starts are drawn by the seed. CUBIC and BBR are the simulator's models, in PCC's place on the same path: `cubic` or `bbr` in place of `pcc` in the command. A cell has the median of the seeds, and the worst in brackets. Made by

```sh long
python3 docs/results/company.py target/release/pcc-lab COMMIT >docs/results/company.md
```

*p95* is the 95th percentile of the bottleneck's queueing delay in the second half. *Jain* is Jain's index over 1 s of all flows there, if there
are any.""")
    heads = {"done": "the CUBIC's 40 MB, s (25: not done)", "part": "the two BBRs' part", "times": "the CUBIC's, times its fair part",
             "longest": "the slowest file, s", None: ""}
    for name, arguments, what in CASES:
        last = [heads[what]] if what else []
        print(f"\n## {name}\n\n```sh\npcc-lab sim {arguments.replace('{}', 'pcc')} --seed 1,2,3,4,5,6,7,8,9,10\n```\n")
        print("| | " + " | ".join(["p95, ms", "loss, %", "Jain", "share of the path", *last]) + " |")
        print("|---|" + "--:|" * (4 + len(last)))
        for sender in ["pcc", "cubic", "bbr"]:
            found = list(runs(lab, arguments, sender))
            late = [run["second_half"] for run in found]
            cells = [
                middle_and_worst([half["queue_p95_ms"] for half in late], max, 1),
                middle_and_worst([100 * run["loss"] for run in found], max, 2),
                middle_and_worst([half["jain_1s"] for half in late], min, 2),
                middle_and_worst([run["share"] for run in found], min, 3),
            ]
            print(f"| {sender} | " + " | ".join(cells + ([besides(found, what)] if what else [])) + " |")


main()
