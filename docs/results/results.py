#!/usr/bin/env python3
"""Makes docs/results/README.md, check.txt, figures.txt, shallow-buffer.svg and data/ of the lab's stored results. It runs nothing.

    python3 docs/results/results.py target/release/pcc-lab COMMIT

COMMIT names the program that measured; `pcc-lab run all` and `make figures` are how.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict

from register import age, register

HERE = os.path.dirname(os.path.realpath(__file__))
# A sender whose goodput is below this part of a peer's is behind it.
BEHIND = 0.97
# Where the fault lies, by row; told of rows that have a missed promise.
WHY = {
    "1": "law: between 5 and 10 % it is not certain that a loss does not answer to the rate",
    "2": "start-up: four and a half round trips of 800 ms, in the kernel eight. Once started it has 0.99. Hybla of Linux 6.12 has "
         "4.5 Mbit/s there, the paper's 2.0, and the whole path would be 8.8 times that",
    "3": "law: each probe above the path loses a packet or two. At 375 kB CUBIC fills the buffer",
    "4": "law: now for one flow, now for the other; the intervals of three seeds are wide",
    "5": "law: it takes an RTT to find what a changing path has",
    "6": "transport, as with CUBIC: flights of the handshake are lost in the full queue and asked for again after a second and two more",
    "8": "law: a flow has its share soon, and then drifts around it",
    "10": "transport: QUIC sends 11 % more than the kernel for 100 KB, its handshake among it",
    "11": "the promise: CUBIC's queue behind CoDel is 4 ms of Linux' 20 ms, so that no sender can have more than 1.2 times its power",
    "16": "QUIC's acknowledgements and handshake",
    "17": "law: it finds by probing that a radio has more. BBR and Vegas keep packets in its queue, which leave at once",
    "22": "law: a mark counts as 0.1 s of queue. Who answers less has more",
    "24": "law: a level is taken for a queue until an experiment shows that it is none",
    "25": "law: a policer's bucket forgives for a while what is too much, so that a probe above the path says nothing",
    "27": "law: it leaves too much, since it answers the queue that CUBIC fills",
    "31": "law, not traced in this campaign: it takes seconds until the queue is known to be the rival's, and its floor begins at the little that it has by then",
    "41": "law, not traced in this campaign: eight and more take each other for a rival now and then, and keep a queue until they have given way",
    "41a": "law, not traced: CoDel drops before a queue stands out of the readings. Such losses take long to be known for somebody's",
    "43": "law, not traced in this campaign: where a buffer holds a few packets a probe above the path overflows it. CUBIC halves at each such loss, PCC does not",
    "44": "law, not traced: each sender probes above its part, and few packets of buffer do not hold what all of these add",
    "45": "law, not traced: PCC keeps a buffer of a quarter of a BDP from being empty, so that the first window of a file loses packets in it",
}
HEAD = """# Results

{register}

## The lab's last campaign

Every figure of the papers and every promise, on a real Linux network stack in virtual time. `make figures` repeats it, and writes
[the report](#the-report). `python3 docs/results/results.py target/release/pcc-lab COMMIT` makes this page.

```sh long
make figures          # hours; Ctrl-C stops it, the same command continues
```

The senders are PCC over QUIC and PCC in the kernel, Ascent with `fair` and one set of defaults, of commit
{commit}{since}. The peers are the TCPs of Linux {kernel}, and the same QUIC stack's CUBIC and BBRv3, over the same paths with the same
seeds. A run repeats bit for bit. The size is the standard one: shorter than the papers', so that start-up weighs more. Every figure counts
from the first packet on.

| here | what it is |
|---|---|
| [figures.txt](figures.txt) | the output of `pcc-lab run` |
| [check.txt](check.txt) | the output of `pcc-lab check`: each promise |
| [data/](data) | every run, a table a scenario |
| [kernel.md](kernel.md), [pacing.md](pacing.md) | what PCC costs in the kernel; busy hosts |
| [peers.md](peers.md) | one QUIC stream beside quinn and s2n-quic |
| [simulated.md](simulated.md) | the simulator beside the lab |
| [papers.md](papers.md) | each figure of the papers, by the papers' own laws, PCC, CUBIC and BBR in the simulator |
| [score.md](score.md) | every promise that the simulator judges, those in company among them |
| [drawn.md](drawn.md) | PCC among others on 200 paths drawn at random, by [a plan](drawn-plan.md) made before |
| [company.md](company.md) | ten cases of company that nobody tuned on |
| [company-lab.md](company-lab.md) | senders of one kind, and one sender among others, on a real network stack |
| [queues.md](queues.md) | PCC and CUBIC behind PIE, FQ-PIE, DualPI2, RED and CoDel, and beside uploads |
| [limits.md](limits.md) | paths on which PCC is behind its peers |
| [rivals.md](rivals.md) | PCC beside a rival in a deep buffer, in a real kernel in real time |
| [rfc9743.md](rfc9743.md) | PCC by the questions of RFC 9743 |
| [learned.md](learned.md) | PCC by the experiments of a study of learned congestion control |
| [loopback.md](loopback.md) | files over loopback beside the raw stream |
| [transfers.md](transfers.md) | files over ssh, through the tunnel and by a code, beside rsync, scp, TCP, croc and magic-wormhole |
| [deltas.md](deltas.md) | large files that changed a little, beside rsync |
| [mutants.md](mutants.md) | changes of the core that no test notices |
| [../sweeps](../sweeps) | each parameter's effect, in simulation |

### The report

`make figures` writes `target/lab-report.html`: each figure beside the paper's, in one page that needs no network. It has 2 MB and is not
kept in git. With stored runs, `pcc-lab report -o report.html` writes it in a second.

![Share of the path by the bottleneck's buffer: PCC has more than 0.97 from one packet of 1.7 kB on; of the others only paced New Reno has half of it there](shallow-buffer.svg)
"""


def since(commit):
    """How much of the law that these figures are of has changed since, if anything has."""
    changed = re.search(r"\d+ lines", age(commit))
    return f" ({changed[0]} of the law have changed since)" if changed else ""


def number(value):
    """Three digits."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def kept(rows):
    """Promises by who makes them, and what became of them."""
    verdicts = ["PASS", "OPEN", "MISS"]
    print("\n## Promises\n\nA promise is kept if the whole 95 % confidence interval of all seeds keeps it, missed if none of it does, and open "
          "otherwise. With three\nseeds that interval is wide.\n\n| | promises | kept | open | missed |\n|---|--:|--:|--:|--:|")
    for name, ours in [("PCC over QUIC", lambda row: not row["algorithm"].startswith("kernel:")),
                       ("PCC in the kernel", lambda row: row["algorithm"].startswith("kernel:")), ("all", lambda _: True)]:
        of = [row["verdict"] for row in rows if ours(row) and row["verdict"] in verdicts]
        print(f"| {name} | {len(of)} | {' | '.join(str(of.count(verdict)) for verdict in verdicts)} |")
    with open(os.path.join(HERE, "score.md")) as score:
        _, _, all_of_it, _, missed_there, _, _ = next(line for line in score if line.startswith("| all |")).split("|")
    print(f"\nThe simulator judges {all_of_it.strip()} more, and {missed_there.strip()} of those are missed: [score.md](score.md).")
    decided = [row for row in rows if row["verdict"] in ("PASS", "MISS")]
    known = sum(1 for row in decided if row["interval"] and row["interval"][0] < row["interval"][1])
    print(f"\nUp to {known / 40:.0f} of the {known} verdicts that stand on an interval would be wrong by chance, were each true value at its "
          f"limit. {len(decided) - known}\nhave none: they are of the worst of seeds, or of seeds that are one run.")
    others = [row for row in rows if row["verdict"] not in verdicts]
    if others:
        print(f"\n{len(others)} more could not be judged: [check.txt](check.txt) says why.")


def missed(rows):
    """What is not kept."""
    print("\n### Missed\n\n`over` a peer means by its figure at the same point. `kernel:` is PCC in the kernel.\n\n"
          "| row | where | measure | sender | measured | 95 % interval | promised |\n|---|---|---|---|--:|--:|--:|")
    found = [row for row in rows if row["verdict"] == "MISS"]
    for row in found:
        interval = " to ".join(number(end) for end in row["interval"] or []) or "–"
        print(f"| {row['row']} | {row['case'] or '–'} | {row['metric'].replace('/', ' over ')} | {row['algorithm']} | {number(row['measured'])} "
              f"| {interval} | {number(row['must'])} |")
    reasons = [(row, WHY[row]) for row in dict.fromkeys(row["row"] for row in found) if row in WHY]
    if reasons:
        print("\nWhere the fault lies, by the monitor intervals in the results:\n\n| row | |\n|---|---|")
        for row, why in reasons:
            print(f"| {row} | {why} |")


def figures(scenarios):
    """Each point, beside CUBIC and BBR."""
    print(f"\n## Each point\n\nMbit/s, and the RTT added to the path's in ms. A **bold** figure of PCC is below {BEHIND} of CUBIC's or BBR's of the "
          "same kind: QUIC's by QUIC's\nwhere they were run, else by the kernel's. QUIC's headers are larger: its ceiling on 100 Mbit/s is 93.7 where "
          "TCP's is 95.6.\n\n| scenario | point | PCC, QUIC | PCC, kernel | CUBIC | BBR | CUBIC, QUIC | BBR, QUIC |\n|---|---|--:|--:|--:|--:|--:|--:|")
    for scenario in scenarios:
        points = defaultdict(dict)
        for row in scenario["rows"]:
            points[row["point"]][row["algorithm"]] = row
        for point, by in points.items():
            if not {"quic:pcc", "pcc"} & set(by):
                continue
            goodput = {name: row["goodput"]["mean"] for name, row in by.items() if row.get("goodput") and row["goodput"]["mean"] is not None}

            def cell(name):
                if name not in goodput:
                    return ""
                added = (by[name].get("rtt-added") or {}).get("mean")
                text = number(goodput[name])
                peers = [goodput[peer] for peer in PEERS.get(name, []) if peer in goodput]
                if name == "quic:pcc" and not peers:
                    peers = [goodput[peer] for peer in PEERS["pcc"] if peer in goodput]
                text = f"**{text}**" if peers and goodput[name] < BEHIND * max(peers) else text
                return text if added is None else f"{text}, {number(added)}"

            cells = [cell(name) for name in ["quic:pcc", "pcc", "cubic", "bbr", "quic:cubic", "quic:bbr"]]
            print(f"| {scenario['scenario']} | {point or '–'} | {' | '.join(cells)} |")


PEERS = {"quic:pcc": ["quic:cubic", "quic:bbr"], "pcc": ["cubic", "bbr"]}


def told(lab, *arguments):
    run = subprocess.run([lab, *arguments], capture_output=True, text=True)
    if run.returncode not in (0, 1, 3) or not run.stdout:
        sys.exit(f"pcc-lab {' '.join(arguments)}: exit code {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lab, commit = os.path.realpath(sys.argv[1]), sys.argv[2]
    planned = subprocess.run([lab, "run", "all", "--dry-run"], capture_output=True, text=True)
    if "runs are stored" not in planned.stdout + planned.stderr:
        sys.exit(f"runs are missing: {(planned.stdout + planned.stderr).strip()}")
    rows = json.loads(told(lab, "check", "--json"))["rows"]
    scenarios = [json.loads(line) for line in told(lab, "run", "all", "--json").splitlines()]
    for name, arguments in [("check.txt", ["check"]), ("figures.txt", ["run", "all"])]:
        with open(f"{HERE}/{name}", "w") as file:
            file.write(told(lab, *arguments))
    with tempfile.TemporaryDirectory() as pictures:
        told(lab, "report", "-o", "/dev/null", "--csv", f"{HERE}/data", "--pictures", pictures)
        shutil.copy(f"{pictures}/shallow-buffer.svg", HERE)
    with open(f"{HERE}/README.md", "w") as sys.stdout:
        print(HEAD.format(register=register(), commit=commit, since=since(commit), kernel=scenarios[0]["kernel"]).rstrip())
        kept(rows)
        missed(rows)
        figures(scenarios)


main()
