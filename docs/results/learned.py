#!/usr/bin/env python3
"""PCC by the experiments of a study of learned congestion control: the page docs/results/learned.md.

    python3 docs/results/learned.py target/release/pcc-lab COMMIT >docs/results/learned.md
"""
import json
import shlex
import statistics
import subprocess
import sys

SEEDS = ",".join(str(seed) for seed in range(1, 11))
SENDERS = {"PCC": "pcc", "CUBIC": "cubic", "BBR": "bbr", "Vivace": "pcc/vivace:law=vivace"}
# Multiples of the bandwidth-delay product.
BUFFERS = [0.2, 1, 4]


def runs(lab, path, flows, seconds, *options):
    """One run a seed."""
    command = [lab, "sim", "--link", path, "--flows", flows, "--time-limit", f"{seconds}s", *options, "--seed", SEEDS, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["runs"]


def late(lab, path, flows, seconds, *options):
    """Goodput of each flow in the last quarter, Mbit/s, one list a seed: two runs of a seed are the same as long as both last."""
    def volumes(until):
        for run in runs(lab, path, flows, until, *options):
            yield [flow["goodput_mbit"] * (until - flow["start_s"]) for flow in run["flows"]]
    quarter = seconds / 4
    pairs = zip(volumes(seconds - quarter), volumes(seconds))
    return [[(end - begin) / quarter for begin, end in zip(*pair)] for pair in pairs]


def buffer(multiple, rtt_ms, mbit=100):
    """As the study's scripts have it, whose megabit has 2^20 bits. Bytes."""
    return max(int(multiple * (mbit * 2**20 * rtt_ms / 1000 / 8)), 1500)


def sender(name, at, rtt_ms, extra_ms=0, more=""):
    """It starts within one RTT of a moment, by the seed."""
    extra = f":rtt=+{extra_ms}ms" if extra_ms else ""
    return f"{SENDERS[name]}{more}:start=random:{at}s..{at + rtt_ms / 1000:g}s:hostdelay=20us{extra}"


def cell(ratios, digits=2):
    """Median, and the seeds' range."""
    return f"{statistics.median(ratios):.{digits}f} ({min(ratios):.{digits}f} to {max(ratios):.{digits}f})"


def table(head, rows, columns, figure):
    print("| " + " | ".join([*head, *columns]) + " |")
    print("|" + "---|" * len(head) + "--:|" * len(columns))
    for labels, arguments in rows:
        print("| " + " | ".join([*labels, *(figure(name, *arguments) for name in columns)]) + " |", flush=True)
    print()


def even(lab, name, rtt_ms, multiple, longer_ms=None):
    """The lower goodput of two over the higher: the second comes after a quarter. An RTT of the second may be longer."""
    second_ms = longer_ms or rtt_ms
    seconds = 2 * second_ms
    path = f"rate=100Mbit,rtt={rtt_ms}ms,buffer={buffer(multiple, second_ms)}"
    first = sender(name, 0, rtt_ms)
    flows = f"{first} {sender(name, seconds // 4, second_ms, second_ms - rtt_ms)}"
    return cell([min(pair) / max(pair) for pair in late(lab, path, flows, seconds)])


def beside_cubic(lab, name, rtt_ms, multiple, comes_first):
    """Its goodput over the CUBIC's."""
    seconds = 2 * rtt_ms
    path = f"rate=100Mbit,rtt={rtt_ms}ms,buffer={buffer(multiple, rtt_ms)}"
    order = [name, "CUBIC"] if comes_first else ["CUBIC", name]
    flows = " ".join(sender(who, at, rtt_ms) for who, at in zip(order, [0, seconds // 4]))
    place = 0 if comes_first else 1
    return cell([pair[place] / pair[1 - place] for pair in late(lab, path, flows, seconds)])


def parking_lot(lab, name, rtt_ms, multiple, queue):
    """The goodput of the flow through all three bottlenecks, which comes after a quarter, over the highest of those through one."""
    seconds = 2 * rtt_ms
    bottleneck = f"rate=100Mbit,rtt=0ms,buffer={buffer(multiple, rtt_ms)}"
    through_one = [sender(name, 0, rtt_ms, rtt_ms, f":via={place}") for place in (1, 2, 3)]
    flows = " ".join([sender(name, seconds // 4, rtt_ms, rtt_ms), *through_one])
    options = ["--then", bottleneck, "--then", bottleneck, "--queue", queue]
    return cell([all_[0] / max(all_[1:]) for all_ in late(lab, bottleneck, flows, seconds, *options)])


def changing(lab, name, words):
    """Mean goodput, Mbit/s, and share of what a perfect sender would have."""
    path = f"rate=50Mbit,rtt=100ms,buffer={buffer(1, 100, 50)},{words}"
    found = [run["flows"][0] for run in runs(lab, path, f"{SENDERS[name]}:hostdelay=20us", 300)]
    mean, share = (statistics.mean(flow[key] for flow in found) for key in ("goodput_mbit", "share"))
    worst = min(flow["share"] for flow in found)
    return f"{mean:.1f}, {share:.2f} ({worst:.2f})"


def crossed(rtts, *more):
    """Rows of each RTT, in ms, and each buffer."""
    return [((f"{rtt} ms", f"{multiple} BDP"), (rtt, multiple, *more)) for rtt in rtts for multiple in BUFFERS]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lab, commit = sys.argv[1:]
    everybody, peers = list(SENDERS), [name for name in SENDERS if name != "CUBIC"]
    print(f"""# By the experiments of a study of learned congestion control

"Learning-Based vs Human-Derived Congestion Control" (Mazilu, Giacomoni and Parisis, [arXiv 2510.25105](https://arxiv.org/abs/2510.25105), 2025)
compares CUBIC, BBRv3, Orca, Sage, Astraea and PCC Vivace in Mininet. This page repeats its dumbbells, its parking lot and its changing paths
by the parameters of [the authors' scripts](https://github.com/Aruuni/mininettestbed), in the simulator. The law is that of commit {commit}.

```sh long
python3 docs/results/learned.py target/release/pcc-lab COMMIT >docs/results/learned.md
```

* Two PCC senders share a path at 0.81 to 0.98 in the median, and the worst seed has 0.43. BBR's are more even at 60 and 120 ms.
* With an RTT three times the other's, one PCC sender has three quarters of the other's goodput or more. BBR's differ tenfold in 1 BDP and more.
* **Beside a CUBIC PCC has less than its part**: half of the CUBIC's goodput at best, and a fourteenth at worst. BBR has 7 to 25 times the
  CUBIC's in up to 1 BDP.
* **Through three bottlenecks PCC has a fifth to a quarter of what flows through one have.** CUBIC and Vivace have more.
* Where rate and loss change, PCC has 82 % of the path, and BBR 81 %. Where rate and RTT change, CUBIC has as much as PCC.

**No published figure stands beside these.** The scripts draw the study's results as curves, and the repository has no data. The abstract says
of the learned senders: a reward for fairness works, and not under conditions that nobody trained for; they use the path at a low delay; they
are behind where rate and delay change, and resist random loss.

| | the study | here |
|---|---|---|
| senders | CUBIC, BBRv3, Orca, Sage, Astraea, Vivace as its authors published it | PCC with `fair`, models of Linux's CUBIC and BBR v1, Vivace's law and utility in this project's sender |
| path | 100 Mbit/s, buffers of 0.2, 1 and 4 BDP, whose megabit has 2^20 bits | the same |
| two flows of an RTT r ms | the first for 2r s, the second from r/2 s on | the same; each starts within one RTT, by the seed |
| ratio | goodput in the last quarter, its mean over seconds | goodput of the whole last quarter |
| runs | 5; 50 on changing paths | 10 |

A cell has the median and the range of ten seeds.

## Two senders of one kind

The lower goodput over the higher: 1 is equal.
""")
    table(["RTT", "buffer"], crossed([20, 60, 120]), everybody, lambda *what: even(lab, *what))
    print("The first has an RTT of 20 ms, the second a longer one. The buffer is of the longer.\n")
    rows = [((f"20 and {rtt} ms", f"{multiple} BDP"), (20, multiple, rtt)) for rtt in (60,) for multiple in BUFFERS]
    table(["RTTs", "buffer"], rows, everybody, lambda *what: even(lab, *what))
    print("## Beside a CUBIC\n\nIts goodput over the CUBIC's. The CUBIC comes first:\n")
    table(["RTT", "buffer"], crossed([20, 60], False), peers, lambda *what: beside_cubic(lab, *what))
    print("The CUBIC comes second:\n")
    table(["RTT", "buffer"], crossed([20, 60], True), peers, lambda *what: beside_cubic(lab, *what))
    print("""## Parking lot

Three bottlenecks of 100 Mbit/s in a row, one flow through all of them, and one through each. The long flow's goodput over the highest of
the short ones': 1 is max-min fair, and 0.33 is what the study calls proportional. All have the same RTT.
""")
    table(["RTT", "buffer"], crossed([20], "droptail"), everybody, lambda *what: parking_lot(lab, *what))
    print("The same with SFQ at each bottleneck, which the scripts have too:\n")
    table(["RTT", "buffer"], [(("20 ms", "1 BDP"), (20, 1, "sfq"))], everybody, lambda *what: parking_lot(lab, *what))
    print("""## Changing paths

One sender for 300 s. Each 10 s the rate is drawn anew, from 1 to 100 Mbit/s, with either the RTT, from 20 to 200 ms, or the loss, from 0 to
5 %. The buffer is 1 BDP of 50 Mbit/s and 100 ms. Mean Mbit/s, and the share of what a perfect sender would have: mean and worst seed.
""")
    both = "vary=10s:rate=1Mbit..100Mbit:rtt=20ms..200ms"
    loss = "vary=10s:rate=1Mbit..100Mbit,down.vary=10s:loss=0%..5%"
    table(["changes"], [(["rate and RTT"], [both]), (["rate and loss"], [loss])], everybody, lambda *what: changing(lab, *what))


if __name__ == "__main__":
    main()
