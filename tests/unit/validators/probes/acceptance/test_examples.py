"""What the probe of acceptance creates of an example, and where it does not: names, namespaces, images, kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeflow_volcano.catalog.examples import example_images, load_example
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.probes.acceptance import examples
from kubeflow_volcano.validators.probes.acting import ProbeOptions
from tests.samples.facts import facts, obj

NOTHING: Mapping[str, str] = {}
ALL = {
    "v1": ("PersistentVolumeClaim",),
    "kubeflow.org/v1": ("TFJob", "PyTorchJob", "Notebook"),
    "kubeflow.org/v1beta1": ("Experiment",),
    "tensorboard.kubeflow.org/v1alpha1": ("Tensorboard",),
    "argoproj.io/v1alpha1": ("Workflow",),
}


def session(served: Mapping[str, tuple[str, ...]] = ALL, **options: Any) -> Session:
    kinds = SimpleNamespace(kinds=lambda api: dict.fromkeys(served.get(api, ())))
    return cast("Session", SimpleNamespace(cluster=kinds, run="0a1b2c3d", options=ProbeOptions(**options)))


def made(name: str, **options: Any) -> list[Object]:
    return [*examples._objects(session(**options), load_example(name), "ns")]  # noqa: SLF001


def with_namespace(*, provisioner: str = "rancher.io/local-path", **labels: str) -> Facts:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    return facts(
        obj("StorageClass", "standard", provisioner=provisioner, metadata=default),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}},
    )


def obstacle(name: str, found: Facts, **options: Any) -> str:
    return examples._obstacle(session(**options), found, load_example(name))  # noqa: SLF001


def test_names_are_those_of_the_run_wherever_objects_name_each_other() -> None:
    claim, job, board = made("tensorboard")
    assert [item["metadata"]["namespace"] for item in (claim, job, board)] == ["ns"] * 3
    names = [item["metadata"]["name"] for item in (claim, job, board)]
    assert names == ["kfv-0a1b2c3d-tensorboard-logs", "kfv-0a1b2c3d-tensorboard-logs", "kfv-0a1b2c3d-tensorboard"]
    (volume,) = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert board["spec"]["logspath"] == "pvc://kfv-0a1b2c3d-tensorboard-logs/"


def test_the_container_of_a_notebook_has_its_name() -> None:
    notebook = made("notebook")[-1]
    assert notebook["spec"]["template"]["spec"]["containers"][0]["name"] == notebook["metadata"]["name"]


def test_a_name_is_not_doubled() -> None:
    assert [item["metadata"]["name"] for item in made("jobs/tfjob")] == ["kfv-0a1b2c3d-tfjob"]


@pytest.mark.parametrize("name", ["experiment", "experiment-trainjob"])
def test_katib_takes_the_name_of_an_experiment(name: str) -> None:
    """At most 40 characters (kubeflow/katib, pkg/webhook/v1beta1/experiment/validator, v0.19.0)."""
    (experiment,) = made(name)
    assert experiment["metadata"]["name"] == f"kfv-0a1b2c3d-{name}"
    assert len(experiment["metadata"]["name"]) <= 40


def test_images_are_those_of_the_mirror() -> None:
    (image,) = {image for image in example_images() if image.startswith("docker.io/tensorflow/")}
    job = made("jobs/tfjob", images={image: f"m.example.com/{image}"})[0]
    roles = job["spec"]["tfReplicaSpecs"].values()
    assert {role["template"]["spec"]["containers"][0]["image"] for role in roles} == {f"m.example.com/{image}"}


def test_what_is_not_served_beside_the_main_object_is_left_out() -> None:
    fewer = {**ALL, "kubeflow.org/v1": ("Notebook",)}
    found = examples._objects(session(fewer), load_example("tensorboard"), "ns")  # noqa: SLF001
    assert [item["kind"] for item in found] == ["PersistentVolumeClaim", "Tensorboard"]


@pytest.mark.parametrize("name", ["notebook", "pipeline", "experiment"])
def test_what_needs_a_profile_is_created_in_one_only(name: str) -> None:
    key, value = examples.PROFILE
    profile = with_namespace(**{key: value})
    assert "--probe-namespace" in obstacle(name, profile)
    assert "--probe-namespace" in obstacle(name, with_namespace(), namespace="team-a")
    assert not obstacle(name, profile, namespace="team-a")


@pytest.mark.parametrize("name", ["tensorboard", "notebook"])
def test_a_claim_takes_no_volume_that_others_made(name: str) -> None:
    key, value = examples.PROFILE
    static = with_namespace(provisioner="kubernetes.io/no-provisioner", **{key: value})
    assert "StorageClass" in obstacle(name, static, namespace="team-a")
    assert not obstacle("jobs/tfjob", static)


def test_a_job_needs_no_profile() -> None:
    assert not obstacle("jobs/tfjob", with_namespace())


def test_an_example_is_absent_without_its_kind_or_that_of_its_trials() -> None:
    key, value = examples.PROFILE
    profile = with_namespace(**{key: value})
    assert "JAXJob of kubeflow.org/v1" in obstacle("jobs/jaxjob", profile)
    assert "serves no TrainJob" in obstacle("experiment-trainjob", profile, namespace="team-a")


def test_pods_say_what_they_wait_for_and_whether_that_lasts() -> None:
    pod = {
        "metadata": {"name": "p"},
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
            "initContainerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such"}}}],
            "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
        },
    }
    unplaced, container = examples.waiting([pod])
    assert re.match("p .*: 0/3 nodes", unplaced)
    assert container == "p: ImagePullBackOff: no such"
    assert examples.cannot_start([pod])
    starting = {**pod, "status": {"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}}
    assert [*examples.waiting([starting])] == []
    assert not examples.cannot_start([starting])


def test_a_notebook_is_tried_with_each_image_that_the_inventory_offers() -> None:
    given = session(notebook_images=("m.example.org/torch:2", "m.example.org/code:4"))
    tried = [*examples._variants(given, "notebook")]  # noqa: SLF001
    assert [said for said, _ in tried] == ["notebook with m.example.org/torch:2", "notebook with m.example.org/code:4"]
    objects = [[*examples._objects(given, example, "ns")] for _, example in tried]  # noqa: SLF001
    images = [each[-1]["spec"]["template"]["spec"]["containers"][0]["image"] for each in objects]
    assert images == ["m.example.org/torch:2", "m.example.org/code:4"]
    names = {obj["metadata"]["name"] for each in objects for obj in each}
    assert len(names) == sum(map(len, objects)), "claims of earlier ones stay until the end"
    claims = [
        each[-1]["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for each in objects
    ]
    assert claims == [each[0]["metadata"]["name"] for each in objects]
    assert [said for said, _ in examples._variants(given, "tensorboard")] == ["tensorboard"]  # noqa: SLF001
    assert [said for said, _ in examples._variants(session(), "notebook")] == ["notebook"]  # noqa: SLF001
