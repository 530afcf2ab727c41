"""Everything in the checkout that follows from something else in it.

    python -m tests.generate [--check]

`make generate` writes what is not up to date, and `git diff` is what is reviewed. With --check (`make lint`) nothing is
written; what is not up to date is listed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gang_demo.catalogue import CASES
from gang_demo.show import page
from kubeflow_volcano.catalog import document, read
from kubeflow_volcano.deriving.entry import judged_text, text_of
from kubeflow_volcano.deriving.single import SINGLE, derive_single, objects_of
from kubeflow_volcano.validators.cli import manual
from kubeflow_volcano.validators.report.document import MANUAL
from tests import arguments, messages, variables
from tests.archives import manifest_of
from tests.cases import table as cases
from tests.pages.copies import translated_pages
from tests.places import ROOT
from tests.recorded import verdicts
from tests.release import versions

Texts = Iterator[tuple[Path, str]]
"""Paths in the checkout, and what they are to contain."""


def outdated() -> Texts:
    """The files that do not contain what they are to contain."""
    for generate in GENERATORS:
        for path, text in generate():
            place = ROOT / path
            if not place.exists() or place.read_text(encoding="utf-8") != text:
                yield path, text


def _checks() -> Texts:
    yield Path(MANUAL), manual.render()


def _entries() -> Texts:
    """What is derived in the catalog's entries, of those whose manifests are at hand."""
    for kind in SINGLE:
        for version in read.versions_of(kind.name):
            manifest = manifest_of(kind.name, version)
            if not manifest.is_file():
                sys.stderr.write(f"{kind.name} {version}: not derived again, no {manifest}\n")
                continue
            path = Path(f"kubeflow_volcano/catalog/{kind.folder}/{version}.yaml")
            judged = judged_text((ROOT / path).read_text(encoding="utf-8"))
            yield path, text_of(judged, derive_single(kind, *objects_of(manifest)))


def _catalog() -> Texts:
    yield document.DOCUMENT, document.render()
    for front, heads in document.FRONT_PAGES.items():
        yield front, document.with_versions((ROOT / front).read_text(encoding="utf-8"), heads)


def _scenarios() -> Texts:
    directory = Path(page.DIRECTORY)
    outcomes = (ROOT / directory / "outcomes.json").read_text(encoding="utf-8")
    yield Path(page.PAGE), page.render(json.loads(outcomes))
    for name, (text, _) in page.manifests(CASES).items():
        yield directory / name, text


def _versions() -> Texts:
    for name, text in versions.texts(versions.version()):
        yield Path(name), text


GENERATORS: Sequence[Callable[[], Texts]] = (
    _versions,
    variables.generated,
    arguments.generated,
    _checks,
    _entries,
    _catalog,
    _scenarios,
    messages.generated,
    translated_pages,
    verdicts.generated,
    cases.generated,
)
"""Each reads what those before it have written."""


def main(arguments: Sequence[str]) -> int:
    """Write or list the files; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.generate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; list what is not up to date")
    check = parser.parse_args(arguments).check
    found = False
    for path, text in outdated():
        found = True
        sys.stdout.write(f"{path}: not up to date, run `make generate`\n" if check else f"{path}\n")
        if not check:
            (ROOT / path).write_text(text, encoding="utf-8")
    return int(check and found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
