#!/usr/bin/env python3
"""Paths drawn at random: joins the shards into docs/results/data/drawn.csv and prints the page docs/results/drawn.md.

    python3 docs/results/drawn.py target/release/pcc-lab COMMIT drawn-*.csv >docs/results/drawn.md

The tables are those of `pcc-lab sim drawn`. COMMIT is the law's. Without tables the page is made of data/drawn.csv. The limits are those of
docs/results/drawn-plan.md.
"""
import csv
import math
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
STORED = f"{HERE}/data/drawn.csv"
PEERS = ["cubic", "bbr"]
SENDERS = ["pcc", *PEERS]
KINDS = ["cubic", "bbr", "reno"]
NAMES = {"pcc": "PCC", "cubic": "CUBIC", "bbr": "BBR"}
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
# A figure fails if more than this share of its cells does.
FAILING = 0.1


def quantile(values, share):
    """Linear between neighbours, as crates/stats has it."""
    values = sorted(values)
    rank = share * (len(values) - 1)
    below, above = values[math.floor(rank)], values[math.ceil(rank)]
    return below + (above - below) * (rank - math.floor(rank))


def wilson(count, of):
    """The 95 % interval of a share."""
    z, share = 1.96, count / of
    middle, half = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return [(middle + sign * half) / (1 + z * z / of) for sign in (-1, 1)]


def number(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


class Table:
    """All runs: a figure by path, seed and sender, None where it was not measured."""

    def __init__(self, rows):
        self.of = {(int(row["path"]), int(row["seed"]), row["sender"]): row for row in rows}
        self.paths = sorted({path for path, _, _ in self.of})
        self.seeds = sorted({seed for _, seed, _ in self.of})
        for path in self.paths:
            for seed in self.seeds:
                lacking = [sender for sender in SENDERS if (path, seed, sender) not in self.of]
                if lacking:
                    sys.exit(f"path {path}, seed {seed}: no run with {', '.join(lacking)} in PCC's place")

    def figure(self, path, seed, sender, column):
        text = self.of[path, seed, sender][column]
        return float(text) if text else None

    def all_seeds(self, path, sender, column):
        found = [self.figure(path, seed, sender, column) for seed in self.seeds]
        return [value for value in found if value is not None]


class Ratio:
    """A figure over the peer's, seed by seed; the cell's is the median."""

    def __init__(self, name, column, limit, at_most):
        self.name, self.column, self.limit, self.at_most = name, column, limit, at_most

    def words(self):
        return f"{'at most' if self.at_most else 'at least'} {self.limit}"

    def seeds(self, table, path, peer):
        found = []
        for seed in table.seeds:
            ours, theirs = (table.figure(path, seed, sender, self.column) for sender in ("pcc", peer))
            if ours is not None and theirs:
                found.append(ours / theirs)
        return found

    def cell(self, table, path, peer):
        """The median, the worst seed, and whether it fails."""
        found = self.seeds(table, path, peer)
        if not found:
            return None
        median = statistics.median(found)
        return median, (max if self.at_most else min)(found), median > self.limit if self.at_most else median < self.limit


class WorstKind(Ratio):
    """The same of the kind of senders that fares worst."""

    def cell(self, table, path, peer):
        cells = [Ratio(self.name, kind, self.limit, self.at_most).cell(table, path, peer) for kind in KINDS]
        return min((cell for cell in cells if cell), default=None)


class Starvation(Ratio):
    """The same of the worst seed."""

    def cell(self, table, path, peer):
        found = self.seeds(table, path, peer)
        return (min(found), min(found), min(found) < self.limit) if found else None


class Level:
    """A figure that may be 0: medians are held against each other. The cell's is the quotient of both, where the peer has any."""

    def __init__(self, name, column, times, more, words):
        self.name, self.column, self.times, self.more, self.said, self.at_most = name, column, times, more, words, True

    def words(self):
        return self.said

    def cell(self, table, path, peer):
        ours, theirs = (table.all_seeds(path, sender, self.column) for sender in ("pcc", peer))
        if not ours or not theirs:
            return None
        median, other = statistics.median(ours), statistics.median(theirs)
        limit = self.times * other + self.more if self.column == "queue" else max(self.times * other, self.more)
        floor = 0.01 if self.column == "queue" else 1e-5
        return max(median, floor) / max(other, floor), max(ours) / max(other, floor), median > limit


class Jain:
    """A figure that stands by itself."""
    name, column, limit, at_most = "Jain", "jain", 0.85, False

    def words(self):
        return f"at least {self.limit}"

    def cell(self, table, path, peer):
        found = table.all_seeds(path, "pcc", "jain")
        return (statistics.median(found), min(found), statistics.median(found) < self.limit) if found and peer is None else None


FIGURES = [
    Ratio("goodput", "goodput", 0.9, False),
    Level("queue", "queue", 1.1, 1.0, "at most 1.1 times, and 1 ms"),
    Level("loss", "loss", 3.0, 0.003, "at most 3 times, or 0.3 %"),
    Jain(),
    Ratio("files", "files", 1.25, True),
    Ratio("harm: goodput", "others", 0.8, False),
    WorstKind("harm: goodput of a kind", "others", 0.8, False),
    Ratio("harm: RTT", "rtt", 1.25, True),
    Ratio("harm: files", "others_files", 1.25, True),
    Starvation("starvation", "others", 0.5, False),
]


def listed(lab):
    """Each path and its senders."""
    text = subprocess.run([lab, "sim", "drawn", "--list"], check=True, capture_output=True, text=True).stdout
    rows = [line.split(";") for line in text.splitlines()[1:]]
    return {int(row[0]): row[1:] for row in rows}


def judged(table):
    """Each figure over each peer, with its cells."""
    for figure in FIGURES:
        for peer in [None] if figure.name == "Jain" else PEERS:
            cells = {path: figure.cell(table, path, peer) for path in table.paths}
            yield figure, peer, {path: cell for path, cell in cells.items() if cell}


def over(peer):
    return f"over {NAMES[peer]}" if peer else "–"


def fails(cells):
    return sum(cell[2] for cell in cells.values()) > FAILING * len(cells)


def summary(found):
    all_of_it = [cells for _, _, cells in found if cells]
    print(f"\n**PCC fails {sum(map(fails, all_of_it))} of {len(all_of_it)} figures.** [The verdicts](#verdicts) say which.")


def expected(table, found, paths):
    """The expectations of the plan, and what became of them."""
    by = {(figure.name, peer): cells for figure, peer, cells in found}

    def middle(name, peer, wanted):
        cells = [cell for path, cell in by[name, peer].items() if wanted(path)]
        return f"{number(statistics.median(cell[0] for cell in cells))} in the median of {len(cells)} cells, {sum(cell[2] for cell in cells)} beyond the limit" if cells else "no cell"

    def products(path):
        return float(paths[path][1])

    def is_fair(path):
        return queue_of(path, paths) == "fq_codel"

    def has_rivals(path):
        return any(kind in paths[path][2] for kind in KINDS)

    def crowded(path):
        """Fewer than six packets a round trip for each bulk sender."""
        text, _, senders, _ = paths[path]
        mbit, ms = (float(text.split(key)[1].split(unit)[0]) for key, unit in (("rate=", "Mbit"), ("rtt=", "ms")))
        return mbit * ms * 125 / 1500 / sum(int((word.split("*") + ["1"])[1]) for word in senders.split()) < 6

    def lossy(path):
        return "loss=" in paths[path][0]

    rows = [
        ("goodput over CUBIC's with random loss, or in less than 0.1 BDP", middle("goodput", "cubic", lambda path: lossy(path) or products(path) < 0.1)),
        ("– elsewhere", middle("goodput", "cubic", lambda path: not lossy(path) and products(path) >= 0.1)),
        ("the others' goodput over that beside CUBIC, less than 0.1 BDP without fair queueing", middle("harm: goodput", "cubic", lambda path: products(path) < 0.1 and not is_fair(path))),
        ("– 0.1 BDP and more without fair queueing", middle("harm: goodput", "cubic", lambda path: products(path) >= 0.1 and not is_fair(path))),
        ("– with fair queueing", middle("harm: goodput", "cubic", is_fair)),
        ("goodput over CUBIC's, 2 BDP and more, drop-tail, beside others", middle("goodput", "cubic", lambda path: products(path) >= 2 and queue_of(path, paths) == "droptail" and has_rivals(path))),
        ("– over BBR's", middle("goodput", "bbr", lambda path: products(path) >= 2 and queue_of(path, paths) == "droptail" and has_rivals(path))),
        ("Jain, fewer than six packets a round trip for each bulk sender", middle("Jain", None, crowded)),
        ("– six and more", middle("Jain", None, lambda path: not crowded(path))),
    ]
    print("\n## Expected, and found\n\nThe expectations of the plan.\n\n| | found |\n|---|---|")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


def verdicts(found):
    print("\n## Verdicts\n\nA cell is a path, and its figure the median of ten seeds. PCC fails a figure if more than a tenth of the cells that have it are beyond "
          "the\nlimit. The share of failing cells has its 95 % interval, by Wilson. Quantiles are of all cells. Queue and loss are quotients of medians, of "
          "at\nleast 0.01 ms and 0.001 %.\n\n| figure | | limit | cells | beyond | share of cells | verdict | " + " | ".join(f"{100 * share:.0f} %" for share in QUANTILES)
          + " | worst seed |\n|---|---|---|--:|--:|--:|---|" + "--:|" * (len(QUANTILES) + 1))
    for figure, peer, cells in found:
        if not cells:
            continue
        beyond = sum(cell[2] for cell in cells.values())
        low, high = wilson(beyond, len(cells))
        middles = [cell[0] for cell in cells.values()]
        worst = (max if figure.at_most else min)(cell[1] for cell in cells.values())
        verdict = "**fails**" if fails(cells) else "kept"
        print(f"| {figure.name} | {over(peer)} | {figure.words()} | {len(cells)} | {beyond} | {beyond / len(cells):.2f} ({low:.2f} to {high:.2f}) | {verdict} | "
              + " | ".join(number(quantile(middles, share)) for share in QUANTILES) + f" | {number(worst)} |")


def levels(table):
    print("\n## What each has in PCC's place\n\nMedians of seeds; quantiles of all cells. Loss is of the senders in that place.\n\n| | sender | "
          + " | ".join(f"{100 * share:.0f} %" for share in QUANTILES) + " |\n|---|---|" + "--:|" * len(QUANTILES))
    for name, column, times in [("goodput, Mbit/s", "goodput", 1), ("queue, p95, ms", "queue", 1), ("loss, %", "loss", 100), ("Jain", "jain", 1),
                                ("files, s", "files", 1), ("the others' goodput, Mbit/s", "others", 1), ("the others' RTT, p95, ms", "rtt", 1),
                                ("the others' files, s", "others_files", 1)]:
        for sender in SENDERS:
            cells = [table.all_seeds(path, sender, column) for path in table.paths]
            middles = [times * statistics.median(cell) for cell in cells if cell]
            if middles:
                print(f"| {name} | {NAMES[sender]} | " + " | ".join(number(quantile(middles, share)) for share in QUANTILES) + " |")


def in_order(text):
    """Numbers by their size, and words by their letters."""
    first = text.split()[0]
    return (float(first) if first.replace(".", "").isdigit() else 0.0, text)


def queue_of(path, paths):
    text = paths[path][0]
    return text.split("queue=")[1] if "queue=" in text else "droptail"


def where(table, found, paths):
    """Shares of failing cells by what was drawn."""
    def queue(path):
        return queue_of(path, paths)

    def filled(path):
        ours, theirs = (statistics.median(table.all_seeds(path, sender, "goodput")) for sender in ("pcc", "cubic"))
        return "half of PCC's or more" if theirs >= 0.5 * ours else "less"

    def buffer(path):
        products = float(paths[path][1])
        return next((name for most, name in [(0.1, "0.02 to 0.1"), (0.5, "0.1 to 0.5"), (2, "0.5 to 2")] if products < most), "2 to 8")

    def senders(path):
        count = sum(int((word.split("*") + ["1"])[1]) for word in paths[path][2].split())
        return next((name for most, name in [(1, "1"), (4, "2 to 4"), (9, "5 to 9")] if count <= most), "10 to 20")

    print("\n## Where it fails\n\nCells beyond the limit, of those that have the figure. The plan does not have this division: it tells where to look, and judges "
          "nothing.\nWhere CUBIC leaves most of the path idle, its queue and its loss are small.\n")
    columns = [(figure, peer, cells) for figure, peer, cells in found if cells]
    print("| drawn | | " + " | ".join(f"{figure.name}{', ' + NAMES[peer] if peer else ''}" for figure, peer, _ in columns) + " |\n|---|---|" + "--:|" * len(columns))
    for name, of in [("queue", queue), ("buffer, BDP", buffer), ("bulk senders", senders), ("random loss", lambda path: "yes" if "loss=" in paths[path][0] else "no"),
                     ("CUBIC's goodput in that place", filled)]:
        for group in sorted({of(path) for _, _, cells in columns for path in cells}, key=in_order):
            cells = [[cell[2] for path, cell in cells.items() if of(path) == group] for _, _, cells in columns]
            print(f"| {name} | {group} | " + " | ".join(f"{sum(cell)} of {len(cell)}" if cell else "–" for cell in cells) + " |")


def worst(found, paths):
    print("\n## The ten worst cells of each figure\n\nA path's number, the median of its seeds, and the worst seed. `pcc-lab sim drawn --path NUMBER` repeats a cell, "
          "and\n`pcc-lab sim drawn --path NUMBER --commands` prints the command of each of its runs.\n\n| figure | | ten worst |\n|---|---|---|")
    for figure, peer, cells in found:
        if cells:
            order = sorted(cells.items(), key=lambda item: item[1][0], reverse=figure.at_most)[:10]
            print(f"| {figure.name} | {over(peer)} | " + ", ".join(f"{path}: {number(cell[0])} ({number(cell[1])})" for path, cell in order) + " |")
    harm = next(cells for figure, peer, cells in found if figure.name == "harm: goodput" and peer == "cubic")
    print("\nThe ten in which the others keep the least of what they have beside CUBIC:\n\n| path | bulk senders | files | kept: median (worst seed) | command |\n|---|---|---|--:|---|")
    for path, cell in sorted(harm.items(), key=lambda item: item[1][0])[:10]:
        text, _, senders, files = paths[path]
        print(f"| {text} | {senders} | {files} | {number(cell[0])} ({number(cell[1])}) | `pcc-lab sim drawn --path {path}` |")


def every(table, found, paths):
    by = {(figure.name, peer): cells for figure, peer, cells in found}

    def cell(name, peer, path):
        value = by[name, peer].get(path)
        return f"{'**' if value[2] else ''}{number(value[0])} ({number(value[1])}){'**' if value[2] else ''}" if value else ""

    names = ["goodput", "queue", "loss", "harm: goodput", "harm: RTT", "harm: files"]
    print("\n## Every cell\n\nMedian of the seeds (worst seed), first over CUBIC's, then over BBR's in the same place. **Bold** is beyond the limit. The buffer is in products.\n\n"
          "| | path | buffer | bulk | files | Jain | " + " | ".join(f"{name}, {NAMES[peer]}" for name in names for peer in PEERS) + " |\n|--:|---|--:|---|---|--:|" + "--:|" * (2 * len(names)))
    for path in table.paths:
        text, products, senders, files = paths[path]
        cells = [cell("Jain", None, path)] + [cell(name, peer, path) for name in names for peer in PEERS]
        print(f"| {path} | {text} | {float(products):.2g} | {senders} | {files} | " + " | ".join(cells) + " |")


def head(table, commit, total):
    def zeros(peer, columns):
        return sum(table.figure(path, seed, peer, column) == 0 for path in table.paths for seed in table.seeds for column in columns)

    runs = len(table.of)
    ran = "All" if len(table.paths) == total else f"{len(table.paths)} of the"
    print(f"""# Paths drawn at random: the outcome

PCC shares drawn paths with 0 to 19 other bulk senders and with files. CUBIC, and BBR, take its place in the same runs. [The plan](drawn-plan.md) was
committed before anything ran: it has the distributions, the definitions and the limits. Nothing was tuned on these paths, and no path was left out.

{ran} {total} paths ran, with {len(table.seeds)} seeds each: {runs} runs. The law is that of commit {commit}. [data/drawn.csv](data/drawn.csv) has every run. Made by

```sh long
for shard in $(seq 20); do pcc-lab sim drawn --shard $shard/20 >drawn-$shard.csv; done
python3 docs/results/drawn.py target/release/pcc-lab {commit} drawn-*.csv >docs/results/drawn.md
```

A cluster runs the shards as an array of jobs ([Slurm](../sim.md#paths-drawn-at-random)), and the second command joins their tables. A shard takes about a
minute of one idle processor, without a kernel of its own, network or root. `make install-lab` builds the program, which is one file; copy it to machines that have the same C library.
There is no container image of `pcc-lab`.

{sum(zeros(peer, ["others", *KINDS]) for peer in PEERS)} figures of others are not divided, since they moved nothing beside the peer.""")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    lab, commit, *shards = sys.argv[1:]
    rows = []
    for shard in shards or [STORED]:
        with open(shard) as file:
            rows.extend(csv.DictReader(file))
    table = Table(rows)
    if shards:
        rows.sort(key=lambda row: (int(row["path"]), int(row["seed"]), SENDERS.index(row["sender"])))
        with open(STORED, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    paths = listed(lab)
    found = list(judged(table))
    head(table, commit, len(paths))
    summary(found)
    verdicts(found)
    expected(table, found, paths)
    levels(table)
    where(table, found, paths)
    worst(found, paths)
    every(table, found, paths)


main()
