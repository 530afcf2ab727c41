"""python -m tests.healthy_runs: validate a healthy cluster again and again, and count every verdict that is no pass.

Not part of the tests, for it takes hours: with 200 runs it is the false-alarm rate that a release is held against. Give
it a cluster on which nothing is wrong and nobody works.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.runner import Options, validate

_QUIET = ("pass", "skip")


def main() -> int:
    """Run them; 1 when any of them found something, or left something behind."""
    parser = argparse.ArgumentParser(prog="python -m tests.healthy_runs", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--times", type=int, default=200, metavar="N", help="how many runs (200)")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M", help="begin none after so many")
    parser.add_argument("--select", action="append", default=[], metavar="CHECK", help="repeatable; default: all")
    given = parser.parse_args()
    options = Options(kubeconfig=given.kubeconfig, select=tuple(given.select), report_dir=None)
    verdicts: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    seconds: list[float] = []
    left, started, cpu = 0, time.monotonic(), time.process_time()
    for number in range(1, given.times + 1):
        if time.monotonic() - started > given.minutes * 60:
            break
        report = validate(options, silent)
        if report.interrupted:
            break
        verdicts[str(report.summary.verdict)] += 1
        seconds.append(report.seconds)
        left += len(report.cleanup.left) if report.cleanup else 0
        found = list(_findings(report))
        alarms.update(name for name, _ in found)
        _say(f"run {number} of {given.times}: {report.summary.verdict}, {report.seconds:.1f} s")
        for name, told in found:
            _say(f"  {name}: {told}")
    if not seconds:
        return 1
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    _say(f"{sum(verdicts.values())} runs: {told}; {left} objects left behind")
    each = (time.process_time() - cpu) / len(seconds)
    _say(f"  median {statistics.median(seconds):.1f} s, longest {max(seconds):.1f} s, {each:.1f} s of CPU each")
    for name, count in alarms.most_common():
        _say(f"  {count} x {name}")
    return int(bool(alarms or left))


def _findings(report: Report) -> list[tuple[str, str]]:
    return [
        (f"{item.check.id} {item.outcome.status} {item.outcome.reason}", item.outcome.message)
        for item in report.results
        if item.outcome.status not in _QUIET
    ]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
