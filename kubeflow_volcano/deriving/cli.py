"""`kubeflow-volcano catalog derive SOURCE`: an entry of the catalog from upstream's files.

Exit codes: 0 the entry was written, 2 the source or an argument cannot be used.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kubeflow_volcano.catalog import data, read
from kubeflow_volcano.catalog.edges import steps_between
from kubeflow_volcano.catalog.model import Component, version_key
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deriving.entry import judged_text, text_of, yaml_text
from kubeflow_volcano.deriving.operator import FOLDER, PATH, derive_operator
from kubeflow_volcano.deriving.release import (
    EXAMPLE,
    Derived,
    built,
    derive_release,
    judgement,
    opened,
    remotes_of,
    wanted_paths,
)
from kubeflow_volcano.deriving.single import (
    PLUGINS,
    SINGLE,
    Single,
    changed,
    derive_single,
    in_tree,
    kind_of,
    objects_of,
)
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.manifests.archives import is_archive
from kubeflow_volcano.text import print_for_programs

_JUDGED = ("kubernetes",)
"""Fields of a component with one manifest that its manifest does not say."""


_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+(?:-[a-z0-9.-]+)?")
"""As the schema of entries has it."""


class _Entry(NamedTuple):
    """An entry that was derived: its folder and version, both parts, and what its report says."""

    folder: str
    version: str
    derived: Mapping[str, Any]
    judged: Mapping[str, Any]
    like: str
    changes: Sequence[str]


def main(arguments: Sequence[str], program: str = "kubeflow-volcano catalog") -> int:
    """Run one command; returns its exit code.

    Raises:
        SystemExit: help was printed, or an argument is wrong.
    """
    asked = _parser(program).parse_args(arguments)
    try:
        if own := _own(asked.catalog):
            data.add(own)
        _write(_entry_of(asked), asked.catalog)
    except InvalidInput as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        data.add(None)
    return 0


def _own(catalog: Path | None) -> Path | None:
    """A directory that has entries of the user; None for one that is yet to be, and for the catalog's own."""
    return catalog if catalog and catalog.is_dir() and catalog.resolve() != data.HOME.resolve() else None


def _write(entry: _Entry, catalog: Path | None) -> None:
    """Into a directory of the user, or to standard output; what to judge goes to standard error."""
    path = catalog / entry.folder / f"{entry.version}.yaml" if catalog else None
    ours = data.HOME / entry.folder / f"{entry.version}.yaml"
    if path and ours.is_file() and path.resolve() != ours.resolve():
        raise InvalidInput.problem(
            f"{entry.folder}/{entry.version}, which the catalog has.",
            "a version that it lacks: entries of the catalog are never replaced.",
            f"use that entry; or name yours with --version, such as --version {entry.version}-own.",
        )
    if path and path.is_file():
        judged = judged_text(path.read_text("utf-8"))
    else:
        judged = yaml_text(entry.judged, [f"To be judged: as in {entry.like}, which this entry was derived like."])
    text = text_of(judged, entry.derived)
    if path is None:
        print_for_programs()
        sys.stdout.write(text)
    else:
        data.checked(text.encode(), data.FOLDERS[entry.folder], str(path))
        try:
            write_file(path, text)
        except OSError as error:
            raise InvalidInput.problem(
                f"{path}: {error.strerror}.", "a directory that this user may write to.", "correct --catalog."
            ) from error
    sys.stderr.writelines(f"{line}\n" for line in _report(entry, path, read_yaml(judged) or {}))


def _parts(folder: str, record: Mapping[str, Any]) -> Mapping[str, Component]:
    """The components of a record, by name."""
    if folder == "releases":
        return read.decode_release(record).components
    return {record["name"]: read.decode_component(record)}


def _report(entry: _Entry, path: Path | None, judged: Mapping[str, Any]) -> Iterator[str]:
    whole = data.merged([judged, entry.derived])
    yield f"{entry.folder}/{entry.version}: derived{f', in {path}' if path else ''}."
    yield f"Compared with {entry.like}:"
    yield from (f"  {line}" for line in entry.changes or ["the same"])
    yield from _upgrade(entry, whole)
    yield "To be judged by a person:"
    yield from (f"  {name}: {_short(value)}" for name, value in judged.items())


def _upgrade(entry: _Entry, whole: Mapping[str, Any]) -> Iterator[str]:
    old, origin = _parts(entry.folder, data.load(f"{entry.folder}/{entry.like}")), entry.like
    try:
        new = _parts(entry.folder, whole)
        if version_key(entry.like) > version_key(entry.version):
            old, new, origin = new, old, f"{entry.version} to {entry.like}"
        steps = [*steps_between(old, new)]
    except InvalidInput as error:
        yield "To be corrected before it can be used:"
        yield from (f"  {problem}" for problem in error.problems)
        return
    brings = ":" if steps else " nothing that a person has to know."
    yield f"By both entries, an upgrade from {origin} brings{brings}"
    yield from (f"  {step.title}. {step.consequence}" for step in steps)


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 100 else f"{text[:100]}…"  # noqa: PLR2004  a line


def _entry_of(asked: argparse.Namespace) -> _Entry:
    """By what SOURCE is: the tree of a release or of a component, as a directory or an archive, or a manifest."""
    if asked.version and not _VERSION.fullmatch(asked.version):
        needed = "numbers with dots, and a suffix behind a hyphen at most, such as 1.16.1 or 1.16.1-own."
        raise InvalidInput.problem(f"--version {asked.version}.", needed, "correct --version.")
    if not (asked.source.is_dir() or (asked.source.is_file() and is_archive(asked.source))):
        raw, objects = objects_of(asked.source)
        if kind := kind_of(objects):
            return _of_manifest(kind, raw, objects, asked)
        found = f"{asked.source} is the manifest of no component that has entries of its own."
    else:
        with opened(asked.source) as root:
            if (root / EXAMPLE).is_file():
                return _of_release(root, asked)
            if (root / PATH).is_dir():
                return _of_operator(root, asked)
            if tree := in_tree(root):
                return _of_manifest(*tree, asked, _version_in(root, asked.source))
        found = f"{asked.source} has neither {EXAMPLE} nor the manifest of a component."
    raise InvalidInput.problem(
        found,
        f"a release of Kubeflow, the repository or manifest of {', '.join(item.title for item in SINGLE)}, or the "
        "repository of the training operator.",
        "correct SOURCE.",
    )


def _of_manifest(
    kind: Single, raw: bytes, objects: Sequence[Object], asked: argparse.Namespace, named: str = ""
) -> _Entry:
    """`named` is the version that its tree is named by, which counts where images tell none."""
    derived = derive_single(kind, raw, objects, asked.version, named)
    version = derived["version"]
    like = _like(kind.folder, asked.like, version)
    model = data.load(f"{kind.folder}/{like}")
    changes = changed(derived, model)
    if derived["address"] is None and kind is not PLUGINS:
        changes.append(f"address: none, as it is not upstream's; set {kind.folder}_source to the manifest")
    judged = {name: model.get(name) for name in _JUDGED if name not in derived}
    return _Entry(kind.folder, version, derived, judged, like, changes)


def _of_release(root: Path, asked: argparse.Namespace) -> _Entry:
    variables = {"kustomize_binary": asked.kustomize}
    if own := _own(asked.catalog):
        variables["catalog_directory"] = str(own)
    given = dict(item.split("=", 1) for item in asked.remote if "=" in item)
    version = asked.version or _version_in(root, asked.source)
    if not version:
        nameless = f"{asked.source}, whose name has no version."
        raise InvalidInput.problem(nameless, "the version of the release.", "name it with --version VERSION.")
    like = _like("releases", asked.like, version)
    paths = wanted_paths(root, like)
    remotes = remotes_of(root, paths, like, given)
    found = derive_release(root, like, built(root, paths, like, remotes, variables))
    judged = judgement(found, version, like, remotes)
    return _Entry("releases", version, found.record, judged, like, [*_changes(found, like)])


def _of_operator(root: Path, asked: argparse.Namespace) -> _Entry:
    named = asked.version or _version_in(root, asked.source)
    derived = derive_operator(root, named, {"kustomize_binary": asked.kustomize})
    like = _like(FOLDER, asked.like, derived["version"])
    model = data.load(f"{FOLDER}/{like}")
    judged = {name: model.get(name) for name in ("kubernetes", "requires")}
    return _Entry(FOLDER, derived["version"], derived, judged, like, changed(derived, model))


def _changes(found: Derived, like: str) -> Iterator[str]:
    model = {item["name"]: item for item in data.load(f"releases/{like}")["components"]}
    for name in found.new:
        yield f"{name}: new; give it the name and title that it is to have, and what it requires"
    for name in found.gone:
        yield f"{name}: no longer there"
    for item in found.record["components"]:
        if old := model.get(item["name"]):
            for line in changed({**item, "version": ""}, {**old, "version": ""}):
                yield f"{item['name']}: {line}"
            if item["path"] != old["path"]:
                yield f"{item['name']}: path {item['path']}, was {old['path']}"
    for name, lacking in found.missing.items():
        yield f"{name}: requires {', '.join(lacking)}, too, by the kinds and namespaces that it uses"


def _version_in(root: Path, source: Path) -> str:
    """The version in the name of a tree, else in that of its archive; empty without one."""
    for name in (root.resolve().name, re.sub(r"\.(tar|tgz|tar\.[a-z0-9]+)$", "", source.name)):
        if match := re.search(r"(?:^|-)v?([0-9]+(?:\.[0-9]+)+(?:-[a-z0-9.]+)?)$", name):
            return match[1]
    return ""


def _like(folder: str, like: str, version: str) -> str:
    """The version that judgements are taken from: the one that is named, else the last before this, if there is one."""
    known = [name for name in data.versions(folder) if name != version]
    if like and like not in known:
        raise InvalidInput.problem(
            f"--like {like}, which the catalog lacks.", f"one of {', '.join(known)}.", "correct --like."
        )
    before = [name for name in known if version_key(name) <= version_key(version)]
    return like or (before or known[:1])[-1]


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program, description="Entries of the catalog from upstream's files.", allow_abbrev=False
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser(
        "derive",
        help="make the entry of a version that is not listed",
        description="Make the entry of a version from upstream's files. What was judged in an existing entry stays.",
        allow_abbrev=False,
    )
    one.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="archive or directory of a release of Kubeflow, or of the repository of the training operator, Volcano, "
        "the local path provisioner or scheduler-plugins; or a manifest of one of the last three",
    )
    one.add_argument("--like", default="", metavar="VERSION", help="judge as it does; default: the last before this")
    one.add_argument(
        "--catalog", type=Path, metavar="DIRECTORY", help="directory to write the entry into; default: standard output"
    )
    one.add_argument(
        "--version", default="", metavar="VERSION", help="name it so; default: the version of images or directory"
    )
    one.add_argument(
        "--remote",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="what a release takes from elsewhere, such as argo-workflows=FILE; repeatable",
    )
    one.add_argument("--kustomize", default="", metavar="FILE", help="kustomize to build a release with")
    return parser
