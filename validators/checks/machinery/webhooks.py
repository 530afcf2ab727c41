"""Family B, webhooks: can the API server reach and trust them, and which requests depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace, selects
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, failed, skipped
from kubeflow_volcano.validators.core.resources import CRDS, NAMESPACES, SERVICES
from kubeflow_volcano.validators.subjects import webhooks
from kubeflow_volcano.validators.subjects.interception import webhook_ref
from kubeflow_volcano.validators.subjects.issues import Issue, verdict
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS

_SYSTEM = "kube-system"
_UNRELATED = labelled_namespace(None, "unrelated")
"""A namespace without labels."""

_PODS = frozenset({"pods", "*", "*/*"})


@check("B3", "webhooks-sound", severity=Severity.BLOCKER, reads=(*webhooks.READS, webhooks.SERVING_CERTIFICATES))
def webhooks_sound(facts: Facts) -> Outcome:
    """The API server can reach and trust every admission webhook.

    The caBundle must contain a valid CA, the Service must exist with the port and a ready endpoint, and the serving
    certificate must be for the name of the Service and lead to the caBundle, by intermediates that are served if need
    be. The rules are those of the API server; what cannot be verified is a warning with the reason. A failing webhook
    rejects every request that it intercepts. The backend writes the caBundle at its start; what renews a certificate
    depends on what makes it, and the finding has the commands. A Secret that a Job made stays away when it is only
    deleted. Of certificates only those are read whose Secret holds no authority's key; B4 calls all webhooks.
    """
    looked_at = [Ref.of(item) for item in webhooks.configurations(facts)]
    if not looked_at and not facts.expectations.webhooks:
        todo = "choose a profile with components (--profile)."
        return failed("NothingExpected", "the chosen components have no webhook.", todo=todo)
    issues = webhooks.issues(facts)
    if not issues:
        facts.read(webhooks.SERVING_CERTIFICATES)
    return verdict(
        issues,
        looked_at,
        claim=_sound(facts),
        expected="a valid caBundle, a Service with a ready endpoint, a certificate that leads to the caBundle",
    )


def _sound(facts: Facts) -> str:
    configurations = webhooks.configurations(facts)
    entries = [entry for item in configurations for entry in item.get("webhooks") or ()]
    simulated = {ref for item in facts.known(SIMULATED_WEBHOOKS) for ref in item.services}
    services = [ref for entry in entries if (ref := webhooks.service_of(entry))]
    stubbed = sum(ref in simulated for ref in services)
    whole = f"{counted(len(entries), 'webhook')} in {counted(len(configurations), 'configuration')}"
    note = f"{whole} can be reached and trusted."
    if stubbed:
        note += f" The rehearsal answers {stubbed} of them, which says nothing about their backends."
    if isinstance(facts.found.get(SIMULATED_WEBHOOKS), Unread):
        note += " Whether a rehearsal answers some of them could not be read."
    known = facts.known(webhooks.SERVING_CERTIFICATES)
    unchecked = sorted({str(ref) for ref in services if ref not in known and ref not in simulated})
    if unchecked:
        note += f" The certificate of {few(unchecked)} is in no Secret that is read, and was not checked."
    return note


@check(
    "B5",
    "webhook-blast-radius",
    severity=Severity.MINOR,
    reads=(*webhooks.LISTS, NAMESPACES),
)
def webhook_blast_radius(facts: Facts) -> Outcome:
    """No webhook of the release with failurePolicy Fail intercepts pods in unrelated namespaces.

    While the backend of such a webhook is down, no pod can be created in these namespaces; if kube-system is among
    them, its own backend and the cluster DNS cannot restart. Volcano 1.7 to 1.11 ships such a webhook, except for
    kube-system. Set failurePolicy Ignore, or a namespaceSelector with a label of the namespaces that it is for.
    """
    hooks = [*entries(webhooks.configurations(facts))]
    if not hooks:
        return skipped("NoObjects", "the chosen components have no webhook.")
    system = labelled_namespace(facts.get(NAMESPACES, "", _SYSTEM), _SYSTEM)
    stopping = [_stops(hook, system) for hook in hooks if _sees_all_pods(hook) and hook.matches_namespace(_UNRELATED)]
    return verdict(
        sorted(stopping, key=lambda item: item.reason),
        sorted({hook.owner for hook in hooks}),
        claim=f"{counted(len(hooks), 'webhook')} with failurePolicy Ignore, or for selected namespaces only.",
        expected="failurePolicy Ignore, or a namespaceSelector that unrelated namespaces do not match",
    )


def _stops(hook: Webhook, system: Object) -> Issue:
    everywhere = hook.matches_namespace(system)
    where = "any namespace" if everywhere else "unrelated namespaces"
    return Issue(
        "B5",
        Status.WARN,
        hook.owner,
        "StopsEveryPod" if everywhere else "StopsOthersPods",
        f"{hook.owner}: while webhook {hook.name} is down, no pod can be created in {where}.",
        "set failurePolicy Ignore, or a namespaceSelector with a label; for the webhook of a Volcano that "
        "this project installed set volcano_pod_webhook_failure_policy or volcano_pod_webhook_namespace_labels and run "
        "the rollout.",
    )


def _sees_all_pods(hook: Webhook) -> bool:
    """Whether it has failurePolicy Fail and intercepts pods with any labels."""
    text = hook.text
    return (
        text.get("failurePolicy", "Fail") == "Fail"
        and not text.get("objectSelector")
        and not text.get("matchConditions")
        and any(
            {"*", "CREATE"} & set(rule["operations"])
            and {"*", ""} & set(rule["apiGroups"])
            and _PODS & set(rule["resources"])
            and rule.get("scope", "*") != "Cluster"
            for rule in text.get("rules") or ()
        )
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """An admission webhook, or the conversion webhook of a CRD, and the Service that it calls."""

    owner: Ref
    words: str
    service: Ref
    name: str = ""
    """Name of the admission webhook; empty for a conversion."""
    status: Status = Status.FAIL
    """What it is that the Service is missing."""


_TODO = "delete it if its component is no longer installed, else install the component again."
_TODO_CONVERSION = (
    "install the component again; or, if it is no longer installed, set spec.conversion.strategy of the CRD to None. "
    "Do not delete the CRD: its objects would go with it."
)


def _unconverted(crd: Ref) -> str:
    """The command that takes the conversion from a CRD of one version."""
    patch = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'
    return f"kubectl patch crd {crd.name} --type merge -p '{patch}'"


@check(
    "B6",
    "no-orphan-webhooks",
    severity=Severity.MAJOR,
    reads=(*webhooks.LISTS, CRDS, SERVICES, NAMESPACES),
)
def no_orphan_webhooks(facts: Facts) -> Outcome:
    """Every admission and conversion webhook calls a Service that exists.

    An orphaned webhook of a former installation rejects every request that it intercepts. Delete the webhook
    configuration or the conversion of the CRD, or install its component again. It is a warning if the webhook is of
    others and rejects nothing (failurePolicy Ignore), or only objects with a label of its own (objectSelector), and if
    the CRD has one version alone, which the API server never converts.
    """
    calls = [*_calls(facts)]
    absent: dict[_Call, str] = {}
    for call in calls:
        if not facts.get(SERVICES, call.service.namespace, call.service.name):
            there = facts.get(NAMESPACES, "", call.service.namespace)
            absent[call] = "which does not exist" if there else f"and there is no namespace {call.service.namespace}"
    issues = [
        Issue(
            "B6",
            call.status,
            call.owner,
            "NoService",
            f"{call.owner}: {call.words} calls {call.service}, {why}.",
            _TODO if call.name else _TODO_CONVERSION,
            (frozenset({call.service}),),
            breaks=(webhook_ref(call.name),) if call.name else (),
            changes=() if call.name or call.status is Status.FAIL else (_unconverted(call.owner),),
        )
        for call, why in absent.items()
    ]
    return verdict(
        issues,
        sorted({call.owner for call in calls}),
        claim=f"{counted(len(calls), 'webhook')} with an existing Service.",
        expected="a Service for every webhook",
    )


def _calls(facts: Facts) -> Iterator[_Call]:
    every = [item for resource in webhooks.RESOURCES.values() for item in facts.all(resource)]
    own = {Ref.of(item) for item in webhooks.configurations(facts)}
    for hook in entries(every):
        if hook.service:
            status = Status.FAIL if hook.owner in own or _rejects_unlabelled(hook) else Status.WARN
            yield _Call(hook.owner, f"webhook {hook.name}", Ref("v1", "Service", *hook.service), hook.name, status)
    for crd in facts.all(CRDS):
        webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
        if service := webhook.get("clientConfig", {}).get("service"):
            # What has the wanted version is not converted (apiextensions-apiserver, pkg/apiserver/conversion).
            status = Status.FAIL if len(crd["spec"]["versions"]) > 1 else Status.WARN
            backend = Ref("v1", "Service", service["namespace"], service["name"])
            yield _Call(Ref.of(crd), "its conversion", backend, status=status)


def _rejects_unlabelled(hook: Webhook) -> bool:
    """Whether a failing call rejects objects that have no label of the webhook's own."""
    return hook.text.get("failurePolicy", "Fail") == "Fail" and selects(hook.text.get("objectSelector"), {})
