#!/usr/bin/env python3
"""PCC and CUBIC behind the queues that networks have, and beside uploads: the page docs/results/queues.md.

    python3 docs/results/queues.py target/release/pcc-lab COMMIT >docs/results/queues.md
"""
import json
import shlex
import statistics
import subprocess
import sys

PATH = "rate=50Mbit,rtt=40ms,buffer=1MB"
QUEUES = ["pie", "fq_pie", "dualpi2", "red", "codel"]
SEEDS = ",".join(str(seed) for seed in range(1, 11))
ASYMMETRIC = "down.rate=100Mbit,up.rate=4Mbit,rtt=30ms,down.buffer=375KB,up.buffer=64KB"


def runs(lab, arguments):
    """One run a seed."""
    command = [lab, "sim", *shlex.split(arguments), "--seed", SEEDS, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["runs"]


def cell(values, worst, digits):
    return f"{statistics.median(values):.{digits}f} ({worst(values):.{digits}f})"


def goodput(run, flows):
    """The mean of these flows, Mbit/s."""
    return statistics.mean(run["flows"][flow]["goodput_mbit"] for flow in flows)


def added(run, flow):
    return run["flows"][flow]["rtt_added_p50_ms"]


def together(found):
    """What the bottleneck and all senders have: queueing delay, loss, Jain's index and share."""
    late = [run["second_half"] for run in found]
    return [
        cell([half["queue_p95_ms"] for half in late], max, 1),
        cell([100 * half["loss"] for half in late], max, 2),
        cell([half["jain_1s"] for half in late], min, 2),
        cell([run["share"] for run in found], min, 3),
    ]


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---|" + "--:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def beside(lab, count):
    """So many CUBIC beside as many PCC, and beside as many CUBIC in their place."""
    for queue in QUEUES:
        for marks in ["", " --ecn"]:
            others, ours = range(count), range(count, 2 * count)
            flows = f"cubic*{count}:start=random:0..2s {{}}*{count}:start=random:0..2s"
            arguments = f"--link {PATH} --queue {queue}{marks} --flows '{flows}' --time-limit 60s"
            found, instead = (runs(lab, arguments.format(sender)) for sender in ["pcc", "cubic"])
            kept = [goodput(run, others) / goodput(other, others) for run, other in zip(found, instead)]
            before = [half["second_half"]["queue_p95_ms"] for half in instead]
            yield [
                queue + (", marks" if marks else ""),
                cell([goodput(run, ours) for run in found], min, 1),
                cell([goodput(run, others) for run in found], min, 1),
                cell([goodput(run, others) for run in instead], min, 1),
                cell(kept, min, 2),
                *together(found)[:2],
                cell(before, max, 1),
            ]


def eight(lab):
    for queue in ["droptail", *QUEUES]:
        for marks in ["", " --ecn"]:
            if queue == "droptail" and marks:
                continue
            for sender in ["pcc", "cubic"]:
                flows = f"{sender}*8:start=random:0..2s"
                found = runs(lab, f"--link {PATH} --queue {queue}{marks} --flows '{flows}' --time-limit 60s")
                yield [f"{queue}{', marks' if marks else ''}: {sender}", *together(found)]


def scalable(lab):
    for rtt in [10, 40, 80]:
        for flows in ["cubic:ect0 prague", "pcc prague", "pcc:ect0 prague", "pcc:ect1 prague", "cubic pcc:ect1", "pcc:ect1*2"]:
            started = flows.replace("pcc:ect1*2", "pcc*2:ect1").split()
            started = " ".join(flow + ":start=random:0..2s" for flow in started)
            link = f"rate=50Mbit,rtt={rtt}ms,buffer=1MB"
            found = runs(lab, f"--link {link} --queue dualpi2 --flows '{started}' --time-limit 60s")
            yield [
                f"{rtt} ms: {flows}",
                cell([goodput(run, [0]) for run in found], min, 1),
                cell([goodput(run, [1]) for run in found], min, 1),
                cell([added(run, 0) for run in found], max, 1),
                cell([added(run, 1) for run in found], max, 1),
                cell([run["share"] for run in found], min, 3),
            ]


def both_ways(lab):
    downloads = ["pcc", "pcc:ackevery=16", "pcc:untimed", "pcc:ackevery=16:untimed", "cubic", "bbr"]
    for download in downloads:
        for upload, queue in [(None, ""), ("pcc", ""), ("cubic", ""), ("bbr", ""), ("cubic", ",up.queue=fq_codel")]:
            flows = f"{download}:start=random:0..2s" + (f" {upload}:back:start=random:0..2s" if upload else "")
            found = runs(lab, f"--link {ASYMMETRIC}{queue} --flows '{flows}' --time-limit 60s")
            yield [
                f"{download}, " + (f"upload: {upload}" + (" behind fq_codel" if queue else "") if upload else "alone"),
                cell([goodput(run, [0]) for run in found], min, 1),
                cell([goodput(run, [1]) for run in found], min, 2) if upload else "–",
                cell([added(run, 0) for run in found], max, 1),
                cell([added(run, 1) for run in found], max, 1) if upload else "–",
            ]
    for upload in ["pcc", "cubic", "bbr"]:
        found = runs(lab, f"--link {ASYMMETRIC} --flows '{upload}:back:start=random:0..2s' --time-limit 60s")
        uploaded, delays = [goodput(run, [0]) for run in found], [added(run, 0) for run in found]
        yield [f"no download, upload: {upload}", "–", cell(uploaded, min, 2), "–", cell(delays, max, 1)]


def main():
    lab, commit = sys.argv[1:]
    print(HEAD.replace("{commit}", commit))
    for count in [1, 4]:
        flows = f"cubic*{count}:start=random:0..2s pcc*{count}:start=random:0..2s"
        print(f"\n## {count} CUBIC beside {count} PCC\n\n```text\npcc-lab sim --link {PATH} --queue pie --flows '{flows}' --time-limit 60s\n```\n")
        head = ["queue", "PCC, each", "CUBIC, each", "CUBIC beside CUBIC", "kept", "p95, ms", "loss, %", "p95 of CUBIC alone, ms"]
        table(head, beside(lab, count))
    print(f"\n## Eight of a kind\n\n```text\npcc-lab sim --link {PATH} --queue pie --flows 'pcc*8:start=random:0..2s' --time-limit 60s\n```\n")
    table(["queue", "p95, ms", "loss, %", "Jain", "share of the path"], eight(lab))
    print(SCALABLE)
    table(["senders", "first, Mbit/s", "second, Mbit/s", "first, ms", "second, ms", "share of the path"], scalable(lab))
    print(BOTH_WAYS)
    table(["download", "download, Mbit/s", "upload, Mbit/s", "added to it, ms", "added to the upload, ms"], both_ways(lab))


HEAD = """# Behind the queues that networks have

PCC and CUBIC behind [PIE, FQ-PIE, DualPI2, RED and CoDel](../sim.md#queues), without marks and with marks (ECN), and both beside an
upload. Each case has ten seeds, which draw the starts. A cell has the median of the seeds, and the worst in brackets. All senders are those
of the simulator. No change of the law was judged by these cases. The law is that of commit {commit}. Made by

```sh long
python3 docs/results/queues.py target/release/pcc-lab COMMIT >docs/results/queues.md
```

The cases say:

* CUBIC loses nothing to PCC behind these queues. In the median it has as much as beside CUBIC, or more. The worst seed of four beside four
  is 0.90.
* PCC has less than its part beside CUBIC, unless flows have queues of their own. One beside one it has a quarter to a third of the path.
* Four PCC beside four CUBIC lengthen the queue of PIE, DualPI2, RED and CoDel by 1 to 7 ms at the 95th percentile.
* Eight PCC keep the queue at 7 to 9 ms behind each of them, and lose next to nothing.
* PCC must not say ECT(1). In the queue of scalable senders it leaves Prague an eighth of a path of 40 ms, and CUBIC as much. A tenth of
  the path is idle then. PCC with ECT(0) has half to four fifths of CUBIC's part beside Prague.
* An upload costs a download of PCC 1 to 6 of 100 Mbit/s, one of CUBIC 5 to 34, and one of BBR 7 to 81. With an acknowledgement for
  16 packets the upload keeps 3.6 of 4 Mbit/s. PCC over QUIC asks its own receivers for about that, at this rate and RTT.
* PCC knows the acknowledgements' queue by what its own receivers say: when an acknowledgement left. Other receivers do not (`untimed`),
  and PCC takes that queue for its own. Beside an upload of CUBIC its download keeps 11 Mbit/s then, with an acknowledgement for two
  packets, and 25 with one for 16; beside uploads of PCC and BBR 53 to 83.
* An upload of PCC costs the downloads of CUBIC and BBR least.
* With FQ-CoDel on the way up an upload costs the download that acknowledges seldom next to nothing.

*kept* is CUBIC's goodput beside PCC, divided by its goodput with CUBIC in PCC's place. *p95* is the 95th percentile of the queueing delay
in the second half, *loss* and *Jain* (over 1 s) are of that half too. Goodput is in Mbit/s."""

SCALABLE = """
## Scalable senders behind DualPI2

```text
pcc-lab sim --link rate=50Mbit,rtt=40ms,buffer=1MB --queue dualpi2 --flows 'pcc:ect1:start=random:0..2s prague:start=random:0..2s' --time-limit 60s
```

The columns of milliseconds are the median of the RTT that the queue adds. RTTs of the path are 10, 40 and 80 ms. At equal windows Prague
is faster than CUBIC by the ratio of their RTTs, since CUBIC's holds 15 ms of queue.
"""

BOTH_WAYS = """
## A download beside an upload

```text
pcc-lab sim --link down.rate=100Mbit,up.rate=4Mbit,rtt=30ms,down.buffer=375KB,up.buffer=64KB --flows 'pcc:start=random:0..2s cubic:back:start=random:0..2s' --time-limit 60s
```

64 kB at 4 Mbit/s are 128 ms. The columns of milliseconds are the median of the RTT that both ways' queues add. `ackevery=16` is one
acknowledgement for 16 packets; without it there is one for two. With `untimed` acknowledgements do not say when they left.
"""

main()
