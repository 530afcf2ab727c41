"""The examples: their heads, their gangs, the page about them, and the pipeline, which is run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog import examples as module
from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.examples import HOME, Example, example_kinds, examples, load_example
from kubeflow_volcano.problems import InvalidInput
from tests.pages.examples import PAGE, with_table
from tests.places import ROOT

EACH = pytest.mark.parametrize("example", examples(), ids=lambda item: item.name)
ROLES = (
    "tfReplicaSpecs",
    "pytorchReplicaSpecs",
    "mpiReplicaSpecs",
    "xgbReplicaSpecs",
    "paddleReplicaSpecs",
    "jaxReplicaSpecs",
)
OPERATOR = {item.kind for item in example_kinds() if item.component == "training-operator"}
DEMANDED = {
    *(f"jobs/{kind.lower()}" for kind in OPERATOR),
    *("jobs/trainjob", "jobs/vcjob", "notebook", "tensorboard", "pipeline", "experiment", "inferenceservice"),
    *("scheduling/queues", "scheduling/priorities", "scheduling/task-topology"),
}


def jobs(example: Example) -> list[dict[str, Any]]:
    return [obj for obj in example.with_trials if obj["kind"] in OPERATOR]


def pod_specs(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from pod_specs(item)
    elif isinstance(value, dict):
        if "containers" in value:
            yield value
        else:
            for item in value.values():
                yield from pod_specs(item)


def test_there_is_one_for_everything_that_a_user_creates() -> None:
    assert {item.name for item in examples()} >= DEMANDED
    assert {item for example in examples() for item in example.kinds} == {*example_kinds()}


def test_they_are_those_of_the_checkout() -> None:
    assert HOME.resolve() == ROOT / "examples"


def test_the_page_has_a_row_for_each() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert text == with_table(text), "run make generate"
    assert all(f"[{item.path}]({item.path})" in text for item in examples())


def begin_of(example: Example) -> str:
    """On what test_example_gangs.py, test_katib.py and test_object_store.py in tests/integration start it."""
    kinds = {item.kind for item in example.kinds}
    if "Experiment" in kinds or ("/" in example.name and kinds & {"JAXJob", "TrainJob"}):
        return "on Kubernetes 1.35.4 with Volcano 1.15.1"
    gang = {obj["apiVersion"] for obj in example.objects} & {"batch.volcano.sh/v1alpha1", "kubeflow.org/v1"}
    started = gang and ("/" in example.name or example.name == "object-store")
    return "on Kubernetes 1.30.2 with Volcano 1.10.0" if started else "by no controller"


@EACH
def test_its_head_says_what_one_sees_and_what_is_known_of_the_images(example: Example) -> None:
    assert all(len(text) > 20 for text in (example.title, example.sees))
    assert example.gpus.endswith(".")
    assert example.images.endswith(".")
    assert example.started.startswith(begin_of(example)), "what the tests of integration start, and no more"
    assert "@sha256:" not in (HOME / example.path).read_text(encoding="utf-8")


@EACH
def test_objects_have_names_of_examples_and_no_namespace(example: Example) -> None:
    for obj in example.objects:
        assert obj["metadata"]["name"].startswith("example")
        assert "namespace" not in obj["metadata"]


@EACH
def test_every_container_of_a_gang_has_requests_and_no_sidecar(example: Example) -> None:
    for obj in example.with_trials:
        if obj["kind"] not in {*OPERATOR, "Job"}:
            continue
        specs = [*pod_specs(obj["spec"])]
        assert specs
        for container in (container for spec in specs for container in spec["containers"]):
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
        tasks = obj["spec"].get("tasks") or [role for key in ROLES for role in obj["spec"].get(key, {}).values()]
        for task in tasks:
            assert task["template"]["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"


@EACH
def test_a_gang_of_the_training_operator_is_all_of_its_replicas(example: Example) -> None:
    for job in jobs(example):
        (key,) = [key for key in ROLES if key in job["spec"]]
        policy = job["spec"]["runPolicy"]["schedulingPolicy"]
        assert policy["minAvailable"] == sum(role["replicas"] for role in job["spec"][key].values())
        assert policy["queue"] == "default"
        assert "scheduleTimeoutSeconds" not in policy, "Kubeflow 1.6.1 does not have it"
        assert not any("schedulerName" in spec for spec in pod_specs(job["spec"]))


@EACH
def test_a_vcjob_names_scheduler_and_queue_and_is_whole(example: Example) -> None:
    for job in (obj for obj in example.objects if obj["kind"] == "Job"):
        spec = job["spec"]
        assert spec["schedulerName"] == "volcano"
        assert spec["queue"] in {"default", "example-research"}
        assert spec["minAvailable"] == sum(task["replicas"] for task in spec["tasks"])


def test_a_runtime_of_ones_own_has_both_fields_that_make_the_gang() -> None:
    runtime, job = load_example("jobs/trainjob-own-runtime").objects
    assert runtime["spec"]["podGroupPolicy"] == {"volcano": {}}
    assert [spec["schedulerName"] for spec in pod_specs(runtime["spec"])] == ["volcano"]
    assert job["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]


def test_the_first_release_is_that_of_the_newest_kind() -> None:
    found = {item.name: item.since for item in examples()}
    assert (found["jobs/tfjob"], found["jobs/jaxjob"], found["jobs/vcjob"]) == ("1.6.1", "1.10.2", None)
    assert found["experiment-trainjob"] == "1.11.0"
    assert {item.since for item in example_kinds()} - {None} <= {*read.releases()}


@pytest.mark.programs
def test_the_steps_of_the_pipeline_predict(tmp_path: Path) -> None:
    workflow = load_example("pipeline").objects[-1]
    templates = {item["name"]: item for item in workflow["spec"]["templates"]}
    order = [task["name"] for task in templates["steps"]["dag"]["tasks"]]
    assert order == ["prepare", "train", "evaluate", "predict"]
    said = ""
    for name in order:
        container = templates[name]["container"]
        assert container["command"] == ["python", "-c"]
        script = container["args"][0].replace("/work/", f"{tmp_path}/")
        said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "x = 12, y = 25"
    assert said.strip() in load_example("pipeline").sees


@pytest.mark.programs
def test_a_model_that_is_wrong_predicts_nothing(tmp_path: Path) -> None:
    workflow = load_example("pipeline").objects[-1]
    (evaluate,) = [item for item in workflow["spec"]["templates"] if item["name"] == "evaluate"]
    (tmp_path / "data.csv").write_text("1,3\n")
    (tmp_path / "model.json").write_text('{"slope": 2, "intercept": 0}')
    script = evaluate["container"]["args"][0].replace("/work/", f"{tmp_path}/")
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert done.returncode
    assert "largest error 1" in done.stderr


EXPERIMENTS = pytest.mark.parametrize("name", ["experiment", "experiment-trainjob"])
TRAINER = '#!/bin/sh\ntest "$#" = 2 && grep -q "^time.sleep(30)" "$1" && echo "loss=$2"\n'
"""In place of python and torchrun: says what it is called with.

That program waits for Katib's sidecar, which fails a trial that ended first (kubeflow/katib#2181).
"""


def command_of(name: str) -> list[str]:
    """Command and arguments of the container whose output Katib reads, in a trial with the rate 0.25."""
    template = load_example(name).objects[-1]["spec"]["trialTemplate"]
    spec = template["trialSpec"]["spec"]
    found = [item for pod in pod_specs(spec) for item in pod["containers"]] or [spec["trainer"]]
    container = next(item for item in found if item.get("name", "node") == template["primaryContainerName"])
    (parameter,) = template["trialParameters"]
    words = [*container["command"], *container["args"]]
    return [word.replace(f"${{trialParameters.{parameter['name']}}}", "0.25") for word in words]


@pytest.mark.programs
@EXPERIMENTS
def test_katib_reads_what_a_trial_of_an_experiment_prints(name: str, tmp_path: Path) -> None:
    """Katib's webhook makes one shell text of a command (kubeflow/katib, pkg/webhook/v1beta1/pod, v0.19.0).

    A command `sh -c` or `bash -c` is left out; the words are joined by spaces, with a redirection behind them.
    """
    words = command_of(name)
    shell, rest = (words[:2], words[2:]) if words[0] in {"sh", "bash"} and words[1] == "-c" else (["sh", "-c"], words)
    log, mark = tmp_path / "metrics.log", tmp_path / "completed"
    rest = [word.replace("/tmp/train.py", f"{tmp_path}/train.py") for word in rest]  # noqa: S108  of a container
    text = " ".join([*rest, f"1>{log} 2>&1", "&&", f"echo completed > {mark}"])
    for program in ("python", "torchrun"):
        (tmp_path / program).write_text(TRAINER)
        (tmp_path / program).chmod(0o755)
    subprocess.run([*shell, text], check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert log.read_text() == "loss=0.25\n"
    assert mark.exists()


def test_a_head_without_a_part_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.yaml").write_text("---\n# A title.\n#\n# You see: much.\n# Images: none.\nkind: Job\n")
    monkeypatch.setattr(module, "HOME", tmp_path)
    with pytest.raises(InvalidInput, match=r"one\.yaml .*# GPUs: "):
        load_example("one")
