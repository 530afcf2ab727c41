"""The shape of the inventory's variables: names, types and values, against the schema, with advice for each mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from kubeflow_volcano.catalog import read
from kubeflow_volcano.problems import Problem

__all__ = ["PREFIXES", "SECRETS", "shaped"]

PREFIXES = (
    "gang_scheduling_",
    "image_mirror_",
    "kubeflow_",
    "kustomize_",
    "local_path_",
    "plan_",
    "preflight_",
    "rehearsal_cluster_",
    "scheduler_plugins_",
    "validation_",
    "volcano_",
)
"""What the names of all public variables begin with; a name with one of them that is not public is a mistake."""


SECRETS = ("kubeflow_user_password",)
"""Variables whose values are shown nowhere and returned by no plugin."""


def shaped(variables: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Every public variable with its value, or its default where it is absent or wrong; and all that is wrong."""
    given = {name: value for name, value in variables.items() if name.startswith(PREFIXES)}
    problems = [*_unknown_names(given), *_wrong_values(given)]
    wrong = {error.path[0] for error in _validator().iter_errors(given) if error.path}
    values = {name: rule["default"] for name, rule in _rules().items()}
    values |= {name: value for name, value in given.items() if name in values and name not in wrong}
    return values, problems


@cache
def _schema() -> dict[str, Any]:
    text = files("kubeflow_volcano.rollout.settings").joinpath("settings.schema.json").read_text(encoding="utf-8")
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
            f"{where} is {'not what it can be' if name in SECRETS else _shown(error.instance)}.",
            f"{_rules()[name]['description']}{_allowed(error)}.",
            _advice(where, error),
        )


def _shown(value: Any) -> str:
    kinds: dict[type, str] = {bool: "the truth value", str: "the text", type(None): "empty:"}
    kinds |= {int: "the number", float: "the number", list: "the list", dict: "the mapping"}
    text = re.sub(r"://[^/@\s]*@", "://***@", json.dumps(value, default=str, ensure_ascii=False))
    return f"{kinds.get(type(value), 'the value')} {text}"


def _allowed(error: ValidationError) -> str:
    if error.validator != "enum":
        return ", each once" if error.validator == "uniqueItems" else ""
    return f": one of {', '.join(item or 'nothing' for item in _rule(error)['enum'])}"


def _rule(error: ValidationError) -> Mapping[str, Any]:
    """The part of the schema that was broken; only `true` and `false` are no mappings, and ours has neither."""
    return error.schema if isinstance(error.schema, Mapping) else {}


def _advice(where: str, error: ValidationError) -> str:
    value, rule = error.instance, _rule(error)
    wanted = rule.get("type", "string")
    if error.validator == "enum" and isinstance(value, str):
        return f"correct {where}.{read.nearest(value, rule['enum'])}"
    if error.validator in {"type", "enum"} or (error.validator == "anyOf" and not isinstance(value, str)):
        return _advice_on_type(where, value, wanted)
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        if "_source" not in where:
            return f"leave {value.partition('//')[0]}// out of {where}."
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
