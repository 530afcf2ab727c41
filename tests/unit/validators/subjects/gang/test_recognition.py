"""Which gang scheduler a cluster is judged by where nobody says so, and whose finding it is when its parts disagree."""

from __future__ import annotations

from typing import ClassVar, cast

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.checks.operator.operator import gang_flag
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.options import Options, expectations_of
from kubeflow_volcano.validators.subjects.gang.recognition import named_by
from tests.samples.facts import deployment, facts
from tests.samples.stored import Stored

V, P, K = VOLCANO.name, SCHEDULER_PLUGINS.name, KUBERNETES.name
TAGS = {"1.5.0": "v1-e1434f6", "1.6.0": "v1-5a5f92d", "1.8.1": "v1-04f9f13"}
NAMED = f"--gang-scheduler-name={SCHEDULER_PLUGINS.scheduler}"


def operator(version: str, *arguments: str) -> Object:
    image = f"docker.io/kubeflow/training-operator:{TAGS.get(version, 'mine')}"
    container = {"name": "training-operator", "image": image, "args": list(arguments)}
    return deployment("kubeflow/training-operator", containers=[container])


class Part(Stored):
    """The part of a cluster that this is known from: the PodGroups that it serves, and its Deployments."""

    version: ClassVar[dict[str, str]] = {"gitVersion": "v1.30.2"}

    def __init__(self, served: tuple[str, ...], *objects: Object) -> None:
        super().__init__(*objects)
        self._groups = {item.group for item in (VOLCANO, SCHEDULER_PLUGINS, KUBERNETES) if item.name in served}

    def resource(self, api_version: str, kind: str) -> None:
        if api_version.partition("/")[0] not in self._groups:
            raise NotServed(api_version, kind)


@pytest.mark.parametrize(
    ("served", "version", "arguments", "gang", "reason"),
    [
        ((P,), "1.8.1", (NAMED,), P, "AsClaimed"),
        ((P,), "1.8.1", (), P, "GangOff"),
        ((P,), "1.8.1", ("--gang-scheduler-name=volcano",), P, "GangOther"),
        ((P,), "1.5.0", ("--enable-gang-scheduling=true",), P, "GangUnknown"),
        ((V,), "1.8.1", ("--gang-scheduler-name=volcano",), V, "AsClaimed"),
        ((V,), "1.8.1", (NAMED,), V, "GangOther"),
        ((V, P), "1.8.1", (NAMED,), P, "AsClaimed"),
        ((V, P), "1.8.1", ("--gang-scheduler-name=volcano",), V, "AsClaimed"),
        ((V, P), "1.8.1", (), V, "GangOff"),
        ((), "1.8.1", (NAMED,), P, "AsClaimed"),
        ((), "1.8.1", ("--enable-gang-scheduling=true",), V, "UnknownFlag"),
    ],
)
def test_what_is_installed_tells_then_the_operator_and_g1_finds_what_contradicts_it(
    served: tuple[str, ...], version: str, arguments: tuple[str, ...], gang: str, reason: str
) -> None:
    running = operator(version, *arguments)
    expected, _ = expectations_of(Options(), cast("Cluster", Part(served, running)))
    outcome = gang_flag(facts(running, expected=expected))
    assert (expected.gang_scheduler, outcome.reason) == (gang, reason)
    assert (expected.gang_from in outcome.message) == (reason in {"GangOff", "GangOther", "GangUnknown", "UnknownFlag"})


@pytest.mark.parametrize(
    ("version", "arguments", "gang"),
    [
        ("1.5.0", ("--enable-gang-scheduling",), VOLCANO),
        ("1.5.0", ("--gang-scheduler-name=volcano",), None),
        ("1.6.0", ("--gang-scheduler-name=volcano",), VOLCANO),
        ("1.6.0", (NAMED,), None),
        ("1.8.1", ("--gang-scheduler-name", "Volcano"), VOLCANO),
        ("1.8.1", ("--gang-scheduler-name=scheduler-plugins",), SCHEDULER_PLUGINS),
        ("1.8.1", ("--gang-scheduler-name=",), None),
        ("1.8.1", (), None),
        ("unknown", (NAMED,), SCHEDULER_PLUGINS),
    ],
)
def test_arguments_mean_what_their_era_makes_of_them(version: str, arguments: tuple[str, ...], gang: object) -> None:
    assert named_by(operator(version, *arguments)) is gang


def test_an_operator_of_which_nothing_is_known_names_nobody() -> None:
    assert named_by(operator("unknown", NAMED), "2.1.0") is None


def test_who_is_asked_for_is_not_looked_for() -> None:
    cluster = cast("Cluster", Part((P,), operator("1.8.1", NAMED)))
    for options in (
        Options(gang_scheduler=V),
        Options(gang_scheduler="none"),
        Options(profile=("local-path", V)),
    ):
        expected, _ = expectations_of(options, cluster)
        assert expected.gang_from == "given"
        assert expected.gang_scheduler == (options.gang_scheduler if options.gang_scheduler != "auto" else V)


def test_a_release_that_is_given_leaves_the_gang_scheduler_open() -> None:
    expected, how = expectations_of(Options(release="1.8.1"), cast("Cluster", Part((P,))))
    assert (expected.release, how, expected.gang_scheduler) == ("1.8.1", "given", P)
    assert P in expected.components
    assert expectations_of(Options(release="1.8.1"), None)[0].gang_from.startswith("default")


def test_the_report_says_by_whom_gangs_are_judged_and_who_says_so() -> None:
    expected, how = expectations_of(Options(), cast("Cluster", Part((P,))))
    report = Report("0badcafe", {}, "here", expected.release, how, 0.0, 1.0, 1.0, (), facts(expected=expected))
    run = report.as_dict()["run"]
    assert (run["gang_scheduler"], run["gang_scheduler_from"]) == (P, "only its PodGroups are served")


def test_the_report_says_that_kubernetes_makes_gangs_beside_the_one_that_is_judged() -> None:
    expected, _ = expectations_of(Options(), cast("Cluster", Part((V, K))))
    assert (expected.gang_scheduler, "Kubernetes" in expected.gang_from) == (V, True)


def scheduler(name: str) -> Object:
    found = deployment(name)
    found["metadata"]["labels"] = {"app": "volcano-scheduler"}
    return found


@pytest.mark.parametrize(
    ("running", "found"),
    [
        ((), "volcano-system/volcano-scheduler"),
        (("volcano-system/volcano-scheduler",), "volcano-system/volcano-scheduler"),
        (("batch-system/volcano-scheduler",), "batch-system/volcano-scheduler"),
        (("team/gangs-scheduler",), "team/gangs-scheduler"),
        (("team/gangs-scheduler", "batch-system/volcano-scheduler"), "volcano-system/volcano-scheduler"),
    ],
)
def test_volcano_is_expected_where_its_only_scheduler_is(running: tuple[str, ...], found: str) -> None:
    cluster = Part((V,), operator("1.8.1", "--gang-scheduler-name=volcano"), *map(scheduler, running))
    expected, _ = expectations_of(Options(), cast("Cluster", cluster))
    assert f"{expected.scheduler.namespace}/{expected.scheduler.name}" == found
    assert expected.scheduler in expected.workloads


def test_a_scheduler_that_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match="--volcano-scheduler batch-system"):
        expectations_of(Options(release="1.9.1", gang_scheduler=V, volcano_scheduler="batch-system"), None)
