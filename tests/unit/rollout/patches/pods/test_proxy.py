"""The containers that reach outwards get the proxy, others stay, and nothing inside of the cluster goes through it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.pods.proxy import exceptions
from kubeflow_volcano.rollout.settings.settings import parse
from tests.unit.releases import Upstream, by_ref

Workload = Callable[..., Object]
PROXY = {"https": "http://proxy.lan:3128", "no_proxy": [".lan", "192.168.0.0/16"]}
ADDRESSES = ("10.96.0.0/12", "10.244.0.0/16", "10.96.0.1", "192.168.7.8", "203.0.113.9")
UPPER, LOWER = {"HTTPS_PROXY", "NO_PROXY"}, {"https_proxy", "no_proxy"}


def containers(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        if "image" in value and "name" in value:
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from containers(item)


def with_variables(obj: Object) -> dict[str, Object]:
    """Containers of the object that have a proxy, by name."""
    found = {}
    for container in containers(obj):
        env = {item["name"]: item.get("value") for item in container.get("env") or ()}
        if env.keys() & (UPPER | LOWER):
            found[container["name"]] = env
    return found


def test_a_container_that_reaches_outwards_has_both_spellings_beside_its_own_variables(workload: Workload) -> None:
    own = [{"name": "LEVEL", "value": "info"}, {"name": "NO_PROXY", "value": "old"}]
    pods = [{"name": "dex", "image": "dex:1", "env": own}, {"name": "sidecar", "image": "s:1"}]
    before = workload(name="dex", namespace="auth", containers=pods)
    untouched = copy.deepcopy(before)
    (after,) = for_environment("dex", [before], parse({"kubeflow_proxy": PROXY}))
    assert before == untouched
    first, second = after["spec"]["template"]["spec"]["containers"]
    assert second == pods[1]
    env = {item["name"]: item["value"] for item in first["env"]}
    assert len(env) == len(first["env"])
    assert env.keys() == {"LEVEL"} | UPPER | LOWER
    assert env["https_proxy"] == env["HTTPS_PROXY"] == "http://proxy.lan:3128"
    assert env["NO_PROXY"] == env["no_proxy"] != "old"


def test_what_is_inside_of_the_cluster_is_excepted_and_addresses_within_a_network_are_left_out() -> None:
    proxy = parse({"kubeflow_proxy": PROXY}).proxy
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "minio-service", "namespace": "k"}}
    found = exceptions([service], proxy, (*ADDRESSES, ".kubeflow"))
    assert found[:5] == ["localhost", "127.0.0.1", "::1", ".svc", ".cluster.local"]
    assert {*found} >= {"10.96.0.0/12", "10.244.0.0/16", "203.0.113.9", ".kubeflow", "minio-service", ".lan"}
    assert not {*found} & {"10.96.0.1", "192.168.7.8"}
    assert len(found) == len({*found})


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        ({"https": "http://me:secret@proxy.lan:3128"}, "kubeflow_proxy"),
        ({"https": "proxy.lan:3128"}, "kubeflow_proxy"),
        ({"no_proxy": [".lan"]}, "neither http nor https"),
        ({"http": "http://p:1", "no_proxy": ["a,b"]}, "kubeflow_proxy"),
    ],
)
def test_what_is_no_proxy_is_refused_and_a_password_is_not_repeated(proxy: Any, said: str) -> None:
    with pytest.raises(Exception, match=said) as caught:
        parse({"kubeflow_proxy": proxy})
    assert "secret" not in str(caught.value)


SAME = {
    "Deployment istio-system/istiod": {"discovery"},
    "Deployment auth/dex": {"dex"},
    "Deployment knative-serving/controller": {"controller"},
    "Deployment kubeflow/ml-pipeline": {"ml-pipeline-api-server"},
    "Deployment kubeflow/ml-pipeline-ui": {"ml-pipeline-ui"},
}
NEWER = SAME | {
    "Deployment cert-manager/cert-manager": {"cert-manager-controller"},
    "Deployment oauth2-proxy/oauth2-proxy": {"oauth2-proxy"},
    "ClusterStorageContainer default": {"storage-initializer"},
}
RUNTIMES = ("torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b")
OUTGOING = {
    "1.6.1": SAME
    | {
        "Deployment cert-manager/cert-manager": {"cert-manager"},
        "StatefulSet istio-system/authservice": {"authservice"},
    },
    "1.9.1": NEWER,
    "26.03": NEWER
    | {
        f"ClusterTrainingRuntime kubeflow-system/{name}": {"dataset-initializer", "model-initializer"}
        for name in RUNTIMES
    },
}
"""What reaches outwards in whole releases, as read in their manifests."""


@pytest.mark.upstream
def test_only_the_containers_that_reach_outwards_change_in_a_release(upstream: Upstream) -> None:
    after, before = by_ref(upstream.changed(kubeflow_proxy=PROXY)), by_ref(upstream.parts)
    assert after.keys() == before.keys()
    changed = {str(ref): {*with_variables(obj)} for ref, obj in after.items() if obj != before[ref]}
    assert changed == OUTGOING[upstream.release]
