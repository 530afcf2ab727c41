"""Alerts and dashboard: expressions that Prometheus accepts, checks that exist, panels that do not overlap."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from kubeflow_volcano.validators.checks import CHECKS
from tests.monitoring import alerts, dashboard, expressions, metrics_of, served
from tests.places import ROOT

PAGE = (ROOT / "docs/monitoring.md").read_text("utf-8")


@pytest.mark.parametrize("expression", list(expressions()))
def test_prometheus_accepts_each_expression(expression: str) -> None:
    assert metrics_of(expression)


def test_a_wrong_expression_is_seen() -> None:
    with pytest.raises(ValueError, match="parenthesis"):
        metrics_of("sum by (queue (volcano_queue_share)")


def test_metrics_and_labels_of_an_expression_and_of_an_answer() -> None:
    assert metrics_of('sum by (a) (rate(b_total{c="d"}[5m])) / e') == {"b_total": {"a", "c"}, "e": {"a"}}
    text = '# TYPE b counter\nb_total{c="d",f="g{h}"} 1\ne 2\n'
    assert served(text) == {"b_total": {"c", "f"}, "e": set()}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_an_alert_names_checks_that_exist_and_is_explained(alert: dict[str, dict[str, str]]) -> None:
    codes = alert["annotations"]["checks"].split(", ")
    assert set(codes) <= {check.id for check in CHECKS}
    assert alert["labels"]["severity"] in {"critical", "warning"}
    (row,) = re.findall(rf"^\| `{alert['alert']}` \|.*$", PAGE, re.MULTILINE)
    assert row.endswith(f"| {', '.join(codes)} |")


def test_panels_do_not_overlap_and_fit_the_width() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["description"] and panel["targets"] for panel in panels)
    places = sorted((item["gridPos"] for item in panels), key=lambda place: (place["y"], place["x"]))
    for one, other in pairwise(places):
        assert one["x"] + one["w"] <= 24
        assert one["y"] + one["h"] <= other["y"] or one["x"] + one["w"] <= other["x"]
