#!/usr/bin/env python3
"""The register at the head of docs/results/README.md: a question a row, with the figure and where PCC is behind. It runs nothing.

    python3 docs/results/register.py          # renews it in place

Figures are read out of data/ and of the tables of the pages beside this file. Words are written here, and each row with a claim checks that
its figures still bear it out. The age of a page's law is that of git, as in .ci/sweeps.
"""
import csv
import math
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.join(HERE, "../..")
# The default law, the start-up before it, and how often a sender asks to hear of its packets.
LAW = [
    "crates/core/src/control/ascent",
    "crates/core/src/control/approach.rs",
    "crates/core/src/control/driver.rs",
    "crates/core/src/control/starting.rs",
    "crates/core/src/pcc/acks.rs",
    "crates/core/src/utility/fair.rs",
    ":!*tests*",
]
BEGIN, END = "<!-- The register is made by docs/results/register.py. -->", "<!-- The register ends here. -->"
# Student's t for 95 % on both sides, as crates/stats has it.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23]
# Where a page says of which law it is.
STAMP = re.compile(r"(?:of commit|[Cc]ommit) ([0-9a-f]{7,40})\b")


def number(value):
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def values(scenario, point, algorithm, column):
    with open(f"{HERE}/data/{scenario}.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["point"] == point and row["algorithm"] == algorithm]
    if not rows:
        sys.exit(f"data/{scenario}.csv has no {algorithm} at point '{point}'")
    return [float(row[column]) for row in rows]


def mean(scenario, point, algorithm, column="goodput"):
    """The mean of all seeds, with its 95 % margin."""
    found = values(scenario, point, algorithm, column)
    if len(found) < 2:
        return number(found[0])
    student = STUDENT[len(found) - 2] if len(found) < 12 else 1.96 + 2.6 / (len(found) - 1)
    return f"{number(statistics.mean(found))} ± {number(student * statistics.stdev(found) / math.sqrt(len(found)))}"


def middle(text):
    """The figure of a cell, without its spread."""
    return float(text.split()[0].rstrip("%"))


def text_of(page):
    with open(f"{HERE}/{page}") as file:
        return file.read()


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


# Commits whose law differs from that of an earlier one in names alone: `pcc-lab sim score` of both has the same figures to the last digit.
RENAMED = {"682c8517": "88819d20"}


def age(commit):
    """How many lines of the law changed since."""
    if commit in RENAMED:
        return age(RENAMED[commit]).replace(RENAMED[commit], commit)
    lines = git("diff", "-U0", "--no-color", commit, "--", *LAW).splitlines()
    changed = [line for line in lines if re.match(r"[-+]", line) and not re.match(r"---|\+\+\+|[-+]\s*(//|$)", line)]
    return f"`{commit}`, today's" if not changed else f"**older**: {len(changed)} lines since `{commit}`"


def stamp(page):
    """Of which law a page is, and how old that is."""
    found = STAMP.search(text_of(page))
    return age(found[1]) if found else "**no stamp**"


def lab_law():
    """The law of data/."""
    with open(f"{HERE}/data/random-loss.csv") as file:
        return age(next(csv.DictReader(file))["commit"][:8])


def verdicts():
    """Kept, open and missed promises of the lab."""
    lines = text_of("check.txt").splitlines()[1:]
    counts = [sum(word in line for line in lines) for word in ("  PASS", "  OPEN", "  MISS")]
    return [*counts, sum(counts)]


def row(question, answer, figure, source, behind, law, holds=True):
    if not holds:
        sys.exit(f"'{question}': the figures no longer bear out '{answer}': {figure}")
    return f"| {question} | {answer} | {figure} | {source} | {behind} | {law} |"


def lab_rows():
    lab = lab_law()
    four = ["quic:pcc", "pcc", "cubic", "bbr"]
    names = ["PCC over QUIC", "PCC in the kernel", "CUBIC", "BBR"]

    def told(scenario, point, column="goodput", of=four):
        return ", ".join(f"{name} {mean(scenario, point, sender, column)}" for sender, name in zip(four, names) if sender in of)

    def middles(scenario, point, column="goodput"):
        return [statistics.mean(values(scenario, point, sender, column)) for sender in four]

    few = middles("shallow-buffer", "9kB")
    yield row("Does PCC fill a path that loses packets at random?", "Yes, up to 8 %.", f"1 % on 100 Mbit/s, Mbit/s: {told('random-loss', '0.01')}",
              "`random-loss`", f"BBR at 10 %, in the kernel: {mean('kernel-random-loss', '0.1', 'bbr')} beside {mean('kernel-random-loss', '0.1', 'quic:pcc')} over QUIC and "
              f"{mean('kernel-random-loss', '0.1', 'pcc')} in the kernel", lab, middles("random-loss", "0.01")[0] > middles("random-loss", "0.01")[3])
    yield row("Does it need buffers?", "No. It takes small ones from others, below.", f"six packets on 100 Mbit/s, Mbit/s: {told('shallow-buffer', '9kB')}",
              "`shallow-buffer`", "nobody, alone on the path. The BPF program has 76 Mbit/s there, by its trains ([kernel](kernel.md))", lab, min(few[:2]) > few[3])
    yield row("Is the queue short when it is alone?", "Yes.", f"RTT added in a buffer of 375 kB, ms: {told('random-loss', '0.0', 'rtt-added')}", "`random-loss`", "nobody",
              lab, middles("random-loss", "0.0", "rtt-added")[0] < middles("random-loss", "0.0", "rtt-added")[3])
    yield row("Long paths with loss?", "Yes.", f"42 Mbit/s, 800 ms, a buffer of 7.5 kB, Mbit/s: {told('satellite', '7.5kB')}", "`satellite`",
              "nobody; with 1 MB the promise of ten times the best peer is missed", lab)
    yield row("Flows of different RTTs?", "Fairer than CUBIC, less than BBR.", f"RTTs of 10 and 100 ms, the larger goodput over the smaller: {told('rtt-fairness', '90ms', 'imbalance')}",
              "`rtt-fairness`", "BBR", lab, max(middles("rtt-fairness", "90ms", "imbalance")[:2]) < middles("rtt-fairness", "90ms", "imbalance")[2])
    yield row("Mobile links?", "**Not the fastest.**", f"Mbit/s: {told('cellular', '')}. RTT added, p95, ms: {told('cellular', '', 'rtt-added-p95')}", "`cellular`",
              "CUBIC and BBR in rate, BBR by 10 to 17 %", lab, middles("cellular", "")[0] < middles("cellular", "")[3])
    yield row("Paths that change all the time?", "Yes.", f"Mbit/s: {told('changing', '')}", "`changing`", "nobody", lab, middles("changing", "")[0] > middles("changing", "")[3])
    second = middles("deep-buffer-second", "20Mbit")
    yield row("What has PCC if a CUBIC keeps a deep buffer full?", "**An eighth to a sixth of the path.**", f"1 MB on 20 Mbit/s, it comes second, Mbit/s: {told('deep-buffer-second', '20Mbit')}",
              "`deep-buffer-second`", "BBR and CUBIC", lab, all(0.12 < own / 20 < 0.17 for own in second[:2]) and max(second[:2]) < min(second[2:]))
    quarter, marked = middles("beside-cubic", "0.25bdp", "victim-share"), middles("ecn-beside-cubic", "codel", "victim-share")
    yield row("Does a CUBIC keep its part beside one PCC in 0.25 BDP and more?", "Yes.",
              f"its share in 0.25 BDP beside {told('beside-cubic', '0.25bdp', 'victim-share')}. In 1 BDP: {told('beside-cubic', '1bdp', 'victim-share')}", "`beside-cubic`",
              "nobody; CUBIC in its own part", lab, min(quarter[:2]) > quarter[2])
    yield row("Does a CUBIC keep its part beside one PCC behind CoDel with marks?", "Yes.", f"its share beside {told('ecn-beside-cubic', 'codel', 'victim-share')}", "`ecn-beside-cubic`", "nobody", lab,
              min(marked[:2]) > marked[2])
    incast = middles("incast", "33", "incast")
    yield row("Many senders of 256 kB at once, 0.1 ms?", "**No.**", f"33 senders, share of the path until all are done: {told('incast', '33', 'incast')}", "`incast`",
              f"CUBIC and BBR with 33 and with 2. With 20 PCC over QUIC leads: {told('incast', '20', 'incast')}", lab, max(incast) < 0.6)


def section(page, heading):
    """The rows of the tables below a heading, or of the whole page."""
    text = text_of(page)
    if heading:
        text = text.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| ")]


def cell(page, heading, begins, column):
    """A cell of the first row that begins with these."""
    found = next((cells for cells in section(page, heading) if cells[:len(begins)] == begins), None)
    return found[column] if found else sys.exit(f"{page}, {heading}: no row begins with {begins}")


def company_rows():
    page = "company-lab.md"
    law = stamp(page)
    kinds = {"PCC, QUIC": "PCC over QUIC", "PCC, the module": "PCC in the kernel", "cubic": "CUBIC", "bbr": "BBR"}
    alike, codel, small = "One kind, each", "Eight of one kind behind CoDel", "One kind in a tenth"
    shallow, behind_codel, files = "A CUBIC beside one flow, in a small", "A CUBIC beside one flow, behind CoDel", "Files of 100 kB"

    def all_of(heading, group, column):
        return [cell(page, heading, [*group, kind], column) for kind in kinds]

    def told(heading, group, column):
        return ", ".join(f"{name} {figure}" for name, figure in zip(kinds.values(), all_of(heading, group, column)))

    def middles(heading, group, column):
        return [middle(figure) for figure in all_of(heading, group, column)]

    jain = [middles(alike, [count], 4) for count in ("3", "8", "12")]
    yield row("Is PCC fair to PCC?", "More than CUBIC and BBR to themselves.", f"Jain over 1 s of 8 senders: {told(alike, ['8'], 4)}", f"`company`, [page]({page})",
              f"CUBIC in the loss of 12: {cell(page, alike, ['12', 'PCC, QUIC'], 3)} % beside {cell(page, alike, ['12', 'cubic'], 3)} %", law,
              all(min(of[:2]) > max(of[2:]) for of in jain))
    eight, twelve = (middles(alike, [count], 2) for count in ("8", "12"))
    yield row("Is the queue short with many?", "**With 8 a fifth of CUBIC's, with 12 half.**",
              f"RTT added by 8, p95, ms: {told(alike, ['8'], 2)}. By 12: {told(alike, ['12'], 2)}. By 8 behind CoDel: {told(codel, ['codel'], 2)}",
              f"`company`, `company-codel`, [page]({page})", "CUBIC behind CoDel", law,
              max(eight[:2]) < 0.25 * eight[2] and 0.4 < max(twelve[:2]) / twelve[2] < 0.6 and middles(codel, ["codel"], 2)[0] > middles(codel, ["codel"], 2)[2])
    yield row("Many in a small buffer?", "**More loss than CUBIC.**", f"10 in 0.1 BDP, loss, %: {told(small, ['10'], 2)}", f"`small-buffer-crowd`, [page]({page})", "CUBIC", law,
              middles(small, ["10"], 2)[1] > middles(small, ["10"], 2)[2])
    harm = [middles(shallow, [buffer], 2) for buffer in ("0.05bdp", "0.1bdp")]
    yield row("Does a CUBIC keep its part beside one PCC in a small buffer?", "**Two thirds in 0.1 BDP, a twentieth in 0.05.**", f"its Mbit/s in 0.05 BDP beside {told(shallow, ['0.05bdp'], 2)}. In 0.1 BDP: {told(shallow, ['0.1bdp'], 2)}",
              f"`harm-shallow`, [page]({page})", "CUBIC; BBR up to 0.05 BDP", law, harm[0][0] < 0.1 * harm[0][2] and 0.55 < min(harm[1][:2]) / harm[1][2] < 0.75 and harm[0][0] < harm[0][3])
    beside = middles(behind_codel, [], 1)
    yield row("Does a CUBIC keep its part beside one PCC behind CoDel?", "Yes.", f"its Mbit/s beside {told(behind_codel, [], 1)}", f"`harm-codel`, [page]({page})", "nobody", law, min(beside[:2]) > max(beside[2:]))
    times = middles(files, ["0.25bdp"], 2)
    yield row("Do short files of CUBIC suffer beside one PCC?", "**In small buffers.**", f"median time of 100 kB in 0.25 BDP, ms, beside {told(files, ['0.25bdp'], 2)}",
              f"`files-beside`, [page]({page})", "CUBIC; nobody from 1 BDP on", law, times[2] < times[0] < times[3])


def drawn_rows():
    """The campaign of drawn paths, by its page."""
    page = "drawn.md"
    if not os.path.exists(f"{HERE}/{page}"):
        return
    found = {(cells[0], cells[1]): cells for cells in section(page, "Verdicts")[1:]}
    failed = [f"{name} {peer}".replace(" –", "") for (name, peer), cells in found.items() if "fails" in cells[6]]
    harm = [found["harm: goodput", peer] for peer in ("over CUBIC", "over BBR")]
    figure = "; ".join(f"{cells[1]}'s in that place: median cell {cells[9]}, 5 % of the cells below {cells[7]}, {100 * float(cells[5].split()[0]):.0f} % below 0.8" for cells in harm)
    own = found["goodput", "over CUBIC"], found["goodput", "over BBR"]
    gain = ", ".join(f"{cells[1]}'s {cells[9]}" for cells in own)
    ran = re.search(r"^(?:All|\d+ of the) \d+ paths", text_of(page), re.M)[0]
    yield row("And on paths that nobody chose, with senders of four kinds?", f"**{len(failed)} of {len(found)} figures fail**, by limits set before.", f"{ran}, ten seeds each. PCC's goodput, median cell: {gain}. What the others have, {figure}",
              f"[plan](drawn-plan.md), [outcome]({page})", "; ".join(failed), stamp(page))


def other_rows():
    yield row("Behind PIE, RED and DualPI2?", "A CUBIC keeps its part; PCC has a third beside one.", f"the CUBIC's goodput beside PCC, over that beside CUBIC; median and worst seed: "
              + ", ".join(f"{queue} {cell('queues.md', '1 CUBIC beside 1 PCC', [queue], 4)}" for queue in ("pie", "red", "dualpi2", "codel")), "simulated, [page](queues.md)",
              "CUBIC, in its own part", stamp("queues.md"))
    yield row("Beside an upload on a slow way back?", "With `pcc` at both ends.", "download of 100 Mbit/s beside CUBIC's upload, median and worst seed: "
              + ", ".join(f"{name} {cell('queues.md', None, [begins], 1)}" for begins, name in [("pcc, upload: cubic", "PCC"), ("pcc:untimed, upload: cubic", "PCC with other receivers"),
                                                                                              ("cubic, upload: cubic", "CUBIC")]),
              "simulated, [page](queues.md)", "CUBIC, if the receiver is not PCC's", stamp("queues.md"))
    twenty = [cell("limits.md", None, ["20 flows on a slow path"], column) for column in (2, 3, 4)]
    yield row("Twenty senders on 10 Mbit/s?", "**An eighth of the packets is lost.**", f"loss, %: PCC {twenty[0]}, CUBIC {twenty[1]}, BBR {twenty[2]}", "simulated, [limits](limits.md), [RFC 9743](rfc9743.md)",
              "CUBIC", stamp("limits.md"), 12 < middle(twenty[0]) < 16.5)
    rival = [cell("limits.md", None, ["after a BBR, four BDP"], column) for column in (2, 3, 4)]
    yield row("What has PCC if a BBR was there first, in four BDP?", "**It starves.**", f"share of the path: PCC {rival[0]}, CUBIC {rival[1]}, BBR {rival[2]} in the same place", "simulated, [limits](limits.md)",
              "CUBIC and BBR", stamp("limits.md"), middle(rival[0]) < 0.5 * min(middle(rival[1]), middle(rival[2])))
    long_ = [cell("learned.md", "Parking lot", ["20 ms", "1 BDP"], column) for column in (2, 3, 4, 5)]
    yield row("What has a flow through several bottlenecks?", "**Less than CUBIC's.**", "its goodput over the highest of the flows through one, three bottlenecks, 20 ms, 1 BDP: "
              + ", ".join(f"{name} {figure}" for name, figure in zip(("PCC", "CUBIC", "BBR", "Vivace"), long_)), "simulated, [page](learned.md)", "CUBIC and Vivace", stamp("learned.md"),
              middle(long_[2]) < middle(long_[0]) < min(middle(long_[1]), middle(long_[3])))
    yield row("Do the papers' figures come out?", "**Half of them wholly.** The factor 10 on the Internet does not.", f"{papers()}", "simulated, [page](papers.md); the lab: [each point](#each-point)",
              "BBR, which the first paper did not have, gains nearly as much as PCC", stamp("papers.md"))
    yield row("Is the simulator right?", "Mostly.", re.search(r"In (\d+ of \d+ cells[^.]*)\.", text_of("simulated.md"))[1] + ", for CUBIC, BBR and Reno", "[page](simulated.md)",
              "buffers of one or two packets, heavy jitter, short policers, bottlenecks in a row", "no PCC in it")
    yield row("What does it cost in the kernel?", "Up to a sixth more than paced CUBIC.", f"CPU over paced CUBIC's at 2 Gbit/s {cell('kernel.md', 'Cost', ['PCC'], 3)}", "real time, [page](kernel.md)",
              "CUBIC and BBR", "**no stamp**")
    yield row("What does it cost over QUIC?", "A tenth less than CUBIC.", f"loopback, `pcc perf`, over CUBIC's rate {cell('peers.md', None, ['`-C pcc`'], 3)}", "real time, [page](peers.md)", "CUBIC of the same stack", stamp("peers.md"))
    yield row("Files beside rsync?", "Faster where packets are lost.", f"20 MB over `lossy`, Mbit/s: `pcc get` {cell('transfers.md', None, ['`pcc get HOST:file`'], 1)}, rsync {cell('transfers.md', None, ['`rsync` over ssh'], 1)}",
              "real time, [page](transfers.md)", "TCP with BBR, by 4 %; rsync for changed files on a clean path ([deltas](deltas.md))", stamp("transfers.md"))
    codes = [cell("transfers.md", "By a code", [way], 1) for way in ["`pcc send file`, `pcc get CODE`", "`croc` with CUBIC", "`wormhole` with CUBIC"]]
    yield row("Files by a code, beside croc?", "Faster where packets are lost.", "20 MB over `lossy`, Mbit/s: {}, croc {}, magic-wormhole {}".format(*codes),
              "real time, [page](transfers.md#by-a-code)", "from the first byte on magic-wormhole with BBR, by 4 %, and over `satellite` croc with BBR, by 10 %", stamp("transfers.md"), middle(codes[0]) > 1.2 * max(map(middle, codes[1:])))
    yield row("Where do the constants come from?", "**From sweeps of older laws.**", f"{sweeps()}", "[sweeps](../sweeps)", "–", "**older**")
    yield row("On the real Internet?", "**Not measured.**", "everything ran on emulated paths, on one computer at a time", "–", "unknown", "–")


def papers():
    parts = text_of("papers.md").split("\n## ")[1:]
    missed = [part for part in parts if "ot reproduced" in part]
    return f"{len(parts) - len(missed)} of {len(parts)} figures without a reservation; {len(missed)} with a part that is not reproduced"


def sweeps():
    """How many pages of docs/sweeps are of an older law."""
    pages = [name for name in sorted(os.listdir(f"{ROOT}/docs/sweeps")) if name.endswith(".md")]
    old = 0
    for name in pages:
        with open(f"{ROOT}/docs/sweeps/{name}") as file:
            commit = re.search(r"^The law is that of commit ([0-9a-f]+),", file.read(), re.M)
        law = f"crates/core/src/control/{name[:-3]}"
        paths = [law if os.path.isdir(f"{ROOT}/{law}") else LAW[0], LAW[2]]
        lines = git("diff", "-U0", "--no-color", commit[1], "--", *paths).splitlines() if commit else ["+"]
        old += any(re.match(r"[-+](?![-+])(?!\s*(//|$))", line) for line in lines)
    return f"{old} of {len(pages)} pages are of an older law"


def promises():
    kept, open_, missed, all_of_it = verdicts()
    alone, company = (cell("score.md", None, [name], slice(1, 3)) for name in ("alone or beside one other", "in company"))
    yield row("Are the promises kept?", "Seven of ten in the lab, three of four in the simulator.", f"lab: {kept} of {all_of_it} kept, {open_} open, {missed} missed. Simulator: {alone[1]} of {alone[0]} alone or beside one "
              f"other, {company[1]} of {company[0]} in company", "[missed](#missed), [score](score.md)", "each row names its peer", f"lab: {lab_law()}; score: {stamp('score.md')}",
              0.65 < kept / all_of_it < 0.75 and 0.7 < (int(alone[1]) + int(company[1])) / (int(alone[0]) + int(company[0])) < 0.8)


def register():
    """The table, and how to read it."""
    rows = [*promises(), *drawn_rows(), *lab_rows(), *company_rows(), *other_rows()]
    return "\n".join([
        BEGIN,
        "Answers in **bold** are against PCC. A figure of a scenario is the mean of its seeds with the 95 % margin, by `pcc-lab run SCENARIO` on a real",
        "Linux network stack. *Behind* names who is better. *Law* is the commit whose control law was measured, and how much of the law has changed",
        "since. Pages without a stamp do not tell. `python3 docs/results/register.py` makes this table of stored results.",
        "",
        "| question | answer | figure | from | behind | law |",
        "|---|---|---|---|---|---|",
        *rows,
        END,
    ])


def main():
    text = text_of("README.md")
    if BEGIN not in text:
        sys.exit(f"docs/results/README.md has no '{BEGIN}'")
    before, rest = text.split(BEGIN, 1)
    after = before + register() + rest.split(END, 1)[1]
    with open(f"{HERE}/README.md", "w") as file:
        file.write(after)


if __name__ == "__main__":
    main()
