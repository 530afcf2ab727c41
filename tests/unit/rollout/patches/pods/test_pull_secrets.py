"""Every pod of a release can sign in at its registry, and nothing but its pull secrets changes."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.apply.graph import WORKLOAD_KINDS, graph
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.own import with_own_patches
from kubeflow_volcano.rollout.patches.pods.templates import HELPER_POD, pod_spec
from kubeflow_volcano.rollout.settings.settings import parse
from tests.unit.releases import Upstream, by_ref
from tests.unit.rollout.patches.pods.conftest import pods

Workload = Callable[..., Object]
CREDENTIALS = [{"registry": "own.lan:5000", "username": "robot", "password": "hunter2"}]
SETTINGS = parse({"image_mirror_credentials": CREDENTIALS})

SECRET: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "katib-registries", "namespace": "kubeflow"},
    "type": "kubernetes.io/dockerconfigjson",
    "data": {
        ".dockerconfigjson": "eyJhdXRocyI6IHsib3duLmxhbjo1MDAwIjogeyJhdXRoIjogImNtOWliM1E2YUhWdWRHVnlNZz09IiwgInBhc3N3"
        "b3JkIjogImh1bnRlcjIiLCAidXNlcm5hbWUiOiAicm9ib3QifX19"
    },
}


@pytest.mark.parametrize("kind", sorted(WORKLOAD_KINDS))
def test_the_pods_of_each_kind_of_workload_name_the_secret_beside_others(kind: str, workload: Workload) -> None:
    before = workload(kind, imagePullSecrets=[{"name": "others"}])
    untouched = copy.deepcopy(before)
    secret, after = for_environment("katib", [before], SETTINGS)
    assert before == untouched
    spec = pod_spec(after)
    assert spec is not None
    assert spec["imagePullSecrets"] == [{"name": "others"}, {"name": "katib-registries"}]
    assert secret == SECRET


def test_each_namespace_with_pods_has_the_secret_and_others_have_none(workload: Workload) -> None:
    account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "namespace": "quiet"}}
    found = for_environment("istio", [account, workload(namespace="x"), workload(name="b"), workload()], SETTINGS)
    assert [str(Ref.of(obj)) for obj in found] == [
        "ServiceAccount quiet/s",
        "Secret x/istio-registries",
        "Deployment x/a",
        "Secret kubeflow/istio-registries",
        "Deployment kubeflow/b",
        "Deployment kubeflow/a",
    ]


def test_a_patch_of_the_inventory_comes_last(workload: Workload, kustomize: Path) -> None:
    patch = {"spec": {"template": {"spec": {"imagePullSecrets": [{"name": "katib-registries", "$patch": "delete"}]}}}}
    target = {"kind": "Deployment", "name": "a"}
    variables = {
        "kubeflow_profile": "full",
        "image_mirror_credentials": CREDENTIALS,
        "kubeflow_patches": {"katib": [{"target": target, "patch": patch}]},
        "kustomize_binary": str(kustomize),
    }
    settings = parse(variables)
    _, after = with_own_patches("katib", for_environment("katib", [workload()], settings), settings, silent)
    assert not after["spec"]["template"]["spec"].get("imagePullSecrets")


@pytest.mark.upstream
def test_every_pod_of_a_release_has_its_secret_and_nothing_else_changes(upstream: Upstream) -> None:
    changed = upstream.changed(image_mirror_credentials=CREDENTIALS)
    after, before = by_ref(changed), by_ref(upstream.parts)
    secrets = {ref for ref in after if ref.kind == "Secret" and ref.name.endswith("-registries")}
    assert len(pods(changed)) > 30
    for ref, spec in pods(changed).items():
        name = spec["imagePullSecrets"][-1]["name"]
        assert Ref("v1", "Secret", ref.namespace, name) in secrets
        spec["imagePullSecrets"].pop()
        if not spec["imagePullSecrets"]:
            del spec["imagePullSecrets"]
    helpers = {ref for ref, obj in before.items() if HELPER_POD in (obj.get("data") or {})}
    assert len(helpers) == 1
    assert after.keys() - before.keys() == secrets
    assert {ref for ref in before if after[ref] != before[ref]} == helpers


@pytest.mark.upstream
def test_the_helper_of_local_path_signs_in_and_secrets_come_before_pods(upstream: Upstream) -> None:
    parts = upstream.changed(image_mirror_credentials=CREDENTIALS)
    helper = next(obj for obj in parts["local-path"] if HELPER_POD in (obj.get("data") or {}))
    before = next(obj for obj in upstream.parts["local-path"] if HELPER_POD in (obj.get("data") or {}))
    pod, former = (yaml.safe_load(obj["data"][HELPER_POD]) for obj in (helper, before))
    assert pod["spec"].pop("imagePullSecrets") == [{"name": "local-path-registries"}]
    assert pod == former
    (secret,) = (Ref.of(obj) for obj in parts["local-path"] if obj["kind"] == "Secret")
    needs = graph(parts).needs
    workloads = [Ref.of(obj) for obj in parts["local-path"] if obj["kind"] in WORKLOAD_KINDS]
    assert workloads
    assert all(secret in needs[ref].applied for ref in workloads)


def test_the_secret_is_what_the_kubelet_reads(workload: Workload) -> None:
    secret, _ = for_environment("katib", [workload()], SETTINGS)
    text = base64.b64decode(secret["data"][".dockerconfigjson"])
    auth = base64.b64encode(b"robot:hunter2").decode()
    assert json.loads(text)["auths"]["own.lan:5000"] == {"username": "robot", "password": "hunter2", "auth": auth}
