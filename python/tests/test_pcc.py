"""The package as it is installed."""

import pathlib
import re
import tempfile
import unittest

import pcc

TRACES = pathlib.Path(__file__).parents[2] / "docs" / "traces"
LOSSY = "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB"


class Simulations(unittest.TestCase):
    def test_pcc_keeps_its_rate_where_cubic_does_not(self):
        alone = pcc.simulate(LOSSY, "pcc", duration_s=20)
        cubic = pcc.simulate(LOSSY, "cubic", duration_s=20)
        self.assertGreater(alone.share(start_s=10), 0.85)
        self.assertLess(cubic.share(start_s=10), 0.4)
        self.assertAlmostEqual(alone.loss(), 0.01, delta=0.005)
        self.assertLess(alone.added_rtt_ms(quantile=0.5), 15)

    def test_equal_arguments_give_equal_results(self):
        first, second = (pcc.simulate("wifi", "pcc*2", duration_s=5, seed=7) for _ in range(2))
        self.assertEqual(first.series(1).rate_mbit, second.series(1).rate_mbit)
        self.assertNotEqual(first.series(0).rate_mbit, first.series(1).rate_mbit)

    def test_a_series_has_lists_of_equal_length(self):
        series = pcc.simulate("satellite", "pcc/scavenger", duration_s=10).series()
        lengths = {len(getattr(series, name)) for name in ("time_s", "rate_mbit", "goodput_mbit", "rtt_ms", "state")}
        self.assertEqual(lengths, {100})
        self.assertIn("Starting", series.state)

    def test_flows_have_names(self):
        self.assertEqual(pcc.simulate(LOSSY, "pcc cubic 5Mbit", duration_s=1).flows, ["pcc/fair", "cubic", "5 Mbit/s"])

    def test_what_cannot_be_read_is_refused_with_its_reason(self):
        for wrong, arguments in [
            ("rate", {"path": "rate=fast,rtt=30ms"}),
            ("quick", {"path": LOSSY, "flows": "quick"}),
            ("duration_s", {"path": LOSSY, "duration_s": -1}),
            ("duration_s", {"path": LOSSY, "duration_s": float("nan")}),
        ]:
            with self.assertRaisesRegex(ValueError, wrong):
                pcc.simulate(**arguments)
        with self.assertRaisesRegex(IndexError, "flow 3 of 1"):
            pcc.simulate(LOSSY, duration_s=1).loss(3)


class Utilities(unittest.TestCase):
    def test_fair_senders_settle_at_equal_shares(self):
        check = pcc.check_utility("fair", "rate=100Mbit,rtt=30ms,buffer=375KB", senders=[2])
        (settled,) = check.settled
        self.assertAlmostEqual(settled.rate_mbit, 50, delta=3)
        self.assertTrue(settled.fair)
        self.assertEqual((check.law, check.traps), ("ascent", []))

    def test_a_greedy_utility_has_traps(self):
        self.assertTrue(pcc.check_utility("x").traps)

    def test_an_expression_with_a_mistake_is_refused_with_its_place(self):
        with self.assertRaisesRegex(ValueError, "column"):
            pcc.check_utility("T - 10*x*")

    def test_utility_falls_behind_a_queue(self):
        (free,), (behind,) = (pcc.evaluate_utility("fair", [50.0], queue_ms=queue) for queue in (0.0, 20.0))
        self.assertGreater(free, behind)

    def test_every_name_is_a_utility(self):
        for name in pcc.utilities():
            try:
                self.assertTrue(pcc.check_utility(name).law)
            except ValueError as problem:
                self.assertIn("needs its", str(problem))


class Traces(unittest.TestCase):
    def test_every_trace_of_the_documents_can_be_read(self):
        for path in TRACES.glob("*.txt"):
            events = list(pcc.read_trace(path))
            self.assertTrue(any(isinstance(event, pcc.Decision) for event in events), path)
            self.assertTrue(any(isinstance(event, pcc.Interval) for event in events), path)

    def test_an_interval_has_its_numbers(self):
        first = next(event for event in pcc.read_trace(TRACES / "modem.txt") if isinstance(event, pcc.Interval))
        self.assertEqual((first.id, first.packets, first.rtt_ms, first.loss), (1, 18, 459.0, 0.0))

    def test_a_line_that_is_no_event_is_refused_with_its_number(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "trace.txt"
            path.write_text("# path clean\nnothing\n")
            with self.assertRaisesRegex(ValueError, "line 2"):
                list(pcc.read_trace(path))


class Stubs(unittest.TestCase):
    def test_each_name_of_the_package_has_a_stub_with_words(self):
        stub = (pathlib.Path(pcc.__file__).parent / "_pcc.pyi").read_text()
        for name in set(pcc.__all__) - {"Decision", "Interval", "read_trace"}:
            self.assertRegex(stub, rf"(?:class|def) {name}\b(?s:.)*?\"\"\"", name)
        for name in ("Settled", "Check", "Series"):
            members = {member for member in dir(getattr(pcc, name)) if not member.startswith("_")}
            body = re.search(rf"class {name}:(.*?)\n\n@final|class {name}:(.*)", stub, re.S).group(0)
            self.assertLessEqual(members, set(re.findall(r"^    (\w+):", body, re.M)), name)


if __name__ == "__main__":
    unittest.main()
