"""Plots two senders on a satellite path, and a utility: `python plot.py OUTPUT.png`."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import pcc

run = {name: pcc.simulate("satellite", name, duration_s=60) for name in ("pcc", "cubic")}
figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), layout="constrained")
for name, simulation in run.items():
    series = simulation.series()
    top.plot(series.time_s, series.goodput_mbit, label=f"{name}, {simulation.goodput_mbit(start_s=30):.1f} Mbit/s after 30 s")
top.set(title="satellite: 42 Mbit/s, 800 ms, 0.74 % loss, buffer of 5 packets", xlabel="s", ylabel="goodput, Mbit/s")
top.legend()

rates = [rate / 2 for rate in range(1, 300)]
for queue_ms in (0, 10, 30):
    values = pcc.evaluate_utility("fair", rates, "clean", queue_ms=queue_ms)
    bottom.plot(rates, [float("nan") if value is None else value for value in values], label=f"queue of {queue_ms} ms")
bottom.set(title="utility `fair` of a lone sender on 100 Mbit/s, 30 ms", xlabel="rate, Mbit/s", ylabel="utility")
bottom.legend()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "pcc.png", dpi=120)
