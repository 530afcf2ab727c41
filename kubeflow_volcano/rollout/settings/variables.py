"""The variables of the inventory: names, types and values are checked against the schema, with advice per mistake."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from jsonschema import Draft202012Validator, ValidationError

from kubeflow_volcano.decode import Parsed
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.redaction import without_logins
from kubeflow_volcano.text import did_you_mean, most_similar

PREFIXES = (
    "backup_",
    "bundle_",
    "catalog_",
    "gang_scheduling_",
    "image_mirror_",
    "kubeflow_",
    "kustomize_",
    "local_path_",
    "plan_",
    "preflight_",
    "rehearsal_cluster_",
    "restore_",
    "scheduler_plugins_",
    "training_operator_",
    "uninstall_",
    "upgrade_",
    "validation_",
    "volcano_",
)
"""Prefixes of all public variables. An inventory may have other variables with them, such as `backup_retention`."""

GivenPath: TypeAlias = Annotated[Path, Parsed(lambda text: Path(text).expanduser())]
"""A path in which ~ is expanded."""

OptionalPath: TypeAlias = Annotated[Path | None, Parsed(lambda text: Path(text).expanduser() if text else None)]
"""A path in which ~ is expanded; None where the variable is empty."""

OptionalText: TypeAlias = Annotated[str | None, Parsed(lambda text: text or None)]
"""A text; None where the variable is empty."""

_SIMILARITY_OF_TYPOS = 0.7
"""`local_path_base_dir` has 0.73 in common with `local_path_base_directory`, `plan_date` 0.35 with its nearest one."""

_SIMILARITY_OF_NAMES = 0.88
"""As above of a whole name whose prefix is none: `kubflow_profile` has 0.97, `kubernetes_version` 0.69."""

_WORDS = ("backup", "bundle", "plan", "preflight", "restore", "uninstall", "upgrade", "validation")
"""Prefixes that are words: `backups_directory` may well be a variable of another collection."""

_VERSION = {"$ref": "#/$defs/version"}


def complete(variables: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The value of every public variable, its default where it is absent or invalid, and every problem."""
    given = {name: value for name, value in variables.items() if is_public(str(name))}
    odd = {name: found for name, value in given.items() if (found := tuple(_odd_keys(name, value)))}
    errors = [error for error in _validator().iter_errors({**given, **dict.fromkeys(odd)}) if error.path]
    errors = [error for error in errors if error.path[0] not in odd]
    wrong = {error.path[0] for error in errors} | odd.keys()
    values = defaults()
    values |= {name: value for name, value in given.items() if name in values and name not in wrong}
    values |= {name: values[name].removeprefix("v") for name in _versions()}
    return values, [
        *_unknown_names(given),
        *chain(*odd.values()),
        *map(_problem, sorted(errors, key=lambda error: error.json_path)),
    ]


def is_public(name: str) -> bool:
    """Whether a variable is one of this project, or is probably a misspelt one."""
    return name in _rules() or bool(_suggestion(name))


def unread(names: Iterable[str]) -> list[str]:
    """Names with a prefix of this project that nothing reads and that resemble no public variable."""
    return sorted(name for name in names if name.startswith(PREFIXES) and not is_public(name))


def defaults() -> dict[str, Any]:
    """The default of every public variable."""
    return {name: rule["default"] for name, rule in _rules().items()}


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of all public variables, which follows from variables.yaml. It is shared: do not change it."""
    text = files("kubeflow_volcano.rollout.settings").joinpath("settings.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = read_json(text)
    return loaded


SECRETS = tuple(name for name, rule in schema()["properties"].items() if rule.get("writeOnly"))
"""Variables whose values no message and no result of a plugin contains."""

NOT_IN_RESULTS = (*SECRETS, "kubeflow_patches")
"""Variables that no result of a plugin contains, because Ansible prints results with -v, and no message quotes.

Any patch may set a secret.
"""


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def _rules() -> Mapping[str, Any]:
    rules: Mapping[str, Any] = schema()["properties"]
    return rules


@cache
def _versions() -> tuple[str, ...]:
    """Variables that are versions, which may have the v of a tag in front."""
    return tuple(
        name
        for name, rule in _rules().items()
        if any(_VERSION.items() <= part.items() for part in (rule, *rule.get("anyOf", ())))
    )


def _odd_keys(where: str, value: Any) -> Iterator[Problem]:
    """Keys that YAML does not read as text, such as `1`, `on` or an empty one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _odd_keys(f"{where}.{key}", item)
            else:
                text = json.dumps(key, default=str)
                yield Problem(
                    f"{where} has the key {text}, which YAML does not read as text.",
                    "keys that are text; YAML reads 1 as a number, and on, off, yes and no as booleans.",
                    f"put the key in quotes in {where}.",
                )
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _odd_keys(f"{where}[{number}]", item)


def _family(name: str) -> tuple[str, list[str]]:
    """The prefix of a name, and what follows it in each public variable that has it; empty without one."""
    prefix = next((item for item in PREFIXES if name.startswith(item)), "")
    return prefix, [item.removeprefix(prefix) for item in sorted(_rules()) if prefix and item.startswith(prefix)]


@cache  # every host has hundreds of variables, and the same ones
def _suggestion(name: str) -> str:
    """The public variable that is probably meant. What follows the prefix decides: the prefix makes all similar."""
    prefix, known = _family(name)
    if not prefix:
        foreign = name.startswith(("_", "ansible_", *_WORDS))
        return "" if foreign else most_similar(name.lower(), _rules(), _SIMILARITY_OF_NAMES)
    rest = most_similar(name.removeprefix(prefix), known, _SIMILARITY_OF_TYPOS)
    return f"{prefix}{rest}" if rest else ""


def _unknown_names(given: Iterable[str]) -> Iterator[Problem]:
    """Names that are not in the schema, whose own error has no path."""
    for name in sorted(set(given) - set(_rules())):
        meant = _suggestion(name)
        prefix, family = _family(meant)
        yield Problem(
            f"the variable {name}, which nothing reads. Did you mean {meant}?",
            f"one of: {', '.join(f'{prefix}{rest}' for rest in family)}.",
            "correct its name, or remove it.",
        )


def _problem(error: ValidationError) -> Problem:
    name = str(error.path[0])
    where = error.json_path.removeprefix("$.")
    return Problem(
        f"{where} {_describe_secret(error)}." if name in SECRETS else f"{where} is {_describe(name, error.instance)}.",
        f"{_rules()[name]['description']}{_allowed(error)}.",
        _advice(where, error),
    )


def _describe_secret(error: ValidationError) -> str:
    """What is wrong with a value that no message may contain; jsonschema names keys only, for these two rules."""
    return f"is invalid: {error.message}" if error.validator in {"additionalProperties", "required"} else "is invalid"


def _describe(name: str, value: Any) -> str:
    kinds: dict[type, str] = {bool: "the boolean", str: "the text", type(None): "empty:"}
    kinds |= {int: "the number", float: "the number", list: "the list", dict: "the mapping"}
    hidden = name in NOT_IN_RESULTS and bool(value)
    text = "…" if hidden else json.dumps(without_logins(value), default=str, ensure_ascii=False)
    return f"{kinds.get(type(value), 'the value')} {text}"


def _allowed(error: ValidationError) -> str:
    if error.validator != "enum":
        return "; no duplicates" if error.validator == "uniqueItems" else ""
    return f": one of {', '.join(item or 'nothing' for item in _rule(error)['enum'])}"


def _rule(error: ValidationError) -> Mapping[str, Any]:
    """The violated part of the schema. Only `true` and `false` are not mappings, and this schema has neither."""
    return error.schema if isinstance(error.schema, Mapping) else {}


def _advice(where: str, error: ValidationError) -> str:
    value, rule = error.instance, _rule(error)
    if error.validator == "enum" and isinstance(value, str):
        return f"correct {where}.{did_you_mean(value, rule['enum'])}"
    if error.validator in {"type", "enum"} or (error.validator == "anyOf" and not isinstance(value, str)):
        return _advice_on_type(where, error)
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        if "_source" not in where:
            return f"remove {value.partition('//')[0]}// from {where}."
        return "append #sha256= and the sum of the file, 64 hexadecimal digits, to the address."
    return f"correct {where}."


def _advice_on_type(where: str, error: ValidationError) -> str:
    value, rule = error.instance, _rule(error)
    wanted = rule.get("type", "string")
    if wanted == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return f'put it in quotes, as in {where}: "1.10"; without quotes YAML reads 1.10 as the number 1.1.'
    if wanted == "boolean":
        return f"write true or false without quotes; on a command line pass JSON: -e '{{\"{where}\": true}}'."
    if wanted == "integer":
        number = _number(value, rule)
        return f"write a whole number without quotes; on a command line pass JSON: -e '{{\"{where}\": {number}}}'."
    if wanted == "array" and isinstance(value, str):
        return f"write a list: {where}: [{'…' if str(error.path[0]) in NOT_IN_RESULTS else without_logins(value)}]."
    if isinstance(wanted, list):
        wanted = " or ".join(wanted)
    return f"set {where} to a value of type {wanted}, or remove it to use the default."


def _number(value: Any, rule: Mapping[str, Any]) -> int:
    """The whole number that is meant, if the rule takes it; else one that it takes."""
    low, high = rule.get("minimum", 0), rule.get("maximum", float("inf"))
    meant = int(value) if isinstance(value, str) and value.strip().isdecimal() else low - 1
    return meant if low <= meant <= high else int(rule.get("default") or low)
