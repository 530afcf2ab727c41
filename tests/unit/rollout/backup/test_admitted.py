"""What of a backup is created, and what is refused with the words that leave it out."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.backup.admitted import Platform, Spaces, access_given, refused
from kubeflow_volcano.rollout.settings.settings import parse

SETTINGS = parse({"kubeflow_release": "1.9.1"})
PLATFORM = Platform.of(SETTINGS.known_components, SETTINGS.volcano_namespace)
RBAC = "rbac.authorization.k8s.io"
TITLES = {
    ("kubeflow.org", "Profile"): "profiles.kubeflow.org",
    ("kubeflow.org", "PyTorchJob"): "pytorchjobs.kubeflow.org",
    ("kubeflow.org", "Experiment"): "experiments.kubeflow.org",
    ("scheduling.volcano.sh", "Queue"): "queues.scheduling.volcano.sh",
    ("security.istio.io", "AuthorizationPolicy"): "authorizationpolicies.security.istio.io",
    ("metacontroller.k8s.io", "CompositeController"): "compositecontrollers.metacontroller.k8s.io",
    ("dex.coreos.com", "AuthCode"): "authcodes.dex.coreos.com",
}
PRESENT = frozenset({"default", "kubeflow", "monitoring", "team-a"})
KEY = {"valueFrom": {"secretKeyRef": {"name": "admin", "key": "password"}}}


def made(api_version: str, kind: str, name: str, space: str = "", /, **rest: Any) -> Object:
    where = {"namespace": space} if space else {}
    notes = {"annotations": rest.pop("annotations")} if "annotations" in rest else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where, **notes}, **rest}


def binding(role: str = "edit", **rest: Any) -> Object:
    return made(
        f"{RBAC}/v1",
        "RoleBinding",
        "user-eve-clusterrole-edit",
        rest.pop("space", "team-a"),
        annotations={"role": role, "user": "eve@example.com"},
        **{
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"kubeflow-{role}"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "eve@example.com"}],
            **rest,
        },
    )


def profile(name: str = "team-a", /, **owner: str) -> Object:
    return made("kubeflow.org/v1", "Profile", name, spec={"owner": {"kind": "User", "name": "a@example.com", **owner}})


def secret(name: str = "first-user", space: str = "kubeflow-volcano", **rest: Any) -> Object:
    return made(
        "v1", "Secret", name, space, **{"type": "Opaque", "data": {"email": "YQ==", "password": "YQ=="}, **rest}
    )


def policy(space: str, role: str | None) -> Object:
    notes = {"annotations": {"role": role, "user": "eve@example.com"}} if role else {}
    return made("security.istio.io/v1", "AuthorizationPolicy", "p", space, **notes, spec={"rules": [{}]})


def problems(*objects: Object, allow: bool = False) -> list[Problem]:
    saved = frozenset(obj["metadata"].get("namespace", "") for obj in objects)
    spaces = Spaces(saved, frozenset({"team-a", "team-b"}), PRESENT)
    return [*refused(objects, TITLES, spaces, PLATFORM, allow_rights=allow)]


ORDINARY = [
    profile(),
    profile(kind="Group", name="researchers"),
    binding(),
    binding("admin"),
    binding("view"),
    secret(),
    made("v1", "Namespace", "team-a"),
    made("kubeflow.org/v1", "PyTorchJob", "j", "team-a", spec={"serviceAccountName": "own"}),
    made("kubeflow.org/v1", "PyTorchJob", "j", "lab", spec={"serviceAccountName": "default"}),
    made("kubeflow.org/v1", "PyTorchJob", "k", "team-a", spec={"env": [KEY]}),
    made("kubeflow.org/v1", "PyTorchJob", "k", "lab", spec={"env": [KEY]}),
    made("kubeflow.org/v1", "PyTorchJob", "k", "monitoring", spec={"imagePullSecrets": [{"name": "registry"}]}),
    made("scheduling.volcano.sh/v1beta1", "Queue", "q"),
    policy("team-a", None),
    policy("team-a", "edit"),
]


def test_what_a_backup_has_is_admitted() -> None:
    assert problems(*ORDINARY) == []


@pytest.mark.parametrize(
    "obj",
    [
        made(f"{RBAC}/v1", "ClusterRoleBinding", "eve", roleRef={}),
        made(f"{RBAC}/v1", "Role", "eve", "team-a"),
        made("apps/v1", "DaemonSet", "eve", "kube-system"),
        made("v1", "ConfigMap", "eve", "team-a"),
        made("v1", "ServiceAccount", "eve", "team-a"),
        made("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "eve"),
        made("apiextensions.k8s.io/v1", "CustomResourceDefinition", "eve"),
        made("others.example/v1", "Anything", "eve"),
        made("v1", "Namespace", "empty"),
        secret("other"),
        secret(space="team-a"),
        secret(type="kubernetes.io/service-account-token"),
        secret(data={"ca.crt": "YQ=="}),
        secret(stringData={"password": "a"}),
        binding(space="kube-system"),
        binding("cluster-admin"),
        binding(roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}),
        binding(roleRef={"apiGroup": RBAC, "kind": "Role", "name": "kubeflow-edit"}),
        binding(roleRef=None),
        binding(subjects=None),
        binding(subjects=["eve"]),
        binding(subjects=[{"kind": "Group", "name": "system:authenticated"}]),
        binding(subjects=[{"kind": "User", "name": "other@example.com"}]),
        binding(subjects=[{"kind": "ServiceAccount", "name": "eve@example.com", "namespace": "default"}]),
        profile("kubeflow"),
        profile("kube-system"),
        profile("argocd"),
        policy("team-a", "cluster-admin"),
    ],
    ids=lambda obj: f"{obj['kind']}-{obj['metadata'].get('namespace', '')}",
)
def test_what_no_backup_has_is_refused_whatever_is_allowed(obj: Object) -> None:
    for allow in (False, True):
        (problem,) = problems(*ORDINARY, obj, allow=allow)
        assert str(Ref.of(obj)) in problem.found
        assert f"restore_exclude: [{Ref.of(obj).full_kind} " in problem.todo


@pytest.mark.parametrize(
    "obj",
    [
        made("kubeflow.org/v1", "PyTorchJob", "eve", "kubeflow"),
        made("kubeflow.org/v1beta1", "Experiment", "eve", "volcano-system"),
        made("kubeflow.org/v1", "PyTorchJob", "eve", "kube-system"),
        policy("istio-system", None),
        policy("kubeflow", "edit"),
        made("metacontroller.k8s.io/v1alpha1", "CompositeController", "eve"),
        made("dex.coreos.com/v1", "AuthCode", "c", "auth"),
        made("kubeflow.org/v1", "PyTorchJob", "eve", "argocd", spec={"a": [{"serviceAccountName": "argocd-server"}]}),
        made("kubeflow.org/v1", "PyTorchJob", "eve", "monitoring", spec={"env": [KEY]}),
        made("kubeflow.org/v1", "PyTorchJob", "eve", "default", spec={"sources": [{"secret": {"name": "admin"}}]}),
        profile("team-b", kind="ServiceAccount"),
        profile("team-b", name="system:authenticated", kind="Group"),
        made("kubeflow.org/v1", "Profile", "team-b"),
    ],
    ids=lambda obj: f"{obj['kind']}-{obj['metadata'].get('namespace', '')}",
)
def test_what_gives_more_rights_than_a_profile_needs_a_decision(obj: Object) -> None:
    (problem,) = problems(*ORDINARY, obj)
    assert str(Ref.of(obj)) in problem.found
    assert "restore_allow_rights: true" in problem.todo
    assert problems(*ORDINARY, obj, allow=True) == []


def test_who_gets_access_is_said() -> None:
    clouds = profile("team-c")
    clouds["spec"]["plugins"] = [{"kind": "AwsIamForServiceAccount"}]
    way = {"template": {"spec": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}}}
    job = made("kubeflow.org/v1", "PyTorchJob", "j", "team-a", spec={"replicas": [way]})
    lines = access_given([*ORDINARY, made("kubeflow.org/v1", "Profile", "team-b", spec={"owner": "x"}), clouds, job])
    assert lines == [
        "a@example.com owns team-a",
        "researchers owns team-a",
        *(f"eve@example.com has the role {role} in team-a" for role in ("edit", "admin", "view")),
        "the first user has the password of the backup",
        "no user owns team-b",
        "a@example.com owns team-c, with plugins of clouds",
        "PyTorchJob team-a/j starts pods with a host's files, network or processes",
    ]


def test_the_components_that_bring_a_kind_are_known_without_a_cluster() -> None:
    assert PLATFORM.bringing("TFJob", "kubeflow.org") == ["training-operator"]
    assert PLATFORM.bringing("AuthorizationPolicy", "security.istio.io") == ["istio-crds"]
    assert PLATFORM.bringing("Queue", "scheduling.volcano.sh") == ["volcano"]
    assert PLATFORM.bringing("Relic", "none.example") == []
