"""Where the pods of the platform run: `kubeflow_placement`.

The rules are those of Kubernetes: names of labels (apimachinery, IsQualifiedName and IsValidLabelValue), tolerations
(pkg/apis/core/validation, ValidateTolerations), names of PriorityClasses (DNS subdomains).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.own_patches import validate_components

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_SUBDOMAIN = 253
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_KEY = "a name of at most 63 letters, digits, -, _ and ., optionally with a DNS name and / before it"
_VALUE = "empty, or at most 63 letters, digits, -, _ and ., with a letter or digit at both ends"


@dataclass(frozen=True, slots=True)
class Placement:
    """Terms for pods of one component. None leaves those of all components, and an empty value has none."""

    node_selector: Mapping[str, str] | None = None
    tolerations: tuple[Mapping[str, Any], ...] | None = None
    priority_class: str | None = None


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """Terms for the pods of all components, and of single ones in place of them."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class: str = ""
    components: Mapping[str, Placement] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any pod gets terms."""
        return bool(self.node_selector or self.tolerations or self.priority_class or self.components)

    def own(self, component: str) -> Placement:
        """The terms of this component alone."""
        return self.components.get(component, Placement())

    def for_component(self, component: str) -> PlacementSettings:
        """The terms of a component: its own, and those of all where it has none."""
        own = self.own(component)
        return PlacementSettings(
            self.node_selector if own.node_selector is None else own.node_selector,
            self.tolerations if own.tolerations is None else own.tolerations,
            self.priority_class if own.priority_class is None else own.priority_class,
        )


def validate_placement(placement: PlacementSettings, chosen: Collection[str]) -> Iterator[Problem]:
    """Problems of labels, tolerations and priority classes, and of components that are not installed."""
    general = Placement(placement.node_selector, placement.tolerations, placement.priority_class)
    yield from _terms("kubeflow_placement", general)
    for name, own in placement.components.items():
        yield from _terms(f"kubeflow_placement.components.{name}", own)
        yield from validate_components("kubeflow_placement.components", [name], chosen, "placement")


def _terms(where: str, terms: Placement) -> Iterator[Problem]:
    for key, value in (terms.node_selector or {}).items():
        if not _is_key(key):
            yield _wrong(f"{where}.node_selector has the key {key!r}", f"a label: {_KEY}")
        if not _is_value(value):
            yield _wrong(f"{where}.node_selector.{key} is {value!r}", f"the value of a label: {_VALUE}")
    for number, item in enumerate(terms.tolerations or ()):
        yield from _toleration(f"{where}.tolerations[{number}]", item)
    name = terms.priority_class
    if name and (len(name) > _LONGEST_SUBDOMAIN or not _SUBDOMAIN.fullmatch(name)):
        yield _wrong(f"{where}.priority_class is {name!r}", "the name of a PriorityClass, such as platform")


def _toleration(where: str, item: Mapping[str, Any]) -> Iterator[Problem]:
    key, value = item.get("key") or "", item.get("value") or ""
    operator, effect = item.get("operator") or "Equal", item.get("effect") or ""
    if key and not _is_key(key):
        yield _wrong(f"{where}.key is {key!r}", f"the key of a taint: {_KEY}")
    if operator not in {"Equal", "Exists"}:
        yield _wrong(f"{where}.operator is {operator!r}", "Equal or Exists")
    elif operator == "Exists" and value:
        yield _wrong(f"{where} has operator Exists and the value {value!r}", "no value: Exists tolerates every value")
    elif operator == "Equal" and not key:
        yield _wrong(f"{where} has no key and operator Equal", "a key, or operator Exists to tolerate every taint")
    if operator == "Equal" and not _is_value(value):
        yield _wrong(f"{where}.value is {value!r}", f"the value of a taint: {_VALUE}")
    if effect and effect not in _EFFECTS:
        yield _wrong(f"{where}.effect is {effect!r}", f"{', '.join(_EFFECTS)}, or none for all of them")
    if "tolerationSeconds" in item and effect != "NoExecute":
        yield _wrong(f"{where} has tolerationSeconds and effect {effect or 'none'}", "effect NoExecute beside it")


def _wrong(found: str, needed: str) -> Problem:
    return Problem(f"{found}.", f"{needed}.", "correct the entry.")


def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(prefix)):
        return False
    return bool(_NAME.fullmatch(name))


def _is_value(text: str) -> bool:
    return not text or bool(_NAME.fullmatch(text))
