"""The one reader of the catalog. Schemas say shape; the functions here say how the files relate."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.catalog.model import Claim, Component, MinorRange, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.ref import Ref

__all__ = [
    "components",
    "load",
    "load_local_path",
    "load_release",
    "load_volcano",
    "local_path_versions",
    "nearest",
    "releases",
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


@cache
def load_release(version: str) -> Release:
    """The release of that version.

    Raises:
        InvalidInput: unknown version, or a data file that breaks its schema.
    """
    data = _one("releases", version, "release of Kubeflow", "release")
    parts = tuple(_component(item) for item in data["components"])
    _see_that_they_relate(version, parts, data["profiles"])
    return Release(
        version=data["version"],
        kubernetes=MinorRange(data["kubernetes"]["lowest"], data["kubernetes"]["highest"]),
        kustomize_version=data["kustomize_version"],
        operator_version=data["operator_version"],
        volcano_versions=tuple(data["volcano_versions"]),
        profiles={name: tuple(names) for name, names in data["profiles"].items()},
        components={part.name: part for part in parts},
    )


@cache
def load_volcano(version: str) -> Component:
    """Volcano of that version as a component; raises InvalidInput like `load_release`."""
    return _component(_one("volcano", version, "version of Volcano", "component"))


@cache
def load_local_path(version: str) -> Component:
    """The local path provisioner of that version as a component; raises InvalidInput like `load_release`."""
    return _component(_one("local_path", version, "version of the local path provisioner", "component"))


def components(
    release: Release, profile: str | Sequence[str], volcano_version: str, local_path_version: str
) -> tuple[Component, ...]:
    """The components of a profile, or of a list of names, with all that they require, in dependency order.

    Raises:
        InvalidInput: an unknown profile or component.
    """
    known = {
        "local-path": load_local_path(local_path_version),
        "volcano": load_volcano(volcano_version),
        **release.components,
    }
    if isinstance(profile, str):
        if profile not in release.profiles:
            raise InvalidInput(_unknown("profile", profile, sorted(release.profiles)))
        profile = release.profiles[profile]
    if wrong := [name for name in profile if name not in known]:
        raise InvalidInput(_unknown("component", name, sorted(known)) for name in wrong)
    ordered: dict[str, Component] = {}

    def add(name: str) -> None:
        for need in known[name].requires:
            add(need)
        ordered.setdefault(name, known[name])

    for name in profile:
        add(name)
    return tuple(ordered.values())


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


def _unknown(what: str, word: str, known: Sequence[str]) -> Problem:
    return Problem(
        f"{what} {word!r}, which the catalog does not know.{nearest(word, known)}",
        f"one of: {', '.join(known)}.",
        "correct the name, or add its data file to the catalog.",
    )


def _component(data: Mapping[str, Any]) -> Component:
    limits = data.get("kubernetes")
    return Component(
        name=data["name"],
        title=data["title"],
        version=data["version"],
        kubernetes=MinorRange(limits["lowest"], limits["highest"]) if limits else None,
        manifests=data["manifests"],
        address=data["address"],
        path=data["path"],
        requires=tuple(data["requires"]),
        namespaces=tuple(data["namespaces"]),
        workloads=tuple(Ref(**item) for item in data["workloads"]),
        crds=tuple(data["crds"]),
        webhooks=tuple(Ref(**item) for item in data["webhooks"]),
        claims=tuple(Claim(**{**item, "consumer": Ref(**item["consumer"])}) for item in data["claims"]),
    )


def _see_that_they_relate(version: str, parts: Sequence[Component], profiles: Mapping[str, Sequence[str]]) -> None:
    """Names are unique; every name that a profile or `requires` uses exists; nothing requires itself in a circle."""
    names = [part.name for part in parts]
    known = {*names, "volcano", "local-path"}
    wrong = [f"component {name} stands twice" for name in sorted({name for name in names if names.count(name) > 1})]
    for part in parts:
        wrong += [f"{part.name} requires unknown {need}" for need in part.requires if need not in known]
    for profile, used in profiles.items():
        wrong += [f"profile {profile} names unknown {name}" for name in used if name not in known]
    left = {part.name: {need for need in part.requires if need in names} for part in parts}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    if left:
        wrong.append(f"a circle of requirements among {', '.join(sorted(left))}")
    if wrong:
        raise InvalidInput(
            Problem(f"catalog/releases/{version}.yaml: {text}.", "a consistent release.", "correct the data file.")
            for text in wrong
        )
