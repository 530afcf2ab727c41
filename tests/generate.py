"""Everything in the checkout that follows from something else in it.

    python -m tests.generate [--check]

`make generate` writes what is not up to date, and `git diff` is what is reviewed. With --check (`make lint`) nothing is
written; what is not up to date is listed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gang_demo.catalogue import CASES
from kubeflow_volcano.catalog import data, read
from kubeflow_volcano.catalog.kinds import fields
from kubeflow_volcano.deriving.entry import judged_text, text_of
from kubeflow_volcano.deriving.fields import definitions_in, fields_of
from kubeflow_volcano.deriving.single import PLUGINS, PROGRAMS, SINGLE, derive_single, kept_objects, objects_of
from kubeflow_volcano.validators.cli import manual
from kubeflow_volcano.validators.report.document import MANUAL
from tests import arguments, messages, variables
from tests.archives import Again, archive_of, derived_again, manifest_of
from tests.cases import table as cases
from tests.kustomize_tool import kustomize_of
from tests.pages import examples, releases, scenarios
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
    """What is derived in the catalog's entries, of those whose sources are at hand."""
    for kind in SINGLE:
        for version in data.versions(kind.folder):
            manifest = manifest_of(kind.name, version)
            if kind is PLUGINS:
                derived = derive_single(kind, b"", kept_objects(f"{kind.images}{name}:v{version}" for name in PROGRAMS))
            elif manifest.is_file():
                derived = derive_single(kind, *objects_of(manifest))
            else:
                sys.stderr.write(f"{kind.name} {version}: not derived again, no {manifest}\n")
                continue
            yield _entry(f"{kind.folder}/{version}", derived)


def _releases() -> Texts:
    """Likewise, of the entries of releases."""
    for version in read.releases():
        archive = archive_of(version)
        if archive.is_file():
            yield _entry(f"releases/{version}", _again(version).found.record)
        else:
            sys.stderr.write(f"release {version}: not derived again, no {archive}\n")


@cache
def _again(version: str) -> Again:
    return derived_again(version, version, kustomize_of("1.30"))  # releases of all times build with it


def _fields() -> Texts:
    """The fields of the kinds of all releases, where everything that they were derived of is at hand."""
    plugins = definitions_in(kept_objects(()))
    found = {"scheduler-plugins": plugins}
    for version in data.versions("volcano"):
        if (manifest := manifest_of("volcano", version)).is_file():
            found[f"volcano {version}"] = definitions_in(objects_of(manifest)[1])
    for version in read.releases():
        if archive_of(version).is_file():
            found[f"release {version}"] = definitions_in(_again(version).objects)
    if missing := {*fields.sources()} - found.keys():
        sys.stderr.write(f"{fields.FILE}: not derived again, without {', '.join(sorted(missing))}\n")
    else:
        yield Path(f"kubeflow_volcano/catalog/{fields.FILE}"), fields_of(found)


def _entry(name: str, derived: Mapping[str, Any]) -> tuple[Path, str]:
    path = Path(f"kubeflow_volcano/catalog/{name}.yaml")
    return path, text_of(judged_text((ROOT / path).read_text(encoding="utf-8")), derived)


def _catalog() -> Texts:
    yield releases.DOCUMENT, releases.render()
    for front, heads in releases.FRONT_PAGES.items():
        yield front, releases.with_versions((ROOT / front).read_text(encoding="utf-8"), heads)


def _scenarios() -> Texts:
    directory = Path(scenarios.DIRECTORY)
    outcomes = (ROOT / directory / "outcomes.json").read_text(encoding="utf-8")
    yield Path(scenarios.PAGE), scenarios.render(json.loads(outcomes))
    for name, (text, _) in scenarios.manifests(CASES).items():
        yield directory / name, text


def _examples() -> Texts:
    yield Path(examples.PAGE), examples.with_table((ROOT / examples.PAGE).read_text(encoding="utf-8"))


def _versions() -> Texts:
    for name, text in versions.texts(versions.version()):
        yield Path(name), text


GENERATORS: Sequence[Callable[[], Texts]] = (
    _versions,
    variables.generated,
    arguments.generated,
    _checks,
    _entries,
    _releases,
    _fields,
    _catalog,
    _scenarios,
    _examples,
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
