"""The inventory's variables, checked whole, become one frozen value. Nothing later reads raw variables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["PREFIXES", "Settings", "parse"]

PREFIXES = (
    "gang_scheduling_",
    "kubeflow_",
    "kustomize_",
    "local_path_",
    "rehearsal_cluster_",
    "validation_",
    "volcano_",
)
"""What the names of all public variables begin with; a name with one of them that is not public is a mistake."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the roll-out is asked to bring about.

    `sources` holds what the inventory says or upstream's address, by component; a component without either is absent.
    """

    kubeconfig: Path | None
    context: str | None
    release: Release
    components: tuple[Component, ...]
    sources: Mapping[str, str]
    wait_timeout_seconds: int
    volcano: Component
    local_path: Component
    local_path_base_directory: str
    storage_mode: str
    gang_scheduler: str
    kustomize: Path
    cache_directory: Path

    def component(self, name: str) -> Component:
        """The component of that name, chosen or not.

        Raises:
            InvalidInput: neither the release nor the catalog has it.
        """
        return read.components(self.release, (name,), self.volcano.version, self.local_path.version)[-1]

    def requirements(self, component: Component) -> tuple[Component, ...]:
        """What must be there before `component`, in order; without gang scheduling nothing needs Volcano."""
        found = read.components(self.release, (component.name,), self.volcano.version, self.local_path.version)[:-1]
        return tuple(item for item in found if item.name != "volcano" or self.gang_scheduler == "volcano")


def parse(variables: Mapping[str, Any]) -> Settings:
    """Check the public variables among `variables` and complete them with defaults; other names are ignored.

    Raises:
        InvalidInput: every wrong name, type, value and combination, at once.
    """
    given = {name: value for name, value in variables.items() if name.startswith(PREFIXES)}
    problems = [*_unknown_names(given), *_wrong_values(given)]
    wrong = {error.path[0] for error in _validator().iter_errors(given) if error.path}
    known = {name: rule["default"] for name, rule in _rules().items()}
    values = known | {name: value for name, value in given.items() if name in known and name not in wrong}
    settings, more = _relate(values)
    problems += more
    if problems or settings is None:
        raise InvalidInput(problems)
    return settings


@cache
def _schema() -> dict[str, Any]:
    text = files("kubeflow_volcano.rollout").joinpath("settings.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(_schema())


def _rules() -> Mapping[str, Any]:
    rules: Mapping[str, Any] = _schema()["properties"]
    return rules


def _unknown_names(given: Iterable[str]) -> Iterator[Problem]:
    known = sorted(_rules())
    for name in sorted(set(given) - set(known)):
        prefix = next(item for item in PREFIXES if name.startswith(item))
        family = [item for item in known if item.startswith(prefix)]
        yield Problem(
            f"the variable {name}, which nothing reads.{read.nearest(name, known)}",
            f"one of: {', '.join(family)}.",
            "correct its name, or remove it.",
        )


def _wrong_values(given: Mapping[str, Any]) -> Iterator[Problem]:
    for error in sorted(_validator().iter_errors(given), key=lambda error: error.json_path):
        if not error.path:
            continue  # an unknown name, told above
        name = str(error.path[0])
        where = error.json_path.removeprefix("$.")
        yield Problem(
            f"{where} is {_shown(error.instance)}.",
            f"{_rules()[name]['description']}{_allowed(error)}.",
            _advice(where, error),
        )


def _shown(value: Any) -> str:
    kinds = {bool: "the truth value", int: "the number", float: "the number", str: "the text", type(None): "empty:"}
    text = re.sub(r"://[^/@\s]*@", "://***@", json.dumps(value, default=str, ensure_ascii=False))
    return f"{kinds.get(type(value), 'the ' + type(value).__name__)} {text}"


def _allowed(error: ValidationError) -> str:
    return f": one of {', '.join(_rule(error)['enum'])}" if error.validator == "enum" else ""


def _rule(error: ValidationError) -> Mapping[str, Any]:
    """The part of the schema that was broken; only `true` and `false` are no mappings, and ours has neither."""
    return error.schema if isinstance(error.schema, Mapping) else {}


def _advice(where: str, error: ValidationError) -> str:
    value, rule = error.instance, _rule(error)
    wanted = rule.get("type", "string")
    if error.validator == "type" or (error.validator == "anyOf" and not isinstance(value, str)):
        return _advice_on_type(where, value, wanted)
    if error.validator == "enum" and isinstance(value, str):
        return f"correct {where}.{read.nearest(value, rule['enum'])}"
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        return "append #sha256= and the 64 hexadecimal digits of the file's sum to the address."
    return f"correct {where}."


def _advice_on_type(where: str, value: Any, wanted: str) -> str:
    if wanted == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return f'put it in quotes, as in {where}: "1.10"; without them YAML reads 1.10 as the number 1.1.'
    if wanted == "boolean":
        return f"write true or false without quotes; on a command line pass JSON: -e '{{\"{where}\": true}}'."
    if wanted == "integer":
        return f"write a whole number without quotes; on a command line pass JSON: -e '{{\"{where}\": 4}}'."
    if wanted == "array" and isinstance(value, str):
        return f"write a list: {where}: [{value}]."
    return f"give {where} a value of the type {wanted}, or remove it to take the default."


def _relate(values: Mapping[str, Any]) -> tuple[Settings | None, list[Problem]]:
    """The settings of well-shaped values, or what does not go together in them."""
    problems: list[Problem] = []
    loaded: list[Any] = []
    for load, name in (
        (read.load_release, "kubeflow_release"),
        (read.load_volcano, "volcano_version"),
        (read.load_local_path, "local_path_version"),
    ):
        try:
            loaded.append(load(values[name]))
        except InvalidInput as error:
            problems += [Problem(f"{name}: {item.found}", item.needed, item.todo) for item in error.problems]
    if problems:
        return None, problems
    release, volcano, local_path = loaded
    if volcano.version not in release.volcano_versions:
        problems.append(_pair(release, volcano.version))
    wanted: str | Sequence[str] = values["kubeflow_components"] or values["kubeflow_profile"]
    chosen: tuple[Component, ...] = ()
    try:
        chosen = read.components(release, wanted, volcano.version, local_path.version)
    except InvalidInput as error:
        problems += error.problems
    problems += _strange_sources(values["kubeflow_sources"], release)
    if problems:
        return None, problems
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "kubeflow-volcano"
    tools = Path(values["kustomize_cache_directory"] or home / "kustomize").expanduser()
    version = values["kustomize_version"] or release.kustomize_version
    settings = Settings(
        kubeconfig=Path(values["kubeflow_kubeconfig"]).expanduser() if values["kubeflow_kubeconfig"] else None,
        context=values["kubeflow_context"] or None,
        release=release,
        components=chosen,
        sources=_sources(values, release, volcano, local_path),
        wait_timeout_seconds=values["kubeflow_wait_timeout_seconds"],
        volcano=volcano,
        local_path=local_path,
        local_path_base_directory=values["local_path_base_directory"],
        storage_mode=values["local_path_storage_mode"],
        gang_scheduler=values["gang_scheduling_scheduler"],
        kustomize=Path(values["kustomize_binary"] or tools / version / "kustomize").expanduser(),
        cache_directory=home,
    )
    return settings, []


def _pair(release: Release, volcano: str) -> Problem:
    return Problem(
        f"volcano_version is {volcano}, kubeflow_release is {release.version}.",
        f"a Volcano that goes with that release: {', '.join(release.volcano_versions)}.",
        f'set volcano_version: "{release.volcano_versions[0]}".',
    )


def _strange_sources(given: Mapping[str, str], release: Release) -> Iterator[Problem]:
    for name in given:
        if name in {"volcano", "local-path"}:
            variable = name.replace("-", "_") + "_source"
            yield Problem(
                f"kubeflow_sources.{name}.",
                f"the source of {name} in the variable {variable}.",
                f"move the value to {variable}.",
            )
        elif name not in release.components:
            yield Problem(
                f"kubeflow_sources.{name}, which is no component.{read.nearest(name, release.components)}",
                f"one of: {', '.join(sorted(release.components))}.",
                "correct the name, or remove the entry.",
            )


def _sources(
    values: Mapping[str, Any], release: Release, volcano: Component, local_path: Component
) -> Mapping[str, str]:
    upstream = {part.name: part.address for part in (volcano, local_path, *release.components.values())}
    given = {"volcano": values["volcano_source"], "local-path": values["local_path_source"]}
    merged = {**upstream, **{name: text for name, text in {**values["kubeflow_sources"], **given}.items() if text}}
    return {name: text for name, text in merged.items() if text}
