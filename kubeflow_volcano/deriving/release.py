"""Entries of Kubeflow releases: components and their order from upstream's own example, facts from what they build.

Names come from the entry that this one is derived like: a component is the one with the most workloads, kinds and
webhooks in common, with the same path or a similar one, else the one that follows the same neighbour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from kubeflow_volcano.catalog import data, read
from kubeflow_volcano.catalog.model import Component, RemoteBase, Source, version_key
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.decode import decode
from kubeflow_volcano.deriving.facts import facts_of
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rollout.desired import render_upstream
from kubeflow_volcano.rollout.manifests.archives import DAMAGED, is_archive, top_of, unpack
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations, kustomization_in
from kubeflow_volcano.rollout.manifests.trees import content_sum, file_sum
from kubeflow_volcano.rollout.settings.settings import parse

EXAMPLE = "example/kustomization.yaml"
"""Upstream's own list of what a release consists of, by which its archive is known."""

_ORDER = ("version", "source", "remote_sources", "remote_bases")
_LEAST_COMMON = 0.3
_SHARED_KIND = 0.4
_SAME_PATH = 0.5
_LEAST_ALIKE = 0.6
_GENERIC = frozenset(
    {"apps", "applications", "base", "common", "default", "installs", "kubeflow", "overlays", "upstream"}
)

_GITHUB = re.compile(
    r"(?:git::)?https://github\.com/(?P<owner>[^/]+)/(?P<name>[^/?]+?)(?:\.git)?"
    r"(?:/releases/download/(?P<tag>[^/]+)/(?P<file>.+)|/+(?P<path>[^?]*)\?(?:.*&)?ref=(?P<ref>[^&]+).*)$"
)

_KUSTOMIZE = re.compile(r"github\.com/kubernetes-sigs/kustomize/releases/tag/(?:kustomize(?:%2F|/))?v([0-9.]+[0-9])")

Record = Mapping[str, Any]


class Derived(NamedTuple):
    """The derived part of an entry; `names` of its components by path, and `new` ones that no other entry has.

    `versions` are those of its images, by component. `missing` are requirements that the objects of a component
    have beyond those of the entry that it was derived like. `kustomize` is the version that its README names, or empty.
    """

    record: dict[str, Any]
    names: Mapping[str, str]
    new: Sequence[str]
    gone: Sequence[str]
    versions: Mapping[str, str]
    missing: Mapping[str, Sequence[str]]
    content: str
    kustomize: str


@contextmanager
def opened(source: Path) -> Iterator[Path]:
    """The directory of an archive's content, for as long as it is used; a directory as it is.

    Raises:
        InvalidInput: the archive is not whole.
    """
    with TemporaryDirectory(prefix="kubeflow-volcano-derive-") as folder:
        root = source
        if source.is_file() and is_archive(source):
            try:
                unpack(source, Path(folder))
            except DAMAGED as error:
                problem = Problem(f"{source}: {error}.", "a whole archive.", "fetch it again.")
                raise InvalidInput(problem) from error
            root = top_of(Path(folder))
        yield root


def paths_of(root: Path, known: Sequence[str]) -> list[str]:
    """The paths of components in upstream's order. A list of other directories is its items, unless `known` has it."""
    found: list[str] = []
    for path in _resources(root, root / EXAMPLE):
        inside = _items(root, path)
        found += inside if path not in known and inside[1:] else [path]
    return found


def _items(root: Path, path: str) -> list[str]:
    """The directories that a kustomization lists and nothing else, but for patches; empty for one that does more."""
    file = kustomization_in(root / path)
    if file is None:
        return []
    content = read_yaml(file.read_bytes())
    if not isinstance(content, Mapping) or content.keys() - {"apiVersion", "kind", "patches", "resources"}:
        return []
    items = _resources(root, file)
    return items if all((root / item).is_dir() for item in items) else []


def _resources(root: Path, file: Path) -> list[str]:
    content = read_yaml(file.read_bytes()) or {}
    below = [(file.parent / item).resolve() for item in content.get("resources") or () if "://" not in str(item)]
    top = root.resolve()
    return [path.relative_to(top).as_posix() for path in below if path.is_relative_to(top)]


class Remotes(NamedTuple):
    """What kustomizations take from elsewhere, as fields of an entry, and where it is: paths by name."""

    sources: Sequence[Record]
    bases: Sequence[Record]
    given: Mapping[str, str]


def remotes_of(root: Path, paths: Sequence[str], like: str, given: Mapping[str, str]) -> Remotes:
    """The remote bases of these paths: as in `like` where only the tag is another one, else each as it is written.

    `given` are archives or directories by name of their repository, from which the sums come.

    Raises:
        InvalidInput: one is not on github.com, or nothing is given for it.
    """
    model = data.load(f"releases/{like}")
    known = {base["source"]: base for base in model.get("remote_bases", ())}
    old = {source["name"]: source for source in model.get("remote_sources", ())}
    read_once = Kustomizations()
    sources: dict[str, Record] = {}
    bases: dict[str, Record] = {}
    problems: list[Problem] = []
    for text in sorted({remote.text for path in paths for remote in read_once.remotes(root / path)}):
        match = _GITHUB.match(text)
        name = match["name"] if match else ""
        if not match or name not in {**given, **old}:
            needed = f"--remote {name or 'NAME'}=PATH with what is there."
            problems.append(Problem(f"a kustomization refers to {text}.", needed, "fetch it, and name it."))
            continue
        tag, repository = match["tag"] or match["ref"], f"{match['owner']}/{name}"
        sources[name] = _source_of(name, repository, tag, given.get(name, ""), old.get(name))
        base = known.get(name)
        path = match["file"] or match["path"].strip("/")
        prefix = re.sub(r"v[0-9]+(?:\.[0-9]+)+[^/?&]*", tag, base["prefix"]) if base else text
        bases[prefix] = {"prefix": prefix, "source": name, "path": path, **({} if base is None else _place(base))}
    if problems:
        raise InvalidInput(problems)
    return Remotes([*sources.values()], [*bases.values()], given)


def _place(base: Record) -> Record:
    return {key: base[key] for key in ("path", "images") if key in base}


def _source_of(name: str, repository: str, tag: str, given: str, old: Record | None) -> Record:
    address = f"https://github.com/{repository}/archive/refs/tags/{tag}.tar.gz"
    if old and old["address"] == address:
        return old
    found = {"name": name, "title": f"{repository} {tag}", "address": address}
    place = Path(given)
    if place.is_dir():
        return found | {"content_sha256": content_sum(place)}
    if place.is_file() and is_archive(place):
        with TemporaryDirectory(prefix="kubeflow-volcano-derive-") as folder:
            unpack(place, Path(folder))
            return found | {"content_sha256": content_sum(top_of(Path(folder)))}
    return found


def built(
    root: Path, paths: Sequence[str], like: str, remotes: Remotes, variables: Record
) -> dict[str, tuple[Object, ...]]:
    """The objects of each path, as a roll-out of the release `like` would build them.

    Raises:
        InvalidInput: `like` is unknown, or kustomize fails or is missing.
    """
    content = content_sum(root)
    settings = parse({**variables, "kubeflow_release": like, "kubeflow_source": f"{root}#content-sha256={content}"})
    release = settings.release
    parts = {
        path: Component(
            name=f"part-{number}", title=path, version=release.version, manifests=path, path=path, objects=1
        )
        for number, path in enumerate(paths)
    }
    draft = replace(
        release,
        source=replace(release.source, content_sha256=content, marker=None),
        components={part.name: part for part in parts.values()},
        joint_values=(),
        remote_sources=tuple(decode(Source, {"content_sha256": "", **item}) for item in remotes.sources),
        remote_bases=tuple(decode(RemoteBase, item) for item in remotes.bases),
    )
    settings = replace(settings, release=draft, sources={**settings.sources, **remotes.given})
    found, _ = render_upstream(settings, [*parts.values()], to_stderr())
    return {path: found[part.name] for path, part in parts.items()}


def derive_release(root: Path, like: str, objects: Mapping[str, Sequence[Object]]) -> Derived:
    """The derived part of an entry of these objects, by path in upstream's order.

    Raises:
        InvalidInput: `like` is unknown.
    """
    model = read.load_release(like)
    known = [*model.components.values()]
    facts = {path: facts_of(found) for path, found in objects.items()}
    names = matched(facts, known)
    new = [path for path in facts if path not in names]
    for path in new:
        names[path] = _new_name(path, {*names.values()})
    by_name = {name: path for path, name in names.items()}
    versions = {
        part.name: version
        for part in known
        if part.name in by_name and (version := _version(facts[by_name[part.name]], part))
    }
    record = {
        "source": {"marker": {"path": EXAMPLE, "sha256": file_sum(root / EXAMPLE)}},
        "components": [{"name": names[path], "path": path, **of} for path, of in facts.items()],
    }
    wanted = needs({names[path]: found for path, found in objects.items()})
    required = {
        name: {part.name for part in read.components(model, [name])} for name in wanted.keys() & model.components
    }
    missing = {
        name: lacking
        for name, found in wanted.items()
        if (lacking := [need for need in found if need not in required.get(name, ())])
    }
    gone = [part.name for part in known if part.name not in by_name]
    return Derived(
        record, names, [names[path] for path in new], gone, versions, missing, content_sum(root), _kustomize(root)
    )


def _kustomize(root: Path) -> str:
    readme = root / "README.md"
    found = _KUSTOMIZE.search(readme.read_text("utf-8", "replace")) if readme.is_file() else None
    return found[1] if found else ""


def matched(facts: Mapping[str, Record], known: Sequence[Component]) -> dict[str, str]:
    """Names of components by path, of those that are known."""
    names: dict[str, str] = {}
    pairs = sorted(
        (
            (score, path, part.name)
            for path, of in facts.items()
            for part in known
            if (score := _likeness(path, of, part)) >= _LEAST_COMMON
        ),
        reverse=True,
    )
    for _, path, name in pairs:
        if path not in names and name not in names.values():
            names[path] = name
    paths, order = [*facts], [part.name for part in known]
    for before, path in zip(["", *paths], paths, strict=False):
        if path in names:
            continue
        place = order.index(names[before]) + 1 if before in names else 0
        follower = next((part for part in known[place : place + 1] if part.name not in names.values()), None)
        if follower and not _identity_of(follower) and not _identity(facts[path]):
            names[path] = follower.name
    return names


def _likeness(path: str, of: Record, part: Component) -> float:
    same = _SAME_PATH if path == part.path else 0.0
    ours, theirs = _identity(of), _identity_of(part)
    if ours or theirs:
        common = len(ours & theirs) / len(ours | theirs)
        return same + (max(common, _SHARED_KIND) if {*of.get("crds", ())} & part.crds.keys() else common)
    ratio = SequenceMatcher(None, _words(path), _words(part.path)).ratio()
    return same + (ratio if ratio >= _LEAST_ALIKE else 0.0)


def _words(path: str) -> list[str]:
    return re.sub(r"-[0-9][-0-9]*(?=/)", "", path).split("/")


def _identity(of: Record) -> set[str]:
    """What a component is known by: workloads without their namespaces, kinds, webhooks."""
    return {
        *(name.rpartition("/")[2] for name in of.get("images", ())),
        *of.get("crds", ()),
        *(name.partition(" ")[2] for name in of.get("webhooks", ())),
    }


def _identity_of(part: Component) -> set[str]:
    return {*(ref.name for ref in part.workloads), *part.crds, *(ref.name for ref in part.webhooks)}


def _new_name(path: str, taken: set[str]) -> str:
    words = [word for word in path.split("/") if word not in _GENERIC] or path.split("/")
    name = re.sub(r"[^a-z0-9-]+", "-", words[-1].lower()).strip("-")
    beside = (f"{name}-{word}" for word in reversed(path.split("/")) if word != name)
    return next(text for text in (name, *beside, f"{name}-{len(taken)}") if text not in taken)


def _version(facts: Record, part: Component) -> str:
    """The version by the image or label that has it in the release `part` is of; empty where none has."""
    images = facts.get("images", {})
    for ref, containers in part.images.items():
        for container, image in containers.items():
            if not image.endswith((f":v{part.version}", f":{part.version}")):
                continue
            for workload, of in images.items():
                if workload.endswith(f"/{ref.name}") and container in of:
                    return str(of[container]).partition("@")[0].rpartition(":")[2].removeprefix("v")
    return ""


def needs(parts: Mapping[str, Sequence[Object]]) -> dict[str, list[str]]:
    """By component: those whose kinds or namespaces its objects use, and storage for its claims."""
    bringers: dict[str, str] = {}
    for name, objects in parts.items():
        for obj in objects:
            if obj["kind"] == "CustomResourceDefinition":
                bringers[f"{obj['spec']['group']}/{obj['spec']['names']['kind']}"] = name
            elif obj["kind"] == "Namespace":
                bringers[f"/Namespace/{obj['metadata']['name']}"] = name
    found: dict[str, list[str]] = {}
    for name, objects in parts.items():
        keys = {
            key
            for obj in objects
            for key in (
                f"{obj['apiVersion'].rpartition('/')[0]}/{obj['kind']}",
                f"/Namespace/{obj['metadata'].get('namespace')}",
            )
        }
        used = {bringers[key] for key in keys if key in bringers} - {name}
        storage = ["local-path"] if any(obj["kind"] == "PersistentVolumeClaim" for obj in objects) else []
        found[name] = [*storage, *(other for other in parts if other in used)]
    return found


def wanted_paths(root: Path, like: str) -> list[str]:
    """Upstream's example, and what the release `like` has beside it, where the tree has it, too."""
    known = [*read.load_release(like).components.values()]
    found = paths_of(root, [part.path for part in known])
    beside = [part.path for part in known if not part.example and part.path not in found]
    return [*found, *(path for path in beside if (root / path).is_dir())]


def judgement(found: Derived, version: str, like: str, remotes: Remotes) -> dict[str, Any]:
    """What a person is to judge, as the release `like` has it."""
    model = data.load(f"releases/{like}")
    old = {item["name"]: item for item in model["components"]}
    names = [item["name"] for item in found.record["components"]]
    operator = model["operator"]["component"]
    source = model["source"]
    changes = {
        "version": version,
        "source": {
            "name": source["name"],
            "title": source["title"].replace(like, version),
            "address": source["address"].replace(like, version),
            "content_sha256": found.content,
        },
        "remote_sources": remotes.sources,
        "remote_bases": remotes.bases,
        "kustomize_version": found.kustomize
        if found.kustomize in data.load("kustomize")
        else model["kustomize_version"],
        "upgrades_from": [like] if version_key(like) < version_key(version) else [],
        "operator": model["operator"] | {"version": found.versions.get(operator, model["operator"]["version"])},
        "joint_values": [item for item in model.get("joint_values", ()) if item["component"] in names],
        "defects": [
            item
            for item in model.get("defects", ())
            if all(name in {*names, *read.OWN_FILES} for name in item.get("applies_to", ()))
        ],
        "components": [_judged(name, old.get(name), found, names) for name in names],
    }
    entry = {**dict.fromkeys(_ORDER), **model, **changes}
    return {key: value for key, value in entry.items() if value or key in model}


def _judged(name: str, old: Record | None, found: Derived, names: Sequence[str]) -> dict[str, Any]:
    if old is None:
        return {"name": name, "title": name, "requires": [*found.missing.get(name, ())]}
    kept = {key: old[key] for key in ("name", "title", "version", "example") if key in old}
    if name in found.versions:
        kept["version"] = found.versions[name]
    requires = [need for need in old.get("requires", ()) if need in names or need in read.OUTSIDE]
    requires += found.missing.get(name, ())
    return kept | ({"requires": requires} if requires else {})
