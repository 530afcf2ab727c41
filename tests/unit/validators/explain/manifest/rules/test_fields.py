"""Fields: schedulerName in the wrong place, fields that nothing knows, values of other types."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.validators.explain.manifest.model import Flaw
from tests.samples.manifests import findings, made, reasons, tfjob, vcjob

POD = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
SCHEMAS = {
    "kubeflow.org/v1": {
        "v1.TFJob": {
            "x-kubernetes-group-version-kind": [{"group": "kubeflow.org", "version": "v1", "kind": "TFJob"}],
            "properties": {
                "apiVersion": {},
                "kind": {},
                "metadata": {"allOf": [{"$ref": "#/components/schemas/Meta"}]},
                "spec": {
                    "properties": {
                        "runPolicy": {"properties": {"schedulingPolicy": {"properties": {"queue": {}}}}},
                        "tfReplicaSpecs": {"additionalProperties": {"properties": {"replicas": {}, "template": {}}}},
                    }
                },
            },
        },
        "Meta": {"properties": {"name": {}, "namespace": {}, "labels": {"additionalProperties": {"type": "string"}}}},
    }
}


@pytest.mark.parametrize("offline", [True, False])
def test_a_scheduler_name_beside_the_templates_is_no_field(offline: bool) -> None:  # noqa: FBT001
    (found,) = findings(tfjob(schedulerName="volcano"), offline=offline)
    assert found.reason == "SchedulerNameMisplaced"
    assert found.problem.found.startswith("spec.schedulerName: ")
    assert "spec.tfReplicaSpecs.Worker.template.spec.schedulerName" in found.problem.needed


def test_a_scheduler_name_is_found_at_any_depth_but_in_pods() -> None:
    job = tfjob({"schedulerName": "volcano", "spec": {"schedulerName": "volcano"}}, policy={"schedulerName": "volcano"})
    (found,) = findings(job)
    assert found.problem.found.startswith(
        "spec.tfReplicaSpecs.Worker.template.schedulerName, spec.runPolicy.schedulingPolicy.schedulerName:"
    )


@pytest.mark.parametrize(
    "manifest",
    [
        vcjob(schedulerName="volcano"),
        made("v1", "Pod", "p", spec={**POD, "schedulerName": "volcano"}),
        made("apps/v1", "Deployment", "d", spec={"template": {"spec": {**POD, "schedulerName": "volcano"}}}),
        made("example.org/v1", "Other", "o", spec={"schedulerName": "volcano"}),
    ],
)
def test_a_scheduler_name_that_the_kind_has_or_may_have_is_left_alone(manifest: Any) -> None:
    assert "SchedulerNameMisplaced" not in reasons(manifest, offline=True)


def test_fields_that_the_schema_lacks_are_named_with_what_may_be_meant() -> None:
    job = tfjob(policy={"queu": "default"}, replica=2)
    job["metadata"]["labels"] = {"any": "label"}
    (found,) = findings(job, schemas=SCHEMAS)
    assert found.reason == "UnknownField"
    for word in ("2 fields", "TFJob of kubeflow.org/v1", "spec.runPolicy.schedulingPolicy.queu.", "mean queue?"):
        assert word in found.problem.found
    assert found.details == ("spec.replica.",)


def test_known_fields_and_those_of_free_form_are_no_unknown_ones() -> None:
    assert reasons(tfjob({"anything": 1}, policy={"queue": "default"}), schemas=SCHEMAS) == []
    assert reasons(tfjob(schedulerName="volcano"), schemas=SCHEMAS) == ["SchedulerNameMisplaced"]


def test_values_of_another_type_are_one_finding_and_nothing_else_is_judged() -> None:
    job = tfjob(policy={"minAvailable": "two"}, schedulerName="volcano")
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "1 core"}
    }
    (found,) = findings(job)
    assert found.reason == "WrongType"
    texts = [found.problem.found, *found.details]
    assert any("spec.runPolicy.schedulingPolicy.minAvailable: 'two' " in text for text in texts)
    assert any(re.search(r"containers\[0\]\.resources\.requests\.cpu: '1 core' .* write 1\b", text) for text in texts)


@pytest.mark.parametrize("spec", [None, [], "x", {"tasks": {}}, {"tasks": [None]}, {"minAvailable": 1.5}])
def test_no_shape_of_a_spec_ends_in_a_traceback(spec: Any) -> None:
    job = made("batch.volcano.sh/v1alpha1", "Job", "j", spec=spec)
    assert reasons(job) == ["WrongType"]


def test_where_the_kind_has_a_field_of_that_name_is_said() -> None:
    (found,) = findings(tfjob(queue="default"), schemas=SCHEMAS)
    assert found.reason == "UnknownField"
    assert "One of that name is in spec.runPolicy.schedulingPolicy.queue." in found.problem.found


def test_a_field_is_moved_to_the_only_place_of_its_name() -> None:
    job = tfjob()
    job["spec"]["cleanPodPolicy"] = "All"
    (found,) = findings(job)
    assert found.reason == "UnknownField"
    assert isinstance(found, Flaw)
    assert [item.path for item in found.edits] == [("spec", "runPolicy", "cleanPodPolicy"), ("spec", "cleanPodPolicy")]
    mpi = made("kubeflow.org/v1", "MPIJob", "m", spec={"cleanPodPolicy": "All", "mpiReplicaSpecs": {}})
    assert "UnknownField" not in reasons(mpi, offline=True)
