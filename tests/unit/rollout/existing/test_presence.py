"""A component that others are said to have is there by what is its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.existing.presence import absent_component
from tests.samples.stored import Stored

RELEASE = read.load_release("1.9.1")
ADMISSION = "admissionregistration.k8s.io/v1"


class Cluster(Stored):
    """Live objects; kinds of cert-manager are not served."""

    def get(self, ref: Ref, **_: Any) -> Object | None:
        if ref.api_version.startswith("cert-manager.io"):
            raise NotServed(ref.api_version, ref.kind)
        return super().get(ref)


def obj(ref: Ref, **more: Any) -> Object:
    return new_object(ref.api_version, ref.kind, ref.name, ref.namespace, **more)


def workload(ref: Ref, image: str) -> Object:
    return obj(ref, spec={"template": {"spec": {"containers": [{"name": "a", "image": image}]}}})


def hooks(ref: Ref, *names: str) -> Object:
    return obj(ref, webhooks=[{"name": name, "clientConfig": {}} for name in names])


def asked(component: str, *objects: Object, manifests: Sequence[Object] = ()) -> list[str]:
    cluster: Any = Cluster(*objects)
    live = [item for item in objects if item["kind"] in {"Deployment", "StatefulSet", "DaemonSet"}]
    found = absent_component(cluster, RELEASE.components[component], manifests, live)
    return [str(problem) for problem in found]


def ref_of(component: str, name: str) -> Ref:
    return next(ref for ref in RELEASE.components[component].central if ref.name == name)


def test_argo_workflows_alone_is_no_pipelines() -> None:
    controller = workload(ref_of("pipelines", "workflow-controller"), "argo:1")
    (problem,) = asked("pipelines", controller, obj(ref_of("pipelines", "workflows.argoproj.io")))
    assert "Argo Workflows" in problem
    assert "kubeflow_exclude: [pipelines]" in problem
    assert asked("pipelines", workload(ref_of("pipelines", "ml-pipeline"), "a:1")) == []


def test_crds_without_anything_that_runs_are_no_component() -> None:
    crds = [obj(ref) for ref in RELEASE.components["cert-manager"].central if "." in ref.name]
    (problem,) = asked("cert-manager", *crds)
    assert "is not there" in problem


def test_a_component_of_others_may_have_other_names() -> None:
    own = ref_of("cert-manager", "cert-manager")
    manifests = [workload(own, "quay.io/jetstack/cert-manager-controller:v1.14.5")]
    theirs = workload(
        own._replace(namespace="pki", name="pki-cert-manager"), "mirror.example.com/jetstack/cert-manager-controller:v2"
    )
    assert asked("cert-manager", theirs, manifests=manifests) == []
    assert asked("cert-manager", workload(Ref.of(theirs), "nginx:1"), manifests=manifests) != []


def test_istio_of_a_revision_is_known_by_the_names_of_its_webhooks() -> None:
    own = ref_of("istio", "istio-sidecar-injector")
    manifests = [hooks(own, "namespace.sidecar-injector.istio.io")]
    theirs = hooks(own._replace(name="istio-sidecar-injector-1-24"), "namespace.sidecar-injector.istio.io")
    assert asked("istio", theirs, manifests=manifests) == []
    assert asked("istio", hooks(Ref.of(theirs), "other.example.com"), manifests=manifests) != []


def test_a_component_that_runs_nothing_is_there_by_its_other_objects() -> None:
    issuer = obj(Ref("cert-manager.io/v1", "ClusterIssuer", "", "kubeflow-self-signing-issuer"))
    (problem,) = asked("kubeflow-issuer", manifests=[issuer])
    assert "kubeflow-self-signing-issuer" in problem
    gateway = obj(Ref("networking.istio.io/v1beta1", "Gateway", "kubeflow", "kubeflow-gateway"))
    assert asked("kubeflow-istio-resources", gateway, manifests=[gateway]) == []
    assert asked("kubeflow-istio-resources") == []  # the manifests are not known
