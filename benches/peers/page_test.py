#!/usr/bin/env python3
"""Is the page what was measured, and does the gate notice a loss?"""
import json, os, re, tempfile, unittest
import page


def record(name, seconds, dataset="raw", foreign=0.0, cpu=None, checksum="1", peak=100 << 20):
    return dict(set="read", op="read_all", dataset=dataset, threads=2, regions=None, name=name, seconds=seconds, cpu=cpu or seconds, foreign=foreign, checksum=checksum, peak_rss=peak)


def rounds(old, new, **more):
    return [r for o, n in zip(old, new) for r in (record("old", [o]), record("new", [n], **more))]


class Gate(unittest.TestCase):
    def failures(self, rows):
        return page.gate(rows, 1.05)[1]

    def test_equal_builds_pass(self):
        self.assertEqual(self.failures(rounds([1, 1.1, 0.9, 1, 1], [1.02, 1, 0.95, 1, 1.01])), [])

    def test_a_slower_build_fails(self):
        found = self.failures(rounds([1, 1.1, 0.9, 1, 1], [1.1, 1.2, 1, 1.08, 1.1]))
        self.assertEqual(len(found), 1)
        self.assertIn("read: raw: 1.100 times the time", found[0])

    def test_disturbed_rounds_do_not_fail(self):
        self.assertEqual(self.failures(rounds([1, 1, 1, 1, 1], [1.5, 1.5, 1.06, 0.99, 0.98])), [])

    def test_processor_time_decides_on_a_busy_machine(self):
        rows = [record(n, [wall], foreign=0.6, cpu=[cpu]) for n, wall, cpu in [("old", 1, 1), ("new", 1, 1.2)] * 4]
        self.assertIn("1.200 times the time", self.failures(rows)[0])
        self.assertIn("| CPU | 0.60 |", page.gate(rows, 1.05)[0])

    def test_memory_results_and_errors_fail(self):
        self.assertIn("times the memory", self.failures(rounds([1, 1], [1, 1], peak=120 << 20))[0])
        self.assertIn("different results", self.failures(rounds([1, 1], [1, 1], checksum="2"))[0])
        self.assertIn("broken", self.failures([record("old", [1]), dict(record("new", []), error="broken")])[0])


class Page(unittest.TestCase):
    def test_the_page_is_what_the_summaries_say(self):
        with open(page.PAGE) as file:
            text = file.read()
        made = page.with_parts(text, page.committed())
        self.assertEqual(made, text, "run benches/peers/run.py --page")

    def test_a_run_becomes_medians_with_their_spread(self):
        lines = [dict(set="machine", what="a machine", copy=[10.0, 20.0], pages="madvise")]
        lines += [record("ours", [1, 3, 2]), record("ours", [50], foreign=0.5), record("limit", [1]), record("limit-vec", [4]), record("zarrs", [3]), record("zarr-python-fused", [8])]
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "run.jsonl")
            with open(name, "w") as file:
                file.writelines(json.dumps(r) + "\n" for r in lines)
            first = page.summarise(name)
        self.assertIn("| a machine | 10.0, 20.0 | madvise | 0.0 |", page.machines([first]))
        self.assertIn("| raw | 2.0000 | 1.0000 to 3.0000 | 2.00 | 0.50 | 1.50 | zarrs | 4.00 | 100 |", page.tables([first]))
        self.assertIn("| read raw | 2.000 | 2.00 | 1.50 | zarrs | 100 |", page.rows([first]))
        # Of two runs, what was worse for us: here the second's lead, the first's seconds and multiple of the limit.
        second = json.loads(page.dumped(first))
        second["rows"][0].update(seconds=1, others={"limit": 1.0, "tensorstore": 0.9})
        self.assertIn("| raw | 2.0000 | 1.0000 to 3.0000 | 2.00 | 0.50 | 0.90 | tensorstore | 4.00 | 100 |", page.tables([first, second]))
        del second["machine"]["copy"]
        self.assertIn("| a machine | not kept | madvise | 0.0 |", page.machines([second]))
        said = page.summary([first, second])
        self.assertIn("the best peer is faster in 1, and within a tenth in 0 more", said)
        self.assertIn("| Read all, 2 threads | 1 | 2.00 | 0.90 | raw (tensorstore, 0.90) |", said)

    def test_far_rows_stand_beside_their_model(self):
        def far(name, seconds, requests, dataset="zstd", model=None):
            server = dict(requests=requests, max_in_flight=64)
            return record(name, [seconds], dataset) | dict(set="far", op="far_all", variant="20ms 10000M", server=server, model=model)

        lines = [dict(set="machine"), *(far("ours", s, 517, model=0.4) for s in (0.5, 0.4, 0.3)), far("tensorstore", 0.6, 513), far("ours", 1.2, 70, "big_shard", 1.0)]
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "run.jsonl")
            with open(name, "w") as file:
                file.writelines(json.dumps(r) + "\n" for r in lines)
            summary = json.loads(page.dumped(page.summarise(name)))
        self.assertIn("| zstd, all | 0.40 | 517 | 100 | 1.50 | tensorstore |", page.remote([summary]))
        made = page.far([summary])
        self.assertIn("| zstd, all | 0.400 | 517 | 64 | 100 | 1.00 | 1.50 | tensorstore | 513 | 100 | 0.00 |", made)
        self.assertIn("| big_shard, all | 1.200 | 70 | 64 | 100 | 1.20 | - | - | - | - | 0.00 |", made)
        self.assertNotIn("no measurement", made)
        summary["far"][0]["foreign"] = 0.3
        self.assertIn("The times of 1 rows are no measurement", page.far([summary]))
        self.assertIn("1 of 2 rows are within 1.15 of the model. Not: big_shard, all (1.20).", made)


if __name__ == "__main__":
    unittest.main()
