"""The files of docs/monitoring as data: which metrics, with which labels, their expressions read."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import promql_parser
import yaml

from kubeflow_volcano.cluster.objects import Object
from tests.places import ROOT

HOME = ROOT / "docs/monitoring"
_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ")
_LABEL = re.compile(r'(\w+)="')


def objects() -> list[Object]:
    return list(yaml.safe_load_all((HOME / "prometheus.yaml").read_text("utf-8")))


def monitors() -> list[Object]:
    return [obj for obj in objects() if obj["kind"] == "ServiceMonitor"]


def alerts() -> list[Mapping[str, Any]]:
    (rule,) = (obj for obj in objects() if obj["kind"] == "PrometheusRule")
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


def dashboard() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads((HOME / "grafana.json").read_text("utf-8"))
    return loaded


def expressions() -> Iterator[str]:
    """Every PromQL expression of the alerts and the dashboard; its variables stand for any value."""
    for alert in alerts():
        yield alert["expr"]
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield target["expr"].replace("$queue", ".*")


def metrics_of(expression: str) -> Mapping[str, set[str]]:
    """The metrics that it reads, each with the labels that it selects or groups by.

    Raises:
        ValueError: Prometheus would not accept it.
    """
    found: dict[str, set[str]] = defaultdict(set)
    grouped: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found[str(node.name)] |= {matcher.name for matcher in node.matchers.matchers}
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier:
            grouped.update(node.modifier.labels)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return {name: labels | grouped for name, labels in found.items()}


def served(text: str) -> Mapping[str, set[str]]:
    """The metrics of an answer in Prometheus' text format, each with the labels of its samples."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in text.splitlines():
        if match := _SAMPLE.match(line):
            found[match[1]] |= set(_LABEL.findall(match[2] or ""))
    return found
