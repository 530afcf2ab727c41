"""What is known about a cluster when it is judged: one frozen snapshot, the expectations, and probes' evidence."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.cluster.metadata import RUN_LABEL, SIMULATED_NODE, SIMULATED_POD
from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.expectations import Expectations
from validators.core.inventory import Inventory
from validators.core.outcome import CannotJudgeError, errored
from validators.core.rights import Rule

__all__ = [
    "RESOURCES",
    "Clocks",
    "Facts",
    "HookAnswer",
    "PodNotes",
    "ProbeFailure",
    "SignIn",
    "SimulatedWebhook",
    "TlsSecret",
    "Unread",
    "Window",
]

RESOURCES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "apiservices.apiregistration.k8s.io": ("apiregistration.k8s.io/v1", "APIService"),
        "certificates.cert-manager.io": ("cert-manager.io/v1", "Certificate"),
        "clusterissuers.cert-manager.io": ("cert-manager.io/v1", "ClusterIssuer"),
        "clustertrainingruntimes.trainer.kubeflow.org": ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
        "configmaps": ("v1", "ConfigMap"),
        "customresourcedefinitions.apiextensions.k8s.io": ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        "csidrivers.storage.k8s.io": ("storage.k8s.io/v1", "CSIDriver"),
        "daemonsets.apps": ("apps/v1", "DaemonSet"),
        "deployments.apps": ("apps/v1", "Deployment"),
        "endpointslices.discovery.k8s.io": ("discovery.k8s.io/v1", "EndpointSlice"),
        "issuers.cert-manager.io": ("cert-manager.io/v1", "Issuer"),
        "jobs.batch": ("batch/v1", "Job"),
        "kfdefs.kfdef.apps.kubeflow.org": ("kfdef.apps.kubeflow.org/v1", "KfDef"),
        "mutatingwebhookconfigurations.admissionregistration.k8s.io": (
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
        ),
        "namespaces": ("v1", "Namespace"),
        "nodes": ("v1", "Node"),
        "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
        "persistentvolumes": ("v1", "PersistentVolume"),
        "podgroups.scheduling.volcano.sh": ("scheduling.volcano.sh/v1beta1", "PodGroup"),
        "pods": ("v1", "Pod"),
        "profiles.kubeflow.org": ("kubeflow.org/v1", "Profile"),
        "queues.scheduling.volcano.sh": ("scheduling.volcano.sh/v1beta1", "Queue"),
        "services": ("v1", "Service"),
        "statefulsets.apps": ("apps/v1", "StatefulSet"),
        "storageclasses.storage.k8s.io": ("storage.k8s.io/v1", "StorageClass"),
        "validatingwebhookconfigurations.admissionregistration.k8s.io": (
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
        ),
    }
)
"""What may be read, as `plural.group`, to its apiVersion and kind. A check names it in `needs` with the verb list."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Why something could not be read. `reason` is the error reason of the checks that want it."""

    reason: str
    message: str
    todo: str


@dataclass(frozen=True, slots=True)
class ProbeFailure:
    """Stands in for a probe's evidence when the probe ended without any."""

    reason: str
    message: str
    todo: str


@dataclass(frozen=True, slots=True)
class Window:
    """What a watch over the pods saw in `seconds`: turns from Ready to not Ready, and new container restarts."""

    seconds: float
    flapped: Mapping[Ref, int] = field(default_factory=dict)
    restarted: Mapping[Ref, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodNotes:
    """What else is known of a pod that is not well: its Warning events, newest last, and the end of its log."""

    events: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedWebhook:
    """A webhook configuration, or a CRD with conversion, that a rehearsal answers for the pods behind `services`."""

    kind: str
    name: str
    webhooks: tuple[str, ...]
    services: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Clocks:
    """How far clocks are apart, in seconds, each as the bounds between which the difference lies.

    `server` is the API server's clock less that of this host; `nodes` hold each node's less the API server's.
    """

    server: tuple[float, float]
    nodes: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one admission webhook made of dry runs: it answered, or its silence, or why it was not asked.

    `forbidden` is the rule without which it could not be asked.
    """

    owner: Ref
    name: str
    silence: str = ""
    unasked: str = ""
    forbidden: Rule | None = None


@dataclass(frozen=True, slots=True)
class TlsSecret:
    """What a Secret of a certificate holds: the names of its keys, and the public certificate (PEM). No key is kept."""

    keys: frozenset[str]
    certificate: bytes


@dataclass(frozen=True, slots=True)
class Warned:
    """A Warning event: what it is about, whose uid, how often it came and when last, in seconds since the epoch."""

    about: Ref
    uid: str
    reason: str
    message: str
    count: int
    last: float


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a release is to hold, by component, and what of it does not exist; `source` says how the list came about.

    `unserved` are the absent objects whose kind the server does not know, `refused` the rights that were missing to
    look for others.
    """

    source: str
    expected: Mapping[Ref, str]
    absent: frozenset[Ref] = frozenset()
    unserved: frozenset[Ref] = frozenset()
    refused: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class SignIn:
    """Who may sign in with a password of Dex's own. No hash is kept.

    `published` are the users whose password is the one that upstream publishes, `unknown` those whose hash was not
    found where Dex looks for it.
    """

    emails: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Facts:
    """One snapshot. Judges read it through `all`, `get` and `probe`, which end the judgement when a fact is missing."""

    expectations: Expectations
    taken: float
    """Seconds since the epoch; ages are counted from here."""
    server_version: str = ""
    """gitVersion of the API server, such as v1.30.2."""
    cluster_uid: str = ""
    ready_answers: tuple[str, ...] = ()
    """Three answers of /readyz, one after the other: 'ok', or what was wrong."""
    objects: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    """By `plural.group`; a kind that is not served has no objects."""
    unread: Mapping[str, Unread] = field(default_factory=dict)
    """By `plural.group`, by a rule in words (`get secrets in auth`), or by what else is fetched: cluster, readyz,
    discovery, window, certificates, operator-access, operator-log, operator-admission, volcano-logs, sign-in,
    simulated-webhooks, holdings, events, stranger-access."""
    discovery: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Served plurals by apiVersion, for the versions of the expected CRDs."""
    window: Window | None = None
    certificates: Mapping[Ref, bytes] = field(default_factory=dict)
    """Public serving certificates (PEM) of webhook backends, by the reference of their Service."""
    operator_access: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """By operator's component, what its service account may do, as 'verb resource.group'."""
    operator_log: Mapping[str, str] = field(default_factory=dict)
    """By operator's component; kept where it started before the PodGroup CRD was established."""
    operator_admission: Mapping[str, str] = field(default_factory=dict)
    """Answers to a dry-run create by job kind: '' for accepted, else the refusal."""
    clocks: Clocks | None = None
    webhook_answers: tuple[HookAnswer, ...] | None = None
    """None where none was asked, as a read-only run does."""
    tls_secrets: Mapping[Ref, TlsSecret] = field(default_factory=dict)
    """Secrets of cert-manager's Certificates."""
    managers: Mapping[Ref, frozenset[str]] = field(default_factory=dict)
    """Who wrote the pod templates of workloads that other software may have installed as well."""
    remaining: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By name of a namespace that is being deleted, what is left in it, as far as that may be listed."""
    sign_in: SignIn | None = None
    """None where there is no Dex."""
    stranger_access: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By profile and by user who has no business there, the rules of E7 that the server would allow."""
    holdings: Holdings | None = None
    warning_events: tuple[Warned, ...] = ()
    """Of the last 15 min, about objects in the release's namespaces."""
    volcano_previous_logs: Mapping[tuple[Ref, str], str] = field(default_factory=dict)
    """By pod and container of Volcano, the end of the log before it was started again; only of those that were."""
    simulated_webhooks: tuple[SimulatedWebhook, ...] = ()
    rights: Mapping[str, AbstractSet[Rule]] = field(default_factory=dict)
    """What the run needs to be allowed, by the namespace in which it must hold; '' is all of them."""
    own_access: Mapping[Rule, bool] = field(default_factory=dict)
    """Whether the caller is allowed each of them; a rule for one namespace carries its name."""
    probe_namespace: str = ""
    """An existing namespace for whatever is tried out; empty where the run makes its own."""
    pod_notes: Mapping[str, PodNotes] = field(default_factory=dict)
    """By pod uid, for pods that are not ready."""
    inventory: Inventory | None = None
    """Hosts that were looked at over SSH; None where only the cluster was."""
    probes: Mapping[str, Any] = field(default_factory=dict)
    """Evidence by probe name; 'cleanup' is the session's account of what it removed."""

    def all(self, resource: str) -> tuple[Object, ...]:
        """Every object of `plural.group`.

        Raises:
            CannotJudgeError: it could not be read.
        """
        self.demand(resource)
        return self.objects[resource]

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """One object of the snapshot; `namespace` is empty for cluster-scoped ones.

        Raises:
            CannotJudgeError: the kind could not be read.
        """
        self.demand(resource)
        return self._index.get((resource, namespace, name))

    def probe(self, name: str) -> Any:
        """Evidence of the probe.

        Raises:
            CannotJudgeError: the probe did not come to an end, or was not run.
        """
        evidence = self.probes.get(name, _NOT_RUN)
        if isinstance(evidence, ProbeFailure):
            raise CannotJudgeError(errored(evidence.reason, evidence.message, todo=evidence.todo))
        return evidence

    def demand(self, name: str) -> None:
        """End the judgement when `name` (a key of `unread`) could not be read.

        Raises:
            CannotJudgeError: it could not.
        """
        if missing := self.unread.get(name):
            raise CannotJudgeError(errored(missing.reason, missing.message, todo=missing.todo))

    @cached_property
    def _index(self) -> Mapping[tuple[str, str, str], Object]:
        return {
            (resource, item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
            for resource, items in self.objects.items()
            for item in items
        }

    @cached_property
    def ignored_namespaces(self) -> frozenset[str]:
        """Namespaces that are not judged: those of probes, and those that the caller left out."""
        probes = {
            item["metadata"]["name"]
            for item in self.objects.get("namespaces", ())
            if RUN_LABEL in (item["metadata"].get("labels") or {})
        }
        return frozenset(probes) | self.expectations.ignored_namespaces

    @cached_property
    def simulated_nodes(self) -> frozenset[str]:
        """Names of nodes that no machine stands behind (KWOK)."""
        return frozenset(
            item["metadata"]["name"]
            for item in self.objects.get("nodes", ())
            if SIMULATED_NODE in (item["metadata"].get("annotations") or {})
        )

    @cached_property
    def simulated_pods(self) -> tuple[Object, ...]:
        """Pods whose status is written by a simulator: nothing runs in them."""
        return tuple(
            item
            for item in self.objects.get("pods", ())
            if SIMULATED_POD in (item["metadata"].get("labels") or {})
            or item["spec"].get("nodeName") in self.simulated_nodes
        )


_NOT_RUN = ProbeFailure("ProbeNotRun", "the probe was not run.", "run without --read-only.")
