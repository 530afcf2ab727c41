"""The Workflow on paper: held against Argo's own schema, its job against what the step may do."""

from __future__ import annotations

import tarfile
from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import pytest
import yaml

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.gang_demo.play.stand import Stand
from kubeflow_volcano.gang_demo.scenarios import pipelines
from kubeflow_volcano.gang_demo.scenarios.job_kinds import JOBS
from kubeflow_volcano.gang_demo.scenarios.pipelines import CASES, manifest, rights, workflow
from tests.places import UPSTREAM

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
    archive = UPSTREAM / request.param
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


class TestRights:
    """What the server answers about the account, which learns of a Role a moment after it was made."""

    @staticmethod
    def play(monkeypatch: pytest.MonkeyPatch, *answers: str) -> Any:
        """The case without rights, when the server answers so, round by round."""
        acts = 6
        said = (answer == "yes" for answer in answers for _ in range(acts))
        monkeypatch.setattr(pipelines, "_may", lambda *_: next(said))
        monkeypatch.setattr(pipelines, "_RIGHTS_SECONDS", 60.0 if len(answers) > 1 else 0.0)
        monkeypatch.setattr(pipelines, "_RETRY_SECONDS", 0.0)
        stand = SimpleNamespace(
            namespace=lambda: "n",
            create=lambda *_: (),
            deadline=Deadline(60),
            outcome=lambda _, problem, **more: SimpleNamespace(problem=problem, **more),
        )
        return CASES[0].run(cast("Stand", stand))

    def test_an_answer_that_is_not_the_expected_one_yet_is_asked_for_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outcome = self.play(monkeypatch, "yes", "no")

        assert outcome.problem == ""
        assert {answer for _, answer in outcome.rows} == {"no"}

    def test_one_that_stays_is_not_as_claimed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "create pytorchjobs" in self.play(monkeypatch, "yes").problem
