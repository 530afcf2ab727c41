"""Which upgrades a roll-out accepts, and what it says of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from kubeflow_volcano.catalog.edges import edges
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.scope import Scope, scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.versions.judge import describe_step, require_upgrade

FULL: Mapping[str, Any] = {"kubeflow_profile": "full"}


def every(release: str, *names: str, **others: str) -> dict[str, str]:
    return dict.fromkeys(names, release) | others


def judged(
    release: str, installed: Mapping[str, str], *, operator: str = "", check: bool = False, **more: Any
) -> tuple[str, ...]:
    settings = parse({"kubeflow_release": release, **more})
    return require_upgrade(settings, scope_of(settings), installed, operator=operator, check=check)


def refused(release: str, installed: Mapping[str, str], **more: Any) -> Problem:
    with pytest.raises(InvalidInput) as caught:
        judged(release, installed, **more)
    (problem,) = caught.value.problems
    return problem


def test_an_installation_and_a_second_run_bring_nothing() -> None:
    assert judged("1.9.1", {}) == ()
    assert judged("1.9.1", every("1.9.1", "katib", volcano="1.10.0"), **FULL) == ()


def test_an_upgrade_in_one_step_says_what_it_brings() -> None:
    installed = every("1.8.1", "oidc-authservice", "dex", "katib", "knative-eventing")
    notes = judged("1.9.1", installed, **FULL)
    assert len(notes) == 2
    assert all(note.startswith("upgrade from 1.8.1 to 1.9.1: ") for note in notes)
    assert "authn-filter" in notes[0]
    assert '{"kubeflow_prune": true}' in notes[0]
    assert "Knative Eventing" in notes[1]


def test_an_upgrade_over_several_releases_is_refused_with_the_path() -> None:
    problem = refused("26.03", every("1.8.1", "dex"), **FULL)
    assert re.fullmatch(r"Kubeflow 1\.8\.1 .*kubeflow_release .*26\.03\.", problem.found)
    steps = [f"{item} (Kubernetes" for item in ("1.9.1", "1.10.2", "1.11.0", "26.03")]
    assert all(step in problem.needed for step in steps)
    assert "1.11.0 (Kubernetes 1.34 " in problem.needed
    assert 'kubeflow_release: "1.9.1"' in problem.todo
    assert "1.10.2, 1.11.0, 26.03" in problem.todo


def test_a_downgrade_is_refused() -> None:
    problem = refused("1.8.1", every("1.9.1", "dex", "katib"), **FULL)
    assert 'kubeflow_release: "1.9.1"' in problem.todo
    assert "go back" in problem.needed


def test_an_upgrade_that_ended_half_way_goes_on() -> None:
    installed = every("1.9.1", "dex", "istio") | every("1.8.1", "katib", "knative-eventing")
    assert len(judged("1.9.1", installed, **FULL)) == 1


def test_what_an_earlier_upgrade_left_behind_does_not_count() -> None:
    installed = every("1.9.1", "dex") | every("1.8.1", "knative-eventing")
    assert judged("1.10.2", installed, volcano_version="1.13.3", **FULL) == ()


def test_a_part_is_judged_by_itself() -> None:
    settings = parse({"kubeflow_release": "26.03", "kubeflow_profile": "full"})
    assert require_upgrade(settings, Scope((settings.component("local-path"),)), every("1.8.1", "dex")) == ()


def test_data_that_would_be_lost_from_view_has_to_be_confirmed() -> None:
    installed = every("1.10.2", "pipelines", "dex")
    problem = refused("1.11.0", installed, **FULL)
    assert "kubeflow/minio-pvc" in problem.found
    assert "mc mirror" in problem.todo
    assert problem.todo.endswith("kubeflow_upgrade_confirmed: [minio].")
    notes = judged("1.11.0", installed, kubeflow_upgrade_confirmed=["minio"], **FULL)
    assert any("SeaweedFS" in note for note in notes)


def test_check_mode_describes_what_has_to_be_confirmed() -> None:
    notes = judged("1.11.0", every("1.10.2", "pipelines"), check=True, **FULL)
    assert any("kubeflow_upgrade_confirmed: [minio]" in note for note in notes)


def test_an_operator_that_the_profile_replaces_has_to_be_confirmed() -> None:
    """The profile training has the training operator up to 1.10.2 and the Trainer from 1.11.0 on."""
    problem = refused("1.11.0", every("1.10.2", "training-operator"))
    assert "kubeflow_upgrade_confirmed: [training-operator]" in problem.todo
    both = ["local-path", "volcano", "trainer", "training-operator"]
    assert judged("1.11.0", every("1.10.2", "training-operator"), kubeflow_components=both) == ()


def test_volcano_alone_is_an_upgrade_too() -> None:
    notes = judged("1.9.1", {"volcano": "1.10.0"}, volcano_version="1.12.2")
    assert re.search(r"Volcano .*1\.10\.0 .*1\.12\.2", notes[0])
    assert "podgroups-mutate" in notes[1]


def test_another_training_operator_is_an_upgrade_within_a_release() -> None:
    """Kinds and webhooks: manifests of kubeflow/training-operator at v1.7.0, v1.8.1 and v1.9.3."""
    installed = every("1.9.1", "training-operator")
    begin = "upgrade of Training operator from 1.8.1 to 1.9.3"
    notes = judged("1.9.1", installed, operator="1.8.1", training_operator_version="1.9.3")
    assert notes[0] == begin
    assert [note for note in notes[1:] if note.startswith(f"{begin}: ") and "mxjobs.kubeflow.org" in note]
    assert judged("1.9.1", installed, operator="1.8.1") == ()
    assert judged("1.9.1", installed, training_operator_version="1.9.3") == ()  # which one runs is not known
    notes = judged("1.9.1", installed, operator="1.9.3")
    assert re.search(r"Training operator .*1\.9\.3 .*1\.8\.1", notes[0])
    (unknown,) = judged("1.9.1", installed, operator="1.4.0")[1:]
    assert "not known" in unknown


def test_the_steps_of_a_training_operator_are_those_of_the_one_that_runs() -> None:
    """The release 1.8.1 has 1.7.0, whose webhooks are fewer than those of 1.8.1."""
    installed = every("1.8.1", "training-operator")
    assert any("may refuse" in note for note in judged("1.9.1", installed, operator="1.7.0"))
    assert judged("1.9.1", installed, operator="1.8.1") == ()
    assert judged("1.9.1", installed) == judged("1.9.1", installed, operator="")  # by the entries of the releases


def test_an_older_volcano_is_refused() -> None:
    assert 'volcano_version: "1.12.2"' in refused("1.9.1", {"volcano": "1.12.2"}, volcano_version="1.10.0").todo
    assert re.search(r"kubeflow_release .*Volcano 1\.15\.1", refused("1.9.1", {"volcano": "1.15.1"}).todo)


def test_a_run_that_prunes_is_not_told_to_prune() -> None:
    steps = [step for edge in edges() for step in edge.steps if "kubeflow_prune" in step.todo and not step.confirm]
    assert len(steps) >= 3
    assert not [step.id for step in steps if '"kubeflow_prune"' in describe_step(step, prunes=True)]
    assert all('"kubeflow_prune"' in describe_step(step) for step in steps)


def test_what_an_uninstallation_left_is_not_called_installed() -> None:
    claim = Ref("v1", "PersistentVolumeClaim", "kubeflow", "mysql-pv-claim")
    settings = parse({"kubeflow_release": "1.9.1", **FULL})
    installed = every("1.10.2", "pipelines")
    with pytest.raises(InvalidInput) as caught:
        require_upgrade(settings, scope_of(settings), installed, remaining={"pipelines": (claim,)})
    (problem,) = caught.value.problems
    assert "is installed" not in problem.found
    assert str(claim) in problem.found
    with pytest.raises(InvalidInput, match="is installed"):
        require_upgrade(
            settings, scope_of(settings), every("1.10.2", "pipelines", "dex"), remaining={"pipelines": (claim,)}
        )
