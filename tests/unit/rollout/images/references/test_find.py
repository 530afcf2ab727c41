"""Each form in which a reference hides is found, and written where it is read."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.images.rename.rewrite import find, rewrite
from kubeflow_volcano.rollout.settings.images import MirrorSettings

Make = Callable[..., dict[str, Any]]
Mirror = Callable[..., MirrorSettings]

DIGEST = "@sha256:" + "0a" * 32
PREFIX = {"source": "*", "prefix": "m.example.com"}


def found(*objects: dict[str, Any]) -> dict[str, str]:
    """Complete image to kind."""
    return {str(item.image): item.kind for item in find(objects)}


def rewritten(mirror: MirrorSettings, *objects: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects behind the rules; the given ones stay as they are, and a second pass changes nothing."""
    before = copy.deepcopy(objects)
    result = rewrite({"part": objects}, mirror)
    assert objects == before
    assert not result.problems
    assert rewrite(result.parts, mirror).parts == result.parts
    return list(result.parts["part"])


def container(obj: dict[str, Any], number: int = 0) -> dict[str, Any]:
    found_: dict[str, Any] = obj["spec"]["template"]["spec"]["containers"][number]
    return found_


def test_containers_of_every_sort(mirror: Mirror, deployment: Make) -> None:
    obj = deployment("d", image="gcr.io/a/b:1")
    obj["spec"]["template"]["spec"]["initContainers"] = [{"name": "i", "image": "mysql:8.0.29"}]
    assert found(obj) == {"gcr.io/a/b:1": "pod", "docker.io/library/mysql:8.0.29": "pod"}
    (new,) = rewritten(mirror(PREFIX), obj)
    assert container(new)["image"] == "m.example.com/gcr.io/a/b:1"
    init = new["spec"]["template"]["spec"]["initContainers"][0]
    assert init["image"] == "m.example.com/docker.io/library/mysql:8.0.29"


def test_istio_fills_in_the_proxy_of_its_gateways(mirror: Mirror, deployment: Make) -> None:
    obj = deployment("istio-ingressgateway", image="auto")
    assert found(obj) == {}
    assert rewritten(mirror(PREFIX), obj) == [obj]


def test_annotations_are_looked_at_too(deployment: Make) -> None:
    obj = deployment("d", image="a/b:1")
    obj["spec"]["template"]["metadata"] = {"annotations": {"sidecar.istio.io/proxyImage": "gcr.io/x/proxy:1"}}
    assert found(obj)["gcr.io/x/proxy:1"] == "unknown"


def test_templates_in_custom_resources(mirror: Mirror) -> None:
    runtime = new_object(
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        "torch",
        spec={
            "template": {
                "spec": {
                    "replicatedJobs": [
                        {
                            "template": {
                                "spec": {"template": {"spec": {"containers": [{"name": "n", "image": "a/b:1"}]}}}
                            }
                        }
                    ]
                }
            }
        },
    )
    assert found(runtime) == {"docker.io/a/b:1": "pod"}
    assert "m.example.com/docker.io/a/b:1" in json.dumps(rewritten(mirror(PREFIX), runtime))


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Image", {"image": f"gcr.io/a/queue{DIGEST}"}),
        ("ClusterStorageContainer", {"container": {"name": "s", "image": f"gcr.io/a/queue{DIGEST}"}}),
    ],
)
def test_fields_of_custom_resources(mirror: Mirror, kind: str, spec: dict[str, Any]) -> None:
    obj = {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "n"}, "spec": spec}
    assert found(obj) == {f"gcr.io/a/queue{DIGEST}": "config"}
    assert f"m.example.com/gcr.io/a/queue{DIGEST}" in json.dumps(rewritten(mirror(PREFIX), obj))


def test_variables_and_arguments(mirror: Mirror, deployment: Make) -> None:
    obj = deployment(
        "d",
        image="a/b:1",
        args=[
            "--solver-image=quay.io/c/solver:v1",
            "--executor-image",
            "quay.io/c/exec:v1",
            "--image-pull-policy=Always",
        ],
        env=[{"name": "V2_DRIVER_IMAGE", "value": "gcr.io/a/driver:2"}, {"name": "IMAGES", "value": "none"}],
    )
    assert found(obj) == {
        "docker.io/a/b:1": "pod",
        "quay.io/c/solver:v1": "argument",
        "quay.io/c/exec:v1": "argument",
        "gcr.io/a/driver:2": "environment",
    }
    new = container(rewritten(mirror(PREFIX), obj)[0])
    assert new["args"] == [
        "--solver-image=m.example.com/quay.io/c/solver:v1",
        "--executor-image",
        "m.example.com/quay.io/c/exec:v1",
        "--image-pull-policy=Always",
    ]
    assert new["env"][0]["value"] == "m.example.com/gcr.io/a/driver:2"


def test_plain_values(mirror: Mirror, config_map: Make) -> None:
    obj = config_map("pipeline-install-config", cacheImage="gcr.io/google-containers/busybox", appName="pipeline")
    assert found(obj) == {"gcr.io/google-containers/busybox": "config"}
    (new,) = rewritten(mirror(PREFIX), obj)
    assert new["data"] == {"cacheImage": "m.example.com/gcr.io/google-containers/busybox", "appName": "pipeline"}


def test_json_in_a_value_keeps_its_text(mirror: Mirror, config_map: Make) -> None:
    text = """{
  "random" : {
    "image": "docker.io/kubeflowkatib/not-a-reference-é:v1",
    "x": "ü"
  },
  "tpe": {"image":"docker.io/kubeflowkatib/suggestion-hyperopt:v1"}
}"""
    obj = config_map("katib-config", suggestion=text)
    (new,) = rewritten(mirror(PREFIX), obj)
    name = "docker.io/kubeflowkatib/suggestion-hyperopt"
    assert new["data"]["suggestion"] == text.replace(name, f"m.example.com/{name}")


def test_yaml_in_a_value_keeps_comments(mirror: Mirror, config_map: Make) -> None:
    text = """spawnerFormDefaults:
  image:
    # the default
    value: a/scipy:v1 # here
    options:
    - a/scipy:v1
    - 'a/torch:v1'
"""
    obj = config_map("jupyter-web-app-config-c765bftc87", **{"spawner_ui_config.yaml": text})
    assert found(obj) == {"docker.io/a/scipy:v1": "config", "docker.io/a/torch:v1": "config"}
    (new,) = rewritten(mirror(PREFIX), obj)
    assert new["data"]["spawner_ui_config.yaml"] == text.replace("a/", "m.example.com/docker.io/a/")


def test_yaml_in_yaml(mirror: Mirror, config_map: Make) -> None:
    job = {
        "spec": {
            "template": {
                "spec": {"containers": [{"name": "t", "image": "a/trial:1", "command": ["${trialParameters.x}"]}]}
            }
        }
    }
    obj = config_map("trial-templates", anyName=yaml.safe_dump(job))
    assert found(obj) == {"docker.io/a/trial:1": "config"}
    (new,) = rewritten(mirror(PREFIX), obj)
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "m.example.com/docker.io/a/trial:1"
    assert yaml.safe_load(new["data"]["anyName"]) == job


def test_the_helper_of_local_path(mirror: Mirror, config_map: Make) -> None:
    helper = "spec:\n  containers:\n  - name: helper-pod\n    image: busybox\n"
    obj = config_map("local-path-config", **{"helperPod.yaml": helper, "setup": "mkdir"})
    assert found(obj) == {"docker.io/library/busybox": "config"}
    (new,) = rewritten(mirror(PREFIX), obj)
    assert "image: m.example.com/docker.io/library/busybox\n" in new["data"]["helperPod.yaml"]


def test_name_and_version_in_two_keys(mirror: Mirror, config_map: Make) -> None:
    predictors: dict[str, Any] = {
        "tensorflow": {
            "image": "tensorflow/serving",
            "defaultImageVersion": "2.6.2",
            "defaultGpuImageVersion": "2.6.2-gpu",
        },
        "sklearn": {"v2": {"image": "docker.io/seldonio/mlserver", "defaultImageVersion": "0.5.3"}},
        "bare": {"image": "kserve/bare"},
    }
    obj = config_map("inferenceservice-config", predictors=json.dumps(predictors, indent=4))
    assert set(found(obj)) == {
        "docker.io/tensorflow/serving:2.6.2",
        "docker.io/tensorflow/serving:2.6.2-gpu",
        "docker.io/seldonio/mlserver:0.5.3",
        "docker.io/kserve/bare",
    }
    rules = mirror(PREFIX, overrides={"seldonio/mlserver:0.5.3": "quay.io/mine/mlserver:0.6.0"})
    new = json.loads(rewritten(rules, obj)[0]["data"]["predictors"])
    assert new["tensorflow"] == {**predictors["tensorflow"], "image": "m.example.com/docker.io/tensorflow/serving"}
    assert new["sklearn"]["v2"] == {"image": "m.example.com/quay.io/mine/mlserver", "defaultImageVersion": "0.6.0"}


def test_two_versions_of_one_name_cannot_part(mirror: Mirror, config_map: Make) -> None:
    predictors = {"tf": {"image": "a/serving", "defaultImageVersion": "1", "defaultGpuImageVersion": "1-gpu"}}
    obj = config_map("inferenceservice-config", predictors=json.dumps(predictors))
    result = rewrite({"part": (obj,)}, mirror(overrides={"a/serving:1-gpu": "b/other:1-gpu"}))
    assert ["several images" in problem.found for problem in result.problems] == [True]
    assert result.parts["part"] == (obj,)


def test_a_digest_needs_room(mirror: Mirror, config_map: Make) -> None:
    predictors = {"tf": {"image": "a/serving", "defaultImageVersion": "1"}}
    obj = config_map("inferenceservice-config", predictors=json.dumps(predictors))
    (problem,) = rewrite({"part": (obj,)}, mirror(overrides={"a/serving:1": f"a/serving{DIGEST}"})).problems
    assert "nothing but a" in problem.found


ISTIO = {
    "global": {
        "hub": "docker.io/istio",
        "tag": "1.14.1",
        "proxy": {"image": "proxyv2"},
        "proxy_init": {"image": "proxyv2"},
    }
}


def test_registry_name_and_tag_in_three_keys(mirror: Mirror, config_map: Make) -> None:
    obj = config_map("istio-sidecar-injector", values=json.dumps(ISTIO, indent=2))
    assert found(obj) == {"docker.io/istio/proxyv2:1.14.1": "config"}
    new = json.loads(rewritten(mirror(PREFIX), obj)[0]["data"]["values"])["global"]
    assert new == {**ISTIO["global"], "hub": "m.example.com/docker.io/istio"}


def test_another_proxy_is_named_in_full(mirror: Mirror, config_map: Make) -> None:
    obj = config_map("istio-sidecar-injector", values=json.dumps(ISTIO))
    rules = mirror(PREFIX, overrides={"istio/proxyv2:1.14.1": "quay.io/mine/proxy:1.14.9"})
    new = json.loads(rewritten(rules, obj)[0]["data"]["values"])["global"]
    assert new["hub"] == "docker.io/istio"
    assert new["proxy"] == new["proxy_init"] == {"image": "m.example.com/quay.io/mine/proxy:1.14.9"}


def test_templates_of_the_injector(mirror: Mirror, config_map: Make) -> None:
    text = """templates:
  sidecar: |
    - name: enable-core-dump
      image: busybox:1.28
    - image: "{{ .ProxyImage }}"
"""
    obj = config_map("istio-sidecar-injector", config=text)
    assert found(obj) == {"docker.io/library/busybox:1.28": "config"}
    (new,) = rewritten(mirror(PREFIX), obj)
    assert new["data"]["config"] == text.replace("busybox:1.28", "m.example.com/docker.io/library/busybox:1.28")


CODE = '''"""frontend_image: gcr.io/ml-pipeline/frontend"""
image = os.environ.get("FRONTEND_IMAGE", "gcr.io/ml-pipeline/frontend")
VISUALIZATION_SERVER_IMAGE = "gcr.io/ml-pipeline/visualization-server"
'''


@pytest.fixture
def hook(deployment: Make, config_map: Make) -> tuple[dict[str, Any], ...]:
    return (
        config_map("kubeflow-pipelines-profile-controller-code-hdk828hd6c", **{"sync.py": CODE}),
        config_map("pipeline-install-config", appVersion="2.3.0"),
        deployment("kubeflow-pipelines-profile-controller", "profile-controller", image="python:3.7"),
    )


def test_code_is_told_by_its_variables(mirror: Mirror, hook: tuple[dict[str, Any], ...]) -> None:
    assert found(*hook) == {
        "gcr.io/ml-pipeline/frontend:2.3.0": "code",
        "gcr.io/ml-pipeline/visualization-server:2.3.0": "code",
        "docker.io/library/python:3.7": "pod",
    }
    code, _, workload = rewritten(mirror(PREFIX, catalog_overrides=False), *hook)
    assert code == hook[0]
    assert container(workload)["env"] == [
        {"name": "FRONTEND_IMAGE", "value": "m.example.com/gcr.io/ml-pipeline/frontend"},
        {"name": "VISUALIZATION_SERVER_IMAGE", "value": "m.example.com/gcr.io/ml-pipeline/visualization-server"},
    ]


def test_another_tag_of_code_has_a_variable_too(mirror: Mirror, hook: tuple[dict[str, Any], ...]) -> None:
    overrides = {"gcr.io/ml-pipeline/frontend": "ghcr.io/kubeflow/kfp-frontend:2.5.0"}
    rules = mirror(overrides=overrides, catalog_overrides=False)
    workload = rewritten(rules, *hook)[2]
    assert container(workload)["env"] == [
        {"name": "FRONTEND_IMAGE", "value": "ghcr.io/kubeflow/kfp-frontend"},
        {"name": "FRONTEND_TAG", "value": "2.5.0"},
    ]


@pytest.mark.parametrize(
    ("image", "delivery"),
    [
        ("kubeflow/training-operator:v1-e1434f6", "docker.io/mpioperator/kubectl-delivery:latest"),
        ("kubeflow/training-operator:v1-04f9f13", "docker.io/kubeflow/kubectl-delivery:latest"),
        (
            "m.example.com/ghcr.io/kubeflow/training-v1/training-operator:v1-3f15cb8",
            "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
        ),
    ],
)
def test_what_the_operator_starts_is_set_by_flags(mirror: Mirror, deployment: Make, image: str, delivery: str) -> None:
    obj = deployment(
        "training-operator", "training-operator", image=image, command=["/manager"], args=["--namespace=x"]
    )
    kinds = found(obj)
    assert {name for name, kind in kinds.items() if kind == "compiled"} == {"docker.io/library/alpine:3.10", delivery}
    (new,) = rewritten(mirror(PREFIX), obj)
    assert container(new)["command"] == ["/manager"]
    assert container(new)["args"] == [
        "--namespace=x",
        "--pytorch-init-container-image=m.example.com/docker.io/library/alpine:3.10",
        f"--mpi-kubectl-delivery-image=m.example.com/{delivery}",
    ]


def test_an_operator_that_is_told_already_is_believed(deployment: Make) -> None:
    args = ["--pytorch-init-container-image=x/y:1", "--mpi-kubectl-delivery-image", "x/z:1"]
    obj = deployment("training-operator", "training-operator", image="kubeflow/training-operator:v1-04f9f13", args=args)
    assert {name: kind for name, kind in found(obj).items() if kind != "pod"} == {
        "docker.io/x/y:1": "argument",
        "docker.io/x/z:1": "argument",
    }


def test_pipelines_before_2_4_are_set_by_variables(mirror: Mirror, deployment: Make) -> None:
    obj = deployment("ml-pipeline", "ml-pipeline-api-server", image="gcr.io/ml-pipeline/api-server:2.3.0")
    for settings, driver in (
        (mirror(PREFIX, catalog_overrides=False), "gcr.io/ml-pipeline/kfp-driver@sha256:dc8b56a2"),
        (mirror(PREFIX), "ghcr.io/kubeflow/kfp-driver:2.4.0"),  # goes with the program that replaces a lost one
    ):
        (new,) = rewritten(settings, obj)
        values = {item["name"]: item["value"] for item in container(new)["env"]}
        assert set(values) == {"V2_DRIVER_IMAGE", "V2_LAUNCHER_IMAGE"}
        assert values["V2_DRIVER_IMAGE"].startswith(f"m.example.com/{driver}")


def test_programs_that_cannot_be_told_are_reported(mirror: Mirror, deployment: Make) -> None:
    obj = deployment("ml-pipeline", "ml-pipeline-api-server", image="gcr.io/ml-pipeline/api-server:2.0.0-alpha.5")
    result = rewrite({"part": (obj,)}, mirror(PREFIX))
    assert len([warning for warning in result.warnings if "without a flag" in warning.found]) == 2
    assert "env" not in container(result.parts["part"][0])
    stays = [use for use in result.images if use.kinds == ("compiled",)]
    assert [(use.final, use.covered) for use in stays] == [(use.original, False) for use in stays]
    assert len(stays) == 2


def test_programs_of_unknown_version_are_reported(mirror: Mirror, deployment: Make) -> None:
    obj = deployment("training-operator", "training-operator", image="registry.lan/training-operator:mine")
    (warning,) = rewrite({"part": (obj,)}, mirror(PREFIX)).warnings
    assert "registry.lan/training-operator:mine, " in warning.found


@pytest.mark.parametrize(
    "text",
    [
        "gcr.io/ml-pipeline/surprise",
        "see quay.io/a/b:v1 for more",
        "a/b:v1",
        f"harbor.example.com/x/y{DIGEST}",
        "image: busybox",
        '{"sidecarImage": "alpine"}',
    ],
)
def test_what_looks_like_a_reference_elsewhere_is_told(mirror: Mirror, config_map: Make, text: str) -> None:
    obj = config_map("brand-new-config", data=text)
    assert list(found(obj).values()) == ["unknown"]
    result = rewrite({"part": (obj,)}, mirror(preset="daocloud"))
    assert result.parts["part"] == (obj,)
    assert any("in unknown places" in warning.found for warning in result.warnings)


@pytest.mark.parametrize(
    "text",
    [
        "http://minio-service.kubeflow:9000/a",
        "10.0.0.1:8080",
        "kubeflow.org/v1",
        "app.kubernetes.io/name: x",
        "cluster.local",
        "/etc/config/a.yaml",
        "https://gcr.io/a/b",
        "imagePullPolicy: IfNotPresent",
        "image: $VOLUME_VIEWER_IMAGE",
        "image: {{ .Image }}",
    ],
)
def test_what_is_none_is_not_told(config_map: Make, text: str) -> None:
    assert found(config_map("brand-new-config", data=text)) == {}


def test_a_field_that_is_called_an_image_is_told(config_map: Make) -> None:
    other = {"apiVersion": "x/v1", "kind": "Strange", "metadata": {"name": "n"}, "spec": {"runtimeImage": "busybox"}}
    assert found(config_map("new", sidecar_image="alpine", imagePullPolicy="Always"), other) == {
        "docker.io/library/alpine": "unknown",
        "docker.io/library/busybox": "unknown",
    }


def test_documentation_is_neither_pulled_nor_rewritten(mirror: Mirror, config_map: Make) -> None:
    obj = config_map(
        "inferenceservice-config", _example='storageInitializer: {"image" : "kserve/storage-initializer:v0.15.0"}'
    )
    assert found(obj) == {"docker.io/kserve/storage-initializer:v0.15.0": "documentation"}
    result = rewrite({"part": (obj,)}, mirror(preset="daocloud"))
    assert result.parts["part"] == (obj,)
    assert result.images == ()
    assert len(result.idle) == 1


def test_definitions_of_custom_resources_hold_no_references() -> None:
    crd = new_object("x", "CustomResourceDefinition", "n", spec={"image": "gcr.io/a/b:1"})
    assert found(crd) == {}


def test_a_document_that_cannot_be_read_is_not_passed_over(config_map: Make) -> None:
    obj = config_map("katib-config", suggestion='{"random": {"image": "gcr.io/a/b:1"')
    assert found(obj) == {"gcr.io/a/b:1": "unknown"}
