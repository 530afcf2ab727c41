"""A recorded cluster: one file with all that checks read of it, and back to the facts that they judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.redaction import without_secrets
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.reach.api_server import OWN_ACCESS
from kubeflow_volcano.validators.checks.reach.clock import CLOCKS
from kubeflow_volcano.validators.core.check import closure
from kubeflow_volcano.validators.core.facts import Fact, Facts, Unread
from kubeflow_volcano.validators.core.resources import RESOURCES
from kubeflow_volcano.validators.reading.trimming import trim_of
from kubeflow_volcano.validators.run.options import Options, expectations_of
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS
from tests.recorded.codec import plain, read_back
from tests.recorded.trimming import as_read, as_recorded

CLUSTERS = Path(__file__).with_name("clusters")
"""Holds a folder for each recorded cluster: facts.yaml, and what the checks say of them in verdicts.yaml."""

LIMIT = 300_000
"""Characters of a recording that a person can still review."""

_OF_THE_RUN = frozenset({OWN_ACCESS, SIMULATED_WEBHOOKS})
"""What depends on who asks, or on the machine that plays the cluster, and is not recorded."""
_FACTS: Mapping[str, Fact[Any]] = {
    item.name: item
    for item in closure(read for check in CHECKS for read in check.everything)
    if isinstance(item, Fact) and item not in _OF_THE_RUN
}
_SAME_CLOCK = (-0.5, 0.5)
_LONG = 200
"""Characters from which on a text that comes twice is written once."""


@dataclass(frozen=True)
class About:
    """What a person has to know of a recorded cluster."""

    about: str
    """What is special about it."""
    source: str
    """Where it comes from: an API server and what was applied to it, or the documentation it was written from."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the validation, by name of the field."""


class _Dumper(yaml.SafeDumper):
    """Indents lists as yamllint wants them, and writes long texts that come again as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return not (isinstance(data, str) and len(data) > _LONG)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  PyYAML calls it so
        super().increase_indent(flow=flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and not any(line.endswith(" ") for line in text.split("\n")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def clusters() -> tuple[str, ...]:
    """Names of the recorded clusters."""
    return tuple(sorted(path.name for path in CLUSTERS.iterdir()))


def dump(facts: Facts, about: About) -> str:
    """The text of a recording.

    Raises:
        ValueError: something could not be read, so that the recording would have a hole.
    """
    holes = {**facts.unread, **{item.name: found for item, found in facts.found.items() if isinstance(found, Unread)}}
    if holes:
        raise ValueError(f"not read: {holes}")
    shared: dict[str, str] = {}
    document = {
        "about": about.about,
        "source": about.source,
        "taken": datetime.fromtimestamp(int(facts.taken), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "server": facts.server_version,
        "uid": facts.cluster_uid,
        "options": dict(about.options),
        "facts": {name: plain(_as_real(fact, facts)) for name, fact in sorted(_FACTS.items()) if fact in facts.found},
        "objects": {
            name: [as_recorded(name, item) for item in sorted(items, key=_order) if not _of_the_rehearsal(item)]
            for name, items in sorted(facts.objects.items())
            if items
        },
    }
    document = _interned(without_secrets(document), shared)
    return yaml.dump(document, Dumper=_Dumper, default_flow_style=None, explicit_start=True, sort_keys=False, width=120)


@cache
def load(name: str) -> Facts:
    """The facts of a recorded cluster; ages are relative to the time of the recording."""
    data = yaml.load((CLUSTERS / name / "facts.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    objects: dict[str, tuple[Object, ...]] = dict.fromkeys(RESOURCES, ())
    given = data["options"].items()
    options: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given}
    expectations, _ = expectations_of(Options(**options), None)
    return Facts(
        replace(expectations, gang_from="recorded"),
        datetime.fromisoformat(data["taken"]).timestamp(),
        server_version=data["server"],
        cluster_uid=data["uid"],
        objects=objects | {kind: _as_kept(kind, found) for kind, found in data["objects"].items()},
        found={_FACTS[item]: read_back(_FACTS[item], found) for item, found in data["facts"].items()},
    )


def _as_kept(kind: str, items: Iterable[Object]) -> tuple[Object, ...]:
    """Recorded objects without what a run drops as it reads them, so that no check is judged by that."""
    found, trim = tuple(as_read(kind, item) for item in items), trim_of(kind)
    for item in found:
        trim(item)
    return found


def _as_real(fact: Fact[Any], facts: Facts) -> Any:
    """The fact as it would be if simulated nodes were real: their clocks, which nothing measures, agree."""
    value = facts.found[fact]
    if fact is CLOCKS:
        unmeasured = dict.fromkeys(sorted(facts.simulated_nodes - value.nodes.keys()), _SAME_CLOCK)
        server = (round(value.server[0], 1), round(value.server[1], 1))
        nodes = {name: (round(low, 1), round(high, 1)) for name, (low, high) in value.nodes.items()}
        return replace(value, server=server, nodes=nodes | unmeasured)
    return value


def _of_the_rehearsal(item: Object) -> bool:
    name: str = item["metadata"]["name"]
    return item["kind"].endswith("WebhookConfiguration") and name.startswith("rehearsal-")


def _order(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _interned(value: Any, shared: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {str(key): _interned(found, shared) for key, found in value.items()}
    if isinstance(value, list):
        return [_interned(item, shared) for item in value]
    return shared.setdefault(str(value), str(value)) if isinstance(value, str) else value
