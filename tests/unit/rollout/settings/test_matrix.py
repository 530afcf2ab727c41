"""Versions that do not go together are refused with the pair that fails and the nearest one that works."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import parse


def refused(version: str, **variables: Any) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as caught:
        require_kubernetes(parse(variables), version)
    return caught.value.problems


@pytest.mark.parametrize("release", read.releases())
def test_every_release_goes_with_the_kubernetes_that_it_was_tested_with(release: str) -> None:
    settings = parse({"kubeflow_release": release, "kubeflow_profile": "full"})
    warnings = require_kubernetes(settings, f"v{settings.release.kubernetes_tested}.1")
    assert [line for line in warnings if "Kubeflow" in line] == []


def test_kubernetes_of_the_rehearsal_cluster_fits() -> None:
    assert require_kubernetes(parse({}), "v1.30.2") == ()


def test_a_release_is_refused_below_what_it_is_made_for_and_the_nearest_that_works_is_named() -> None:
    (problem,) = refused("v1.22.17")
    assert re.search(r"v1\.22\.17, .*Kubeflow 1\.9\.1 .*1\.29", problem.found)
    assert "1.29 and later" in problem.needed
    for line in ('kubeflow_release: "1.6.1"', 'volcano_version: "1.8.2"'):
        assert line in problem.todo


def test_a_release_is_refused_where_its_apis_are_gone() -> None:
    (problem,) = refused("v1.25.3", kubeflow_release="1.6.1")
    assert re.search(r"1\.6\.1 .*1\.21 to 1\.24", problem.found)
    assert 'kubeflow_release: "1.7.0"' in problem.todo


@pytest.mark.parametrize(("version", "release"), [("v1.26.1", "1.8.1"), ("v1.30.2", "1.9.1"), ("v1.28.0", "1.7.0")])
def test_the_way_out_is_a_release_that_was_tested_there_where_there_is_one(version: str, release: str) -> None:
    (problem,) = refused(version, kubeflow_release="1.6.1")
    assert f'set kubeflow_release: "{release}"' in problem.todo


def test_a_volcano_is_refused_below_what_it_is_made_for_and_a_fitting_one_is_named() -> None:
    release = {"kubeflow_release": "1.10.2", "volcano_version": "1.15.1"}
    assert len(refused("v1.22.17", **release)) == 2


def test_a_kubernetes_above_the_range_of_a_volcano_that_the_release_lists_is_a_warning() -> None:
    settings = parse({"kubeflow_release": "26.03", "volcano_version": "1.10.0"})
    first, second = require_kubernetes(settings, "v1.35.4")
    assert re.fullmatch(r".* v1\.35\.4 is newer .*Kubeflow 26\.03 .*\(1\.34\)\.", first)
    assert re.fullmatch(r".* v1\.35\.4 is newer .*Volcano 1\.10\.0 .*\(1\.21 to 1\.30\)\.", second)


@pytest.mark.parametrize("version", ["v1.36.3", "v1.37.2"])
def test_a_kubernetes_newer_than_all_that_was_tested_is_told_and_not_refused(version: str) -> None:
    """README of Volcano at ed72c7c has 1.36 for what comes after 1.15."""
    for wanted in (
        {"kubeflow_release": "26.03.1"},
        {"kubeflow_release": "1.10.2", "gang_scheduling_scheduler": "none"},
    ):
        warnings = require_kubernetes(parse({**wanted, "plan_kubernetes": version[1:5]}), version)
        assert warnings[0].startswith(f"Kubernetes {version} is newer")


def test_a_kubernetes_below_what_upstream_targets_is_a_warning_where_all_parts_ask_for_less() -> None:
    settings = parse({"kubeflow_release": "1.10.2", "volcano_version": "1.10.0"})
    (warning,) = require_kubernetes(settings, "v1.30.2")
    assert re.fullmatch(r".* v1\.30\.2 is older .*Kubeflow 1\.10\.2 .*\(1\.32 to 1\.33\)\.", warning)


def test_a_refusal_names_a_kubernetes_also_where_the_volcano_is_older_than_it() -> None:
    (problem,) = refused("v1.30.2", kubeflow_release="1.11.0", volcano_version="1.10.0")
    assert "1.34 and later" in problem.needed


def test_without_volcano_its_range_does_not_count() -> None:
    variables = {"kubeflow_components": ["training-operator"], "gang_scheduling_scheduler": "none"}
    assert all("Volcano" not in line for line in require_kubernetes(parse(variables), "v1.34.0"))


def test_a_kubernetes_older_than_everything_has_no_way_out_but_another_one() -> None:
    problems = refused("v1.15.0")
    assert all("no release" in problem.todo and "set " not in problem.todo for problem in problems)
    assert len(problems) == 2


@pytest.mark.parametrize(
    ("variables", "found", "todo"),
    [
        (
            {"kubeflow_release": "1.6.1", "volcano_version": "1.15.1"},
            "volcano_version is 1.15.1, kubeflow_release is 1.6.1.",
            'set volcano_version: "1.12.2".',
        ),
        (
            {"kubeflow_release": "26.03", "volcano_version": "1.8.2"},
            "volcano_version is 1.8.2, kubeflow_release is 26.03.",
            'set volcano_version: "1.10.0".',
        ),
        (
            {"kubeflow_release": "1.7.0", "kustomize_version": "3.2.0"},
            "kustomize_version is 3.2.0, kubeflow_release is 1.7.0.",
            'set kustomize_version: "5.0.3", or remove it.',
        ),
    ],
)
def test_pairs_of_the_inventory_that_do_not_go_together(variables: dict[str, str], found: str, todo: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(variables)
    (problem,) = caught.value.problems
    assert problem.found == found
    assert problem.todo == todo


def test_a_newer_kustomize_may_build_an_old_release() -> None:
    assert parse({"kubeflow_release": "1.6.1", "kustomize_version": "5.4.3"}).kustomize_version == "5.4.3"
