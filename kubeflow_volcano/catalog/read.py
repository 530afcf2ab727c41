"""Releases and components of the catalog by version, and the components of a profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.decode import decode
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.text import did_you_mean

OUTSIDE = ("local-path", "volcano")
"""Components that no release contains; the profile `full` includes them."""

INDEPENDENT = (*OUTSIDE, "scheduler-plugins")
"""Components whose version is their own, not the release's: the record of a roll-out has it, and upgrades follow it."""

OWN_FILES = (*INDEPENDENT, COMPONENT)
"""Components with data files of their own, and variables `<name>_version` and `<name>_source`.

The training operator is one beside releases: each of them had its own until upstream's distribution dropped it.
"""


_NOTHING: Mapping[str, str] = MappingProxyType({})


def releases() -> tuple[str, ...]:
    """Versions of Kubeflow in the catalog, oldest first."""
    return data.versions("releases")


def versions_of(component: str) -> tuple[str, ...]:
    """Versions in the catalog of a component of `OWN_FILES`, oldest first."""
    return data.versions(component.replace("-", "_"))


@data.cached
def load_release(version: str) -> Release:
    """The release of that version.

    Raises:
        InvalidInput: the catalog has no such version, or its data file is invalid.
    """
    return decode_release(_record("releases", version, "release of Kubeflow"), _entry("releases", version))


@data.cached
def load_component(name: str, version: str) -> Component:
    """That version of a component of `OWN_FILES`; raises InvalidInput like `load_release`."""
    folder = name.replace("-", "_")
    return decode_component(_record(folder, version, f"version of {name}"), _entry(folder, version))


def decode_component(record: Mapping[str, Any], entry: str = "") -> Component:
    """The component of a data file, or of a user's `entry`."""
    return decode(Component, _component(record), entry=entry)


def with_operator(release: Release, version: str = "") -> Release:
    """The release with that training operator from its own source; itself where it has one and no version is given.

    Without a version a release that lacks the operator gets the newest one whose manifests have an address.

    Raises:
        InvalidInput: the catalog has no such version.
    """
    former = release.components.get(COMPONENT)
    if former and not version:
        return release
    known = [*reversed(versions_of(COMPONENT))]
    version = version or next((name for name in known if load_component(COMPONENT, name).address), known[0])
    part = load_component(COMPONENT, version)
    needs = former.requires if former else [name for name in part.requires if name in {*OUTSIDE, *release.components}]
    part = replace(part, requires=tuple(needs), example=False)
    return replace(release, components={**release.components, COMPONENT: part})


def decode_release(record: Mapping[str, Any], entry: str = "") -> Release:
    """The release of a data file, or of a user's `entry`.

    Its profile `full` is upstream's example with storage and Volcano.

    Raises:
        InvalidInput: its parts contradict each other; the message has every contradiction.
    """
    version, origin = record["version"], record["source"]["title"]
    parts = [
        decode(Component, _component({"version": version, "manifests": f"{item['path']} of {origin}", **item}))
        for item in record["components"]
    ]
    full = [*OUTSIDE, *(part.name for part in parts if part.example)]
    release = decode(
        Release,
        {
            "kubernetes_targeted": record["kubernetes"]["lowest"],
            **record,
            "profiles": {**record["profiles"], "full": full},
        },
        components={part.name: part for part in parts},
        entry=entry,
    )
    if wrong := [*_contradictions(release, [part.name for part in parts])]:
        file = entry or f"catalog/releases/{version}.yaml"
        raise InvalidInput(
            Problem(f"{file}: {text}.", "a consistent release.", "correct the data file.") for text in wrong
        )
    return release


def kept_manifests(component: Component) -> Path:
    """The kustomization in the catalog of a component for which upstream publishes no manifests."""
    return data.HOME / component.path


def components(
    release: Release,
    profile: str | Sequence[str],
    versions: Mapping[str, str] = _NOTHING,
    *,
    included: Sequence[str] = (),
    excluded: Collection[str] = (),
    unneeded: Collection[str] = (),
    existing: Collection[str] = (),
    instead: Mapping[str, str] = _NOTHING,
) -> tuple[Component, ...]:
    """The components of a profile, or of a list of names, and those that they require, in dependency order.

    `versions` are those of the components of `INDEPENDENT`, the newest by default. Components in `included` are added,
    those in `excluded` left out, requirements in `unneeded` ignored. Those in `existing` are left out and satisfy
    requirements: others installed them. `instead` replaces requirements, and components of a profile; one that is
    replaced by what is in `unneeded` is left out.

    Raises:
        InvalidInput: a profile or component is unknown or refused, an excluded one is requested or required, or
            nothing is left.
    """
    own = {name: load_component(name, versions.get(name) or versions_of(name)[-1]) for name in INDEPENDENT}
    known = {**own, **with_operator(release).components}
    names = [*_names(release, profile)]
    if isinstance(profile, str):
        stand_ins = [(name, instead.get(name, name)) for name in names]
        names = [stand_in for name, stand_in in stand_ins if stand_in == name or stand_in not in unneeded]
    names = [*dict.fromkeys((*names, *included))]
    unknown = [name for name in dict.fromkeys((*names, *excluded, *existing)) if name not in known]
    if unknown:
        raise InvalidInput(no_component(release, name) for name in unknown)
    by_name = not isinstance(profile, str)
    asked = names if by_name else included
    both = [name for name in names if name in excluded]
    if both == names or (both := [name for name in asked if name in excluded]):
        raise InvalidInput(_contradiction(", ".join(both)))
    ordered: dict[str, Component] = {}

    def add(name: str) -> None:
        for need in (instead.get(need, need) for need in known[name].requires):
            if need not in unneeded and need not in existing:
                add(need)
        ordered.setdefault(name, known[name])

    for name in names:
        if name not in excluded and name not in existing:
            add(name)
    if wrong := [_needed(name, ordered.values(), instead) for name in ordered if name in excluded]:
        raise InvalidInput(wrong)
    return tuple(ordered.values()) or _nothing_left(names)


def _names(release: Release, profile: str | Sequence[str]) -> Sequence[str]:
    if not isinstance(profile, str):
        return profile
    if profile not in release.profiles:
        raise InvalidInput(_unknown("profile", profile, sorted(release.profiles), "correct the name."))
    return release.profiles[profile]


def _contradiction(names: str) -> Problem:
    return Problem(
        f"{names} both requested and excluded.",
        "at least one component to install; exclusions are for components of a profile.",
        f"remove {names} from the exclusions, or from the requested components.",
    )


def _nothing_left(names: Sequence[str]) -> NoReturn:
    raise InvalidInput.problem(
        f"every component to install exists already: {', '.join(names)}.",
        "at least one component to install.",
        "choose more components, or remove one of these from kubeflow_existing.",
    )


def with_own_parts(release: Release, names: Iterable[str]) -> tuple[str, ...]:
    """`names` with the parts of each that the catalog has as components of their own: `istio` has `istio-crds`."""
    found: dict[str, None] = {}
    for name in names:
        part = release.components.get(name)
        found |= dict.fromkeys(need for need in (part.requires if part else ()) if need.startswith(f"{name}-"))
        found.setdefault(name)
    return tuple(found)


def no_component(release: Release, name: str) -> Problem:
    """The problem of a name that is no component of the release, with the nearest name or the release that has it."""
    known = (*OWN_FILES, *release.components)
    if name in release.refused:
        return Problem(
            f"component {name!r}: {release.refused[name]}",
            f"a component that is installed with release {release.version}.",
            f"remove {name}.",
        )
    elsewhere = [version for version in releases() if name in load_release(version).components]
    hint = f" It comes with {', '.join(elsewhere)}." if elsewhere else did_you_mean(name, known)
    return Problem(
        f"component {name!r}, which release {release.version} does not have.{hint}",
        f"one of: {', '.join(sorted(known))}.",
        "correct the name, or choose a release that has it.",
    )


def _needed(name: str, chosen: Iterable[Component], instead: Mapping[str, str]) -> Problem:
    users = ", ".join(part.name for part in chosen if name in {instead.get(need, need) for need in part.requires})
    return Problem(
        f"{name} is excluded, and these require it: {users}.",
        "every component that another one requires.",
        f"remove {name} from the exclusions, or also exclude {users}.",
    )


def _component(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of a component, whole: its workloads are those whose images are named."""
    crds, webhooks = record.get("crds", {}), record.get("webhooks", {})
    return {
        "workloads": [*record.get("images", ())],
        **record,
        "crds": crds if isinstance(crds, Mapping) else {name: [] for name in crds},
        "webhooks": [*webhooks],
        "intercepts": webhooks if isinstance(webhooks, Mapping) else {},
    }


def _entry(folder: str, version: str) -> str:
    return str(data.own_file(f"{folder}/{version}") or "")


def _record(folder: str, version: str, what: str) -> Any:
    known = data.versions(folder)
    if version not in known:
        raise InvalidInput(_unknown(what, version, known))
    record = data.load(f"{folder}/{version}")
    if record["version"] != version:
        raise InvalidInput.problem(
            f"{_entry(folder, version) or f'catalog/{folder}/{version}.yaml'} describes {record['version']}.",
            "a file named after its version.",
            "rename the file.",
        )
    return record


def _contradictions(release: Release, names: Sequence[str]) -> Iterator[str]:
    """Duplicate names, references to unknown names, and circular requirements."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"component {name} is defined twice"
    parts, known = release.components.values(), {*names, *OUTSIDE, COMPONENT}
    used = [
        *((f"{part.name} requires", name) for part in parts for name in part.requires),
        *((f"profile {profile} names", name) for profile, members in release.profiles.items() for name in members),
        *((f"defect {defect.id} names", name) for defect in release.defects for name in defect.applies_to),
        *(("a joint value names", name) for item in release.joint_values for name in (item.component, item.provider)),
        ("operator is", release.operator.component),
    ]
    yield from (f"{what} unknown {name}" for what, name in used if name not in known)
    sources = {source.name for source in release.remote_sources}
    yield from (
        f"{base.prefix} is in unknown {base.source}" for base in release.remote_bases if base.source not in sources
    )
    try:
        TopologicalSorter({part.name: part.requires for part in parts}).prepare()
    except CycleError as error:
        yield f"circular requirements among {', '.join(sorted({*error.args[1]}))}"


def _unknown(
    what: str,
    word: str,
    known: Sequence[str],
    todo: str = "correct the name, or derive an entry of your own: kubeflow-volcano catalog derive --help.",
) -> Problem:
    return Problem(
        f"{what} {word!r}, which the catalog does not know.{did_you_mean(word, known)}",
        f"one of: {', '.join(known)}.",
        todo,
    )
