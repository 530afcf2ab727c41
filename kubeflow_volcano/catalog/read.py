"""The one reader of the catalog: files by version, and the components of a choice."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.catalog import decode
from kubeflow_volcano.catalog.model import Component, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = [
    "components",
    "kept_manifests",
    "load",
    "load_local_path",
    "load_release",
    "load_scheduler_plugins",
    "load_volcano",
    "local_path_versions",
    "nearest",
    "releases",
    "scheduler_plugins_versions",
    "volcano_versions",
]

_ROOT = files("kubeflow_volcano.catalog")


def releases() -> tuple[str, ...]:
    """Versions of Kubeflow that the catalog knows, oldest first."""
    return _versions("releases")


def volcano_versions() -> tuple[str, ...]:
    """Versions of Volcano that the catalog knows, oldest first."""
    return _versions("volcano")


def local_path_versions() -> tuple[str, ...]:
    """Versions of the local path provisioner that the catalog knows, oldest first."""
    return _versions("local_path")


def scheduler_plugins_versions() -> tuple[str, ...]:
    """Versions of scheduler-plugins that the catalog knows, oldest first."""
    return _versions("scheduler_plugins")


@cache
def load_release(version: str) -> Release:
    """The release of that version.

    Raises:
        InvalidInput: unknown version, or a data file that breaks its schema.
    """
    return decode.release(_one("releases", version, "release of Kubeflow", "release"))


@cache
def load_volcano(version: str) -> Component:
    """Volcano of that version as a component; raises InvalidInput like `load_release`."""
    return decode.component(_one("volcano", version, "version of Volcano", "component"))


@cache
def load_local_path(version: str) -> Component:
    """The local path provisioner of that version as a component; raises InvalidInput like `load_release`."""
    return decode.component(_one("local_path", version, "version of the local path provisioner", "component"))


@cache
def load_scheduler_plugins(version: str) -> Component:
    """Scheduler-plugins of that version as a component; raises InvalidInput like `load_release`."""
    return decode.component(_one("scheduler_plugins", version, "version of scheduler-plugins", "component"))


def kept_manifests(component: Component) -> Path:
    """The kustomization of a component whose manifests are part of the catalog, because upstream has none."""
    return Path(str(_ROOT.joinpath(component.path)))


def components(
    release: Release,
    profile: str | Sequence[str],
    volcano_version: str,
    local_path_version: str,
    *,
    scheduler_plugins_version: str = "",
    excluded: Collection[str] = (),
    unneeded: Collection[str] = (),
    instead: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Component, ...]:
    """The components of a profile, or of a list of names, with all that they require, in dependency order.

    What is `excluded` is left out; what is `unneeded` does not come along for those that require it. Where others
    require a name of `instead`, or a profile brings it, what that stands for comes. Without a version of
    scheduler-plugins it is the newest.

    Raises:
        InvalidInput: an unknown profile or component, a refused one, an excluded one that is asked for or that others
            require, or nothing left.
    """
    known = {
        "local-path": load_local_path(local_path_version),
        "volcano": load_volcano(volcano_version),
        "scheduler-plugins": load_scheduler_plugins(scheduler_plugins_version or scheduler_plugins_versions()[-1]),
        **release.components,
    }
    names = _names(release, profile)
    if isinstance(profile, str):
        names = [instead.get(name, name) for name in names]
    if problems := [_no_component(release, name, tuple(known)) for name in (*names, *excluded) if name not in known]:
        raise InvalidInput(problems)
    by_name = not isinstance(profile, str)
    if (both := [name for name in names if name in excluded]) and (by_name or both == [*names]):
        raise InvalidInput(_contradiction(", ".join(both)))
    ordered: dict[str, Component] = {}

    def add(name: str) -> None:
        for need in (instead.get(need, need) for need in known[name].requires):
            if need not in unneeded:
                add(need)
        ordered.setdefault(name, known[name])

    for name in names:
        if name not in excluded:
            add(name)
    if needed := [name for name in ordered if name in excluded]:
        raise InvalidInput(_needed(name, ordered.values(), instead) for name in needed)
    return tuple(ordered.values())


def _names(release: Release, profile: str | Sequence[str]) -> Sequence[str]:
    if not isinstance(profile, str):
        return profile
    if profile not in release.profiles:
        raise InvalidInput(_unknown("profile", profile, sorted(release.profiles), "correct the name."))
    return release.profiles[profile]


def _contradiction(names: str) -> Problem:
    return Problem(
        f"{names} asked for and excluded.",
        "something to install, and exclusions of what a profile brings.",
        f"take {names} out of the exclusions, or out of what is asked for.",
    )


def _no_component(release: Release, name: str, known: Sequence[str]) -> Problem:
    if name in release.refused:
        return Problem(
            f"component {name!r}: {release.refused[name]}",
            f"a component that is installed with release {release.version}.",
            f"remove {name}.",
        )
    elsewhere = [version for version in releases() if name in load_release(version).components]
    hint = f" It comes with {', '.join(elsewhere)}." if elsewhere else nearest(name, known)
    return Problem(
        f"component {name!r}, which release {release.version} does not have.{hint}",
        f"one of: {', '.join(sorted(known))}.",
        "correct the name, or take a release that has it.",
    )


def _needed(name: str, chosen: Iterable[Component], instead: Mapping[str, str]) -> Problem:
    users = ", ".join(part.name for part in chosen if name in {instead.get(need, need) for need in part.requires})
    return Problem(
        f"{name} is excluded, and these require it: {users}.",
        "every component that a chosen one requires.",
        f"take {name} out of the exclusions, or exclude {users} as well.",
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """A half sentence for a misspelt word: the most similar known one, or nothing."""
    match = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {match[0]}?" if match else ""


def load(name: str, schema: str) -> Any:
    """The document of one data file of the catalog, checked against its schema.

    Raises:
        InvalidInput: the file is not what its schema says; every error at once.
    """
    text = _ROOT.joinpath(name).read_bytes()
    data = strict_yaml.parse(text, f"catalog/{name}")[0]
    errors = sorted(_validator(schema).iter_errors(data), key=lambda error: error.json_path)
    if errors:
        raise InvalidInput(
            Problem(
                f"catalog/{name}: {error.json_path}: {error.message}.",
                f"what catalog/schemas/{schema}.json says.",
                "correct the data file.",
            )
            for error in errors
        )
    return data


@cache
def _validator(schema: str) -> Draft202012Validator:
    texts = {name: json.loads(_ROOT.joinpath(f"schemas/{name}.json").read_text()) for name in ("component", schema)}
    registry: Registry[Any] = Registry().with_resources(
        (f"{name}.json", Resource.from_contents(text)) for name, text in texts.items()
    )
    return Draft202012Validator(texts[schema], registry=registry)


@cache
def _versions(folder: str) -> tuple[str, ...]:
    names = (entry.name for entry in _ROOT.joinpath(folder).iterdir())
    return tuple(sorted((name.removesuffix(".yaml") for name in names if name.endswith(".yaml")), key=version_key))


def _one(folder: str, version: str, what: str, schema: str) -> Any:
    known = _versions(folder)
    if version not in known:
        raise InvalidInput(_unknown(what, version, known))
    data = load(f"{folder}/{version}.yaml", schema)
    if data["version"] != version:
        raise InvalidInput(
            Problem(
                f"catalog/{folder}/{version}.yaml describes {data['version']}.",
                "a file that is named after its version.",
                "rename the file.",
            )
        )
    return data


def _unknown(
    what: str, word: str, known: Sequence[str], todo: str = "correct the name, or add its data file to the catalog."
) -> Problem:
    return Problem(
        f"{what} {word!r}, which the catalog does not know.{nearest(word, known)}",
        f"one of: {', '.join(known)}.",
        todo,
    )
