"""python -m tests.faults: the fault cases, once or many times, and a table of what came of them.

Cases that need a cluster use the one that KFV_TEST_KUBECONFIG names, on which nothing else may run; without it, one of
their own. `--table FILE...` prints the table of records that `--record` wrote, and runs nothing. Other options are
pytest's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.faults.tally import Ran, render, summarize
from tests.places import ROOT


def main(arguments: list[str]) -> int:
    """Exit code of pytest; 1 also when something was left behind or took too long."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(f"{__doc__}\nOptions: --times N, --case N (repeatable), --minutes M, --record FILE\n")
        return 0
    if arguments[:1] == ["--table"]:
        lines = [line for file in arguments[1:] for line in Path(file).read_text("utf-8").splitlines()]
        sys.stdout.write(render(summarize(Ran(**json.loads(line)) for line in lines)) + "\n")
        return 0
    plugins = ["-p", "tests.faults.soak", "-p", "no:cacheprovider"]
    places = [] if names_tests(arguments) else [str(ROOT / "tests")]
    return int(pytest.main([*plugins, "-m", "fault", "-q", *places, *arguments]))


def names_tests(arguments: Sequence[str]) -> bool:
    """Whether a place of tests is among the arguments; the record of a former run is none."""
    values = {second for first, second in pairwise(arguments) if first.startswith("-")}
    return any(Path(word.partition("::")[0]).exists() for word in arguments if word not in values)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
