#!/usr/bin/env python3
"""The promises of `pcc-lab sim score`, and those that are missed: docs/results/score.md.

    pcc-lab sim score --json >score.json
    python3 docs/results/score.py score.json COMMIT >docs/results/score.md
"""
import json
import sys
from collections import Counter

# From this row on PCC has company.
COMPANY = 41
HEAD = """# The score

Every promise that the simulator judges. Paths, peers and seeds are in `pcc-lab sim score`; the law is that of commit {commit}. CUBIC, BBR and
Reno are models, in runs of their own over the same paths with the same seeds. Made by

```sh long
pcc-lab sim score --json >score.json
python3 docs/results/score.py score.json {commit} >docs/results/score.md
```

| | promises | kept | missed | not judged |
|---|--:|--:|--:|--:|
{counts}

{chance}

`pcc-lab check` judges others by real kernels, and [the results](README.md#promises) tell of them.
"""
COMPANY_TEXT = """## In company

Several PCC senders, or PCC beside others. Starts are drawn at random, and the worst of ten seeds counts. *Kept* is what the others have,
as a part of what they have with CUBIC in PCC's place.

{table}
"""
MISSED_TEXT = """## Missed, alone or beside one other sender

{table}
"""


def number(value):
    return "–" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def line(row):
    sign = "≤" if row["at_most"] else "≥"
    low, high = row["interval"] or (None, None)
    peers = ", ".join(f"{name} {number(value)}" for name, value in row["peers"].items() if value is not None)
    return " | ".join([
        f"| {row['row']}", row["case"], row["metric"], number(row["measured"]), f"{number(low)} to {number(high)}", number(row["median"]),
        f"{sign} {number(row['must'])}", number(row["kept"]), "kept" if row["verdict"] == "PASS" else "missed" if row["verdict"] == "MISS"
        else row["problem"] or "not judged", f"{peers} |",
    ])


def table(rows):
    head = "| row | case | measure | measured | seeds | median | must | kept | verdict | peers |\n|---|---|---|--:|--:|--:|--:|--:|---|---|"
    return "\n".join([head, *map(line, rows)])


def main(file, commit):
    rows = json.load(open(file))["rows"]
    in_company = lambda row: int("".join(c for c in row["row"] if c.isdigit())) >= COMPANY
    counts = []
    for name, of in [("alone or beside one other", [r for r in rows if not in_company(r)]), ("in company", [r for r in rows if in_company(r)]),
                     ("all", rows)]:
        verdicts = Counter(row["verdict"] for row in of)
        kept, missed = verdicts["PASS"], verdicts["MISS"]
        counts.append(f"| {name} | {len(of)} | {kept} | {missed} | {len(of) - kept - missed} |")
    by_median = [row for row in rows if row["interval"] and not row["metric"].startswith("worst")]
    both_sides = sum(1 for row in by_median if row["interval"][0] < row["must"] < row["interval"][1])
    chance = (f"A verdict by a median has no interval: {both_sides} of {len(by_median)} have seeds on both sides of the limit, and other seeds "
              "could turn them.\nThe worst of seeds is a figure of these seeds alone. Each seed draws the flows' starts and their hosts' delays.")
    missed = [row for row in rows if row["verdict"] == "MISS" and not in_company(row)]
    print(HEAD.format(commit=commit, counts="\n".join(counts), chance=chance))
    print(COMPANY_TEXT.format(table=table(filter(in_company, rows))))
    print(MISSED_TEXT.format(table=table(missed)), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
