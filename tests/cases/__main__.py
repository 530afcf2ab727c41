"""The cases from the field.

    python -m tests.cases [--table] [WORD …]

Asks about the cases in whose name a word is, without a cluster, and prints what is wrong with the answers; with
--table the page about all of them, which `make generate` writes to docs/cases.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.cases.asking import answer_of
from tests.cases.case import cases, looks
from tests.cases.table import rendered


def main(arguments: Sequence[str]) -> int:
    """Print; returns 1 if an answer is wrong that its case does not call open."""
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", action="store_true", help="print the page")
    parser.add_argument("words", nargs="*", metavar="WORD")
    given = parser.parse_args(arguments)
    if given.table:
        sys.stdout.write(rendered(cases()))
        return 0
    wrong = False
    for name, look in looks(on_cluster=False).items():
        if all(word not in name for word in given.words or [""]):
            continue
        try:
            missed = look.right.missed_by(answer_of(look))
        except AssertionError as error:
            missed = [str(error)]
        wrong |= bool(missed) != bool(look.open)
        sys.stdout.write(f"{name}: {'; '.join(missed) or 'right'}{' (open)' if look.open else ''}\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
