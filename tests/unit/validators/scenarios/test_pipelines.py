"""The Workflow on paper: held against Argo's own schema, its job against what the step may do."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from validators.scenarios.job_kinds import JOBS
from validators.scenarios.pipelines import CASES, contradicted, manifest, rights, whole, workflow
from validators.scenarios.testing import group, history, pod

ARCHIVES = {
    "argo-workflows-3.7.3.tar.gz": "argo-workflows-3.7.3/manifests/base/crds/full/argoproj.io_workflows.yaml",
    "manifests-1.9.1.tar.gz": (
        "manifests-1.9.1/apps/pipeline/upstream/third-party/argo/upstream/manifests/base/crds/full/"
        "argoproj.io_workflows.yaml"
    ),
}


@pytest.fixture(scope="module", params=ARCHIVES)
def schema(request: pytest.FixtureRequest) -> jsonschema.Draft202012Validator:
    """Argo's schema of a Workflow, in which a field that it does not know is an error."""
    archive = Path(__file__).parents[5] / "shared" / "upstream" / request.param
    if not archive.is_file():
        pytest.skip("no upstream manifests beside the checkout")
    with tarfile.open(archive) as packed:
        member = packed.extractfile(ARCHIVES[request.param])
        assert member is not None
        crd = yaml.load(member, yaml.CSafeLoader)
    (version,) = crd["spec"]["versions"]
    return jsonschema.Draft202012Validator(strict(version["schema"]["openAPIV3Schema"]))


def strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: strict(value) for key, value in schema.items()}
    closed = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if closed and not schema.get("x-kubernetes-preserve-unknown-fields"):
        inner.setdefault("additionalProperties", False)
    return inner


def step() -> Any:
    (template,) = workflow("n")["spec"]["templates"]
    return template["resource"]


def test_the_workflow_is_one_by_argos_schema(schema: jsonschema.Draft202012Validator) -> None:
    schema.validate(workflow("n"))


def test_the_schema_knows_a_misspelt_field(schema: jsonschema.Draft202012Validator) -> None:
    wrong = workflow("n")
    wrong["spec"]["templates"][0]["resource"]["sucessCondition"] = "x"

    with pytest.raises(jsonschema.ValidationError, match="sucessCondition"):
        schema.validate(wrong)


def test_the_step_creates_a_job_of_its_workflows_name_and_waits_for_its_end() -> None:
    made = yaml.safe_load(step()["manifest"])

    assert (made["kind"], made["metadata"]["name"]) == ("PyTorchJob", "{{workflow.name}}")
    assert set(made["spec"]["pytorchReplicaSpecs"]) == set(JOBS["PyTorchJob"]) == {"Master", "Worker"}
    assert "Master.succeeded" in step()["successCondition"]
    assert {"Master.failed", "Worker.failed"} <= {
        part.strip().split(" ")[0].removeprefix("status.replicaStatuses.")
        for part in step()["failureCondition"].split(",")
    }


def test_the_workflow_runs_as_the_account_that_has_the_role() -> None:
    account, role, binding = rights("n")

    assert workflow("n")["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert [item["name"] for item in binding["subjects"]] == [account["metadata"]["name"]]
    assert all("*" not in rule["verbs"] + rule["resources"] for rule in role["rules"])


def test_without_rights_there_is_the_account_alone() -> None:
    assert [item["kind"] for item in manifest("n", allowed=False)] == ["ServiceAccount", "Workflow"]
    assert [case.control for case in CASES] == [True, False]


def test_whole_is_a_gang_of_all_three_on_nodes() -> None:
    roles = ("master-0", "worker-0", "worker-1")
    placed = [pod(f"gang-training-{role}", node="gpu-1", job="gang-training") for role in roles]

    assert whole(history(group("Running", 3), *placed), "gang-training", 3)
    assert not whole(history(group("Running", 3), *placed[:2]), "gang-training", 3)
    assert not whole(history(*placed), "gang-training", 3), "pods of no gang"


def test_a_gang_that_is_not_all_of_the_job_contradicts_the_claim() -> None:
    assert "asks for 1 members instead of 3" in contradicted(history(group("Inqueue", 1)), "gang-training", 3)
    placed = history(pod("gang-training-master-0", node="gpu-1", job="gang-training"), group("Running", 3))
    assert contradicted(placed, "gang-training", 3) == ""
    placed.holdings = [(at - 10.0, names) for at, names in placed.holdings]
    assert "not all for 10" in contradicted(placed, "gang-training", 3)
