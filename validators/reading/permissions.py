"""Who may do what: the rules that the checks need, where each is needed, and whether the server grants them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.validators.core.check import Check, closure
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Evidence, Probe, Read, Unread
from kubeflow_volcano.validators.core.resources import NAMESPACES, NODES, RESOURCES
from kubeflow_volcano.validators.core.rights import HOMES, VOLCANO_HOME, Rule
from kubeflow_volcano.validators.reading.devices import DEVICES

CLUSTER_SCOPED = frozenset(
    {
        "apiservices.apiregistration.k8s.io",
        "clusterissuers.cert-manager.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clustertrainingruntimes.trainer.kubeflow.org",
        "csidrivers.storage.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "namespaces",
        "nodes",
        "persistentvolumes",
        "priorityclasses.scheduling.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "profiles.kubeflow.org",
        "queues.scheduling.volcano.sh",
        "storageclasses.storage.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    }
)
"""Kinds that live in no namespace, as far as checks need them; a Role cannot grant them."""

DRY_RUN_NAMESPACE = "default"
"""Where dry runs are made when there is no namespace of probes: it exists everywhere."""

_OF_EVERY_CLUSTER = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
_API = "authorization.k8s.io/v1"
_AT_ONCE = 8
_ONLY_FOR_OWN_NAMESPACE = frozenset({"leases", "namespaces", "resourcequotas", "serviceaccounts"})
_ONLY_IN_ANOTHERS = frozenset(
    {("watch", "persistentvolumeclaims"), ("create", "serviceaccounts/token"), ("get", "pods/log")}
)
_UNASKED = frozenset({HOMES, VOLCANO_HOME, APPLIED_OBJECTS.namespace})
"""Where a right is needed in namespaces that need not be there; the refusal itself says what is missing."""
_ALWAYS = (*NAMESPACES.needs, *NODES.needs, *DEVICES.needs)
_VOLCANOS_DOMAIN = "volcano.sh"
_OF_QUEUES = frozenset({"F3"})
"""Checks of Volcano's queues, in which gangs of no other scheduler wait."""


def allowed(cluster: Cluster, rules: Collection[Rule], *, namespace: str = "", user: str = "") -> Mapping[Rule, bool]:
    """Review each rule for `user`, a ServiceAccount, or for the caller. No namespace means all.

    `auth can-i --list` would prove nothing: a rule may come from anywhere, and only an access review knows.

    Raises:
        ApiError: the question itself is refused.
    """
    kind = "SubjectAccessReview" if user else "SelfSubjectAccessReview"
    path = cluster.resource(_API, kind).path()

    def ask(rule: Rule) -> bool:
        resource, _, subresource = rule.resource.partition("/")
        where = "" if rule.plural_group in CLUSTER_SCOPED else rule.namespace or namespace
        attributes = {"verb": rule.verb, "group": rule.group, "resource": resource, "subresource": subresource}
        attributes |= {"namespace": where} if where else {}
        return all(granted(attributes | ({"name": name} if name else {})) for name in rule.names or ("",))

    def granted(attributes: Mapping[str, str]) -> bool:
        spec: dict[str, Any] = {"resourceAttributes": attributes}
        if user:
            of_namespace = f"system:serviceaccounts:{user.split(':')[2]}"
            spec |= {"user": user, "groups": ["system:serviceaccounts", of_namespace, "system:authenticated"]}
        answer = cluster.request("POST", path, body={"apiVersion": _API, "kind": kind, "spec": spec})
        return bool(answer["status"]["allowed"])

    return dict(zip(rules, in_parallel(ask, rules, _AT_ONCE), strict=True))


def for_gang(checks: Iterable[Check], expectations: Expectations) -> tuple[Check, ...]:
    """The checks, which are written for Volcano, with what they read and need where another scheduler makes the gangs.

    Probes make and read its PodGroups in place of Volcano's, and do not wait for Volcano's queues. Nothing else of
    Volcano is needed, unless it is there beside it: what looks at its queues, groups, webhooks, configuration and logs
    is left out.
    """
    gang, beside = expectations.gang, expectations.has_volcano
    return tuple(checks) if gang is VOLCANO else tuple(_for_gang(item, gang, beside=beside) for item in checks)


def _for_gang(check: Check, gang: GangScheduler, *, beside: bool) -> Check:
    def rules(every: Iterable[Rule]) -> Iterator[Rule]:
        for rule in every:
            if not _of_volcano(rule):
                yield rule
            elif check.probe and (rule.group, rule.resource) == (VOLCANO.group, "podgroups"):
                yield replace(rule, group=gang.group)

    def reads(every: Iterable[Read]) -> tuple[Read, ...]:
        return tuple(
            item for item in every if not any(_of_volcano(rule) for read in closure([item]) for rule in read.needs)
        )

    def probe(found: Evidence[Any] | None) -> Evidence[Any] | None:
        if not isinstance(found, Probe):
            return found
        return replace(found, reads=reads(found.reads), needs=tuple(rules(found.needs)))

    found = replace(
        check,
        requires=tuple(id_ for id_ in check.requires if id_ not in _OF_QUEUES),
        probe=probe(check.probe),
    )
    return found if beside else replace(found, reads=reads(check.reads), needs=tuple(rules(check.needs)))


def _of_volcano(rule: Rule) -> bool:
    return rule.group.endswith(_VOLCANOS_DOMAIN) or rule.namespace == VOLCANO_HOME


def placed(
    checks: Iterable[Check], expectations: Expectations, *, probe_namespace: str, read_only: bool
) -> Mapping[str, AbstractSet[Rule]]:
    """The least rules for these checks, by the namespace in which they must hold; '' is all of them.

    What every authenticated user may do on any cluster (discovery, /readyz, asking for one's own rights) is not named.
    """
    rights = uses(checks, expectations, probe_namespace=probe_namespace, read_only=read_only)
    return {where: rights[where].keys() for where in rights}


def uses(
    checks: Iterable[Check], expectations: Expectations, *, probe_namespace: str, read_only: bool
) -> Mapping[str, Mapping[Rule, Sequence[str]]]:
    """The rules of `placed`, each with the ids of the checks that need it; those of every run have none."""
    rights: defaultdict[str, dict[Rule, list[str]]] = defaultdict(dict)
    rights[""] |= {rule: [] for rule in _ALWAYS}
    for check in checks:
        if check.component not in {"", *expectations.components} or (check.probe and read_only):
            continue
        for rule in (*check.rules, *check.rules_for(expectations.crds)):
            left_out = _of_the_other_mode(rule, probe_namespace) if check.probe else read_only and _is_dry_run(rule)
            if not left_out:
                for where in _places(rule, check, expectations, probe_namespace):
                    users = rights[where].setdefault(replace(rule, namespace=""), [])
                    if check.id not in users and rule not in _ALWAYS:
                        users.append(check.id)
    everywhere = rights[""]
    for where, rules in rights.items():
        for rule in [item for item in rules if where and item in everywhere]:
            everywhere[rule] += [id_ for id_ in rules.pop(rule) if id_ not in everywhere[rule]]
    return dict(sorted(rights.items()))


def _places(rule: Rule, check: Check, expectations: Expectations, probe_namespace: str) -> Collection[str]:
    if rule.plural_group in CLUSTER_SCOPED:
        return ("",)
    if rule.namespace == HOMES:
        return expectations.homes
    if rule.namespace:  # one that is not expected has nothing in it to read
        where = expectations.scheduler.namespace if rule.namespace == VOLCANO_HOME else rule.namespace
        return {*expectations.namespaces, *_OF_EVERY_CLUSTER, APPLIED_OBJECTS.namespace} & {where}
    if any(rule in item.needs for item in check.resources):
        return ("",)
    return (_where(rule, check, probe_namespace),)


def _where(rule: Rule, check: Check, probe_namespace: str) -> str:
    """Namespace in which something is needed that is neither for the snapshot nor tied to a place."""
    if check.probe:
        return probe_namespace
    return (probe_namespace or DRY_RUN_NAMESPACE) if _is_dry_run(rule) else ""


def _is_dry_run(rule: Rule) -> bool:
    """Of a rule of a check without a probe: whether something is created that does not stay."""
    return rule.verb == "create" and rule.group != "authorization.k8s.io"


def _of_the_other_mode(rule: Rule, namespace: str) -> bool:
    """Whether a probe does that only in a namespace of its own, or only in one that is there, and this is not so.

    In one that is there neither quota nor account is waited for. An own namespace is deleted with its claims, and has
    no account of a person, nor what is run as one and has logs.
    """
    if namespace:
        return rule.resource in _ONLY_FOR_OWN_NAMESPACE
    return not rule.namespace and (rule.verb, rule.resource) in _ONLY_IN_ANOTHERS


def missing_for_probes(cluster: Cluster, checks: Iterable[Check], namespace: str) -> Mapping[str, Unread]:
    """Why a check of a probe may not be judged, by its id: what the probe does and the server does not allow.

    What it reads in a namespace that need not be there is not asked for: there the refusal itself is the answer.
    """
    asked = {
        item.id: [rule for rule in item.rules if not rule.namespace and not _of_the_other_mode(rule, namespace)]
        for item in checks
        if isinstance(item.probe, Probe)
    }
    rules = sorted({rule for rules in asked.values() for rule in rules}, key=str)
    answers = allowed(cluster, rules, namespace=namespace)
    denied = {id_: [rule for rule in rules if not answers[rule]] for id_, rules in asked.items()}
    return {id_: _forbidden(missing, namespace) for id_, missing in denied.items() if missing}


def missing_for_reading(
    cluster: Cluster,
    checks: Iterable[Check],
    rights: Mapping[str, AbstractSet[Rule]],
    namespace: str,
    *,
    read_only: bool,
) -> Mapping[str, Unread]:
    """What the other checks need beyond listing and the server does not allow, by the rule in words.

    Dry runs are not made at all by a read-only run, and nothing is read in namespaces for which `rights`, those of the
    run, have no such rule. What is listed or watched for the snapshot, or read in namespaces that need not be there, is
    not asked for: there the refusal itself is the answer.
    """
    wanted: defaultdict[str, set[Rule]] = defaultdict(set)
    for item in checks:
        for rule in () if item.probe else item.demanded:
            of_snapshot = rule.plural_group in RESOURCES and rule.verb in {"list", "watch"}
            of_others = rule.namespace and not _is_among(rule, rights)
            unasked = of_snapshot or rule.namespace in _UNASKED or of_others
            if not unasked and not (read_only and _is_dry_run(rule)):
                wanted[_where(rule, item, namespace)].add(rule)
    missing: dict[str, Unread] = {}
    for where, rules in wanted.items():
        answers = allowed(cluster, sorted(rules, key=str), namespace=where)
        missing |= {str(rule): _forbidden([rule], rule.namespace or where) for rule, yes in answers.items() if not yes}
    return missing


def _is_among(rule: Rule, rights: Mapping[str, AbstractSet[Rule]]) -> bool:
    return any(replace(rule, namespace="") in rights.get(where, ()) for where in ("", rule.namespace))


def _forbidden(missing: Sequence[Rule], namespace: str) -> Unread:
    names = ", ".join(str(rule) for rule in missing)
    where = f" in namespace {namespace}" if namespace else ""
    todo = f"grant these rules{where}:\n{as_yaml(missing)}\n`kubeflow-volcano rbac` prints all that a run needs."
    if not namespace and any(str(rule) == "create namespaces" for rule in missing):
        todo += " Without namespaces of its own a run stays in an existing one: --probe-namespace."
    return Unread("Forbidden", f"you may not{where}: {names}.", todo)


def as_yaml(rules: Iterable[Rule]) -> str:
    """The rules as in a ClusterRole, one line each."""
    return "\n".join(
        f"- {{apiGroups: ['{rule.group}'], resources: ['{rule.resource}'], {_named(rule)}verbs: ['{rule.verb}']}}"
        for rule in rules
    )


def _named(rule: Rule) -> str:
    return f"resourceNames: [{', '.join(map(repr, rule.names))}], " if rule.names else ""
