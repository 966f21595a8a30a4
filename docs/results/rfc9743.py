#!/usr/bin/env python3
"""What RFC 9743 asks of a new congestion control, measured: the table of docs/results/rfc9743.md.

    python3 docs/results/rfc9743.py target/release/pcc-lab COMMIT >docs/results/rfc9743.md
"""
import json
import shlex
import statistics
import subprocess
import sys

# Section, what it asks, the path and senders as `pcc-lab sim` reads them, and which flows are told.
ROWS = [
    ("5.1.1", "no congestion collapse: twenty senders on 10 Mbit/s", "--link rate=10Mbit,rtt=50ms,buffer=62KB --flows 'pcc*20' --time-limit 60s", "all"),
    ("5.1.1", "the same, CUBIC", "--link rate=10Mbit,rtt=50ms,buffer=62KB --flows 'cubic*20' --time-limit 60s", "all"),
    ("5.1.2", "no bufferbloat: one sender, four BDP of buffer", "--link clean,buffer=4bdp --flows pcc --time-limit 30s", "first"),
    ("5.1.2", "the same, CUBIC", "--link clean,buffer=4bdp --flows cubic --time-limit 30s", "first"),
    ("5.1.3", "no high loss: one sender, a tenth of a BDP of buffer", "--link clean,buffer=37KB --flows pcc --time-limit 30s", "first"),
    ("5.1.3", "the same, ten senders", "--link clean,buffer=37KB --flows 'pcc*10' --time-limit 30s", "all"),
    ("5.1.3", "the same, CUBIC", "--link clean,buffer=37KB --flows 'cubic*10' --time-limit 30s", "all"),
    ("5.1.4", "fair to itself: four senders, one a second", "--link clean --flows 'pcc*4:stagger=1s' --time-limit 60s", "all"),
    ("5.1.4", "RTTs of 20 and 100 ms", "--link rate=100Mbit,rtt=20ms,buffer=1bdp --flows 'pcc pcc:rtt=+80ms' --time-limit 60s", "both"),
    ("5.1.5", "a short flow of 100 kB on an empty path", "--link rate=15Mbit,rtt=60ms,buffer=112KB --flows pcc:size=100kB --time-limit 10s", "first"),
    ("5.1.5", "the same, CUBIC", "--link rate=15Mbit,rtt=60ms,buffer=112KB --flows cubic:size=100kB --time-limit 10s", "first"),
    ("5.2.1", "beside CUBIC, one BDP", "--link clean --flows 'pcc cubic' --time-limit 60s", "both"),
    ("5.2.1", "beside Reno, one BDP", "--link clean --flows 'pcc reno' --time-limit 60s", "both"),
    ("5.2.1", "beside BBR, one BDP", "--link clean --flows 'pcc bbr' --time-limit 60s", "both"),
    ("5.2.1", "CUBIC that comes second, four BDP", "--link clean,buffer=4bdp --flows 'pcc cubic:start=5s' --time-limit 60s", "both"),
    ("5.2.2", "a call beside a transfer", "--link rate=20Mbit,rtt=40ms,buffer=100KB --flows 'media pcc' --time-limit 30s", "frames"),
    ("5.2.2", "the same call beside CUBIC", "--link rate=20Mbit,rtt=40ms,buffer=100KB --flows 'media cubic' --time-limit 30s", "frames"),
    ("5.2.3", "a short flow beside a long one", "--link clean --flows 'pcc pcc:start=5s:size=1MB' --time-limit 20s", "last"),
    ("5.2.3", "the same beside a CUBIC", "--link clean --flows 'cubic pcc:start=5s:size=1MB' --time-limit 20s", "last"),
    ("7.1", "AQM: CoDel with ECN", "--link rate=40Mbit,rtt=40ms,buffer=1MB --queue codel --ecn --flows pcc --time-limit 30s", "first"),
    ("7.1", "AQM: RED", "--link rate=40Mbit,rtt=40ms,buffer=1MB --queue red --flows pcc --time-limit 30s", "first"),
    ("7.2", "circuit breaker: a policer of 10 Mbit/s", "--link clean --policer 10Mbit:64kB --flows pcc --time-limit 30s", "first"),
    ("7.3", "varying delay: Wi-Fi that stops for milliseconds", "--link rate=20Mbit,rtt=10ms,buffer=1MB,wifi=2ms --flows pcc --time-limit 30s", "first"),
    ("7.3", "the same, CUBIC", "--link rate=20Mbit,rtt=10ms,buffer=1MB,wifi=2ms --flows cubic --time-limit 30s", "first"),
    ("7.4", "constrained devices: 250 kbit/s, 5 % of loss", "--link rate=250kbit,rtt=200ms,buffer=6KB,loss=5% --flows pcc --time-limit 120s", "first"),
    ("7.5", "satellite", "--link satellite --flows pcc --time-limit 100s", "first"),
    ("7.7", "extreme reordering: 30 % of packets by up to 60 ms", "--link clean,reorder=30%:60ms --flows pcc --time-limit 30s", "first"),
    ("7.7", "the same, BBR", "--link clean,reorder=30%:60ms --flows bbr --time-limit 30s", "first"),
    ("7.8", "transient events: a CUBIC for ten seconds", "--link clean --flows 'pcc cubic:start=10s:stop=20s' --time-limit 40s", "first"),
    ("7.9", "sudden changes: the rapidly changing path", "--link changing --flows pcc --time-limit 100s", "first"),
    ("7.11", "data centre: 33 senders of 256 kB, 100 µs", "--link rate=1Gbit,rtt=100us,buffer=64KB --flows 'pcc*33:size=256kB' --time-limit 5s", "all"),
]


def runs(lab, arguments):
    """The runs of three seeds."""
    command = [lab, "sim", *shlex.split(arguments), "--seed", "1,2,3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["runs"]


def median(values, digits=2):
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.{digits}f}" if known else "–"


def told(flows, share=True):
    """Share, loss, queue and duration of one flow in each run."""
    parts = [f"share {median([flow['share'] for flow in flows])}"] if share else []
    parts.append(f"loss {median([100 * flow['loss'] for flow in flows])} %")
    parts.append(f"queue p95 {median([flow['rtt_added_p95_ms'] for flow in flows], 1)} ms")
    if all(flow["finished_s"] is not None for flow in flows):
        parts = [f"done after {median([flow['finished_s'] for flow in flows])} s", parts[-2]]
    return ", ".join(parts)


def result(kind, all_runs):
    if kind == "first":
        return told([run["flows"][0] for run in all_runs])
    if kind == "last":
        return told([run["flows"][-1] for run in all_runs])
    if kind == "both":
        return "; ".join(f"{all_runs[0]['flows'][place]['flow']}: {told([run['flows'][place] for run in all_runs])}" for place in (0, 1))
    if kind == "frames":
        frames = [run["flows"][0] for run in all_runs]
        mean, largest = (median([flow[f"frame_delay_{name}_ms"] for flow in frames], 0) for name in ("mean", "largest"))
        return f"frame delay: mean {mean} ms, largest {largest} ms; the other's share {median([run['flows'][1]['share'] for run in all_runs])}"
    loss = [statistics.mean(flow["loss"] for flow in run["flows"]) * 100 for run in all_runs]
    finished = [max(flow["finished_s"] or 0 for flow in run["flows"]) for run in all_runs]
    done = f", all done after {median(finished, 3)} s" if all(flow["finished_s"] for run in all_runs for flow in run["flows"]) else ""
    jain = "" if done else f", Jain over 1 s {median([run['jain_1s'] for run in all_runs])}"
    return f"share of all {median([run['share'] for run in all_runs])}, loss {median(loss)} %{jain}{done}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lab, commit = sys.argv[1:]
    print(__doc__.split("\n")[0].replace(": the table of docs/results/rfc9743.md.", "").replace("What", "# What", 1))
    print(f"""
[RFC 9743](https://www.rfc-editor.org/rfc/rfc9743) lists the questions that a new congestion control has to answer. Each row is one of
them, with the command that answers it: `pcc-lab sim` and what the column says. Figures are medians of three seeds in virtual
time, and the law is that of commit {commit}. Made by

```sh
python3 docs/results/rfc9743.py target/release/pcc-lab COMMIT >docs/results/rfc9743.md
```

Senders are PCC with the default utility `fair` unless the row names another. A share is goodput over the path's rate. `pcc-lab sim score`
has the promises, with more seeds and with peers in the same run.

| section | question | `pcc-lab sim` | result |
|---|---|---|---|""")
    for section, question, arguments, kind in ROWS:
        print(f"| {section} | {question} | `{arguments}` | {result(kind, runs(lab, arguments))} |", flush=True)
    print("""
## Without a command

| section | question | answer |
|---|---|---|
| 5.1.1 | full back-off | a silent path is sent at most two packets an RTT, and half as often with each RTT of silence (`crates/core/src/pcc/silence.rs`) |
| 5.3.1 | difference from the principles of RFC 2914 | a loss that does not answer to the rate does not lower it. `safe` has a cap of 5 % of loss, `fair` has none |
| 5.3.2 | incremental deployment | only the sender changes. Receivers are any QUIC or TCP |
| 7.6 | misbehaving nodes | a receiver that acknowledges early gets more, as with every sender-side control. QUIC's transports skip packet numbers against it |
| 7.10 | multipath | each path of a QUIC connection has a controller of its own. Coupling is not built |""")


if __name__ == "__main__":
    main()
