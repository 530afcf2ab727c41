"""Family B, admission webhooks: can the API server reach and trust them, and how much hangs on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.check import check
from validators.core.facts import Facts, Unread
from validators.core.outcome import Outcome, Severity, Status, failed, skipped
from validators.core.resources import CRDS, NAMESPACES, SERVICES
from validators.subjects import webhooks
from validators.subjects.simulation import SIMULATED_WEBHOOKS
from validators.subjects.troubles import Trouble, verdict

__all__ = ["CHECKS"]

_SYSTEM = "kube-system"
_ANYBODYS = labelled_namespace(None, "somebody-elses")
"""A namespace without labels, of which nobody knows."""

_PODS = frozenset({"pods", "*", "*/*"})


@check("B3", "webhooks-sound", severity=Severity.BLOCKER, reads=(*webhooks.READS, webhooks.SERVING_CERTIFICATES))
def webhooks_sound(facts: Facts) -> Outcome:
    """Every admission webhook can be reached and trusted by the API server.

    The caBundle must hold a valid authority, the Service must exist with that port and a ready endpoint, and the
    serving certificate must be signed by that authority for the Service's name. A webhook that fails stops every
    request that it intercepts. Restart the backend, which writes the caBundle, or apply the component again.
    """
    looked_at = [Ref.of(item) for item in webhooks.configurations(facts)]
    if not looked_at and not facts.expectations.webhooks:
        todo = "choose a profile that has components (--profile)."
        return failed("NothingExpected", "the expectations name no webhook.", todo=todo)
    found = webhooks.troubled(facts)
    if not found:
        facts.read(webhooks.SERVING_CERTIFICATES)
    return verdict(
        found,
        looked_at,
        claim=_sound(facts),
        expected="a valid caBundle, a Service with a ready endpoint, a certificate that chains to the caBundle",
    )


def _sound(facts: Facts) -> str:
    configurations = webhooks.configurations(facts)
    entries = [entry for item in configurations for entry in item.get("webhooks") or ()]
    simulated = {ref for item in facts.known(SIMULATED_WEBHOOKS) for ref in item.services}
    services = [ref for entry in entries if (ref := webhooks.service_of(entry))]
    stubbed = sum(ref in simulated for ref in services)
    told = f"{len(entries)} webhooks in {len(configurations)} configurations are sound."
    if stubbed:
        told += f" {stubbed} of them are answered by the rehearsal and say nothing about their backends."
    if isinstance(facts.found.get(SIMULATED_WEBHOOKS), Unread):
        told += " Whether a rehearsal answers some of them could not be read."
    known = facts.known(webhooks.SERVING_CERTIFICATES)
    unchecked = sorted({str(ref) for ref in services if ref not in known and ref not in simulated})
    if unchecked:
        told += f" The certificate of {', '.join(unchecked)} is in no Secret and was not looked at."
    return told


@check(
    "B5",
    "webhook-blast-radius",
    severity=Severity.MINOR,
    reads=(*webhooks.LISTS, NAMESPACES),
)
def webhook_blast_radius(facts: Facts) -> Outcome:
    """No webhook of the release can stop pods that have nothing to do with it.

    One that sees the creation of all pods and fails closed keeps pods of everybody from starting while its backend is
    down; where it sees kube-system too, its own backend and the cluster's DNS do not come back. Volcano 1.7 to 1.11 is
    shipped so, but for kube-system. Give it failurePolicy Ignore, or a namespaceSelector with a label that only the
    namespaces have that it is for.
    """
    hooks = [*entries(webhooks.configurations(facts))]
    if not hooks:
        return skipped("NoObjects", "the chosen components have no webhook.")
    system = labelled_namespace(facts.get(NAMESPACES, "", _SYSTEM), _SYSTEM)
    found = [_stops(hook, system) for hook in hooks if _sees_all_pods(hook) and hook.matches_namespace(_ANYBODYS)]
    return verdict(
        sorted(found, key=lambda item: item.reason),
        sorted({hook.owner for hook in hooks}),
        claim=f"{len(hooks)} webhooks see only pods of namespaces that ask for it, or fail open.",
        expected="failurePolicy Ignore, or a selector by a label that strangers' namespaces do not have",
    )


def _stops(hook: Webhook, system: Object) -> Trouble:
    everywhere = hook.matches_namespace(system)
    where = "any namespace" if everywhere else "namespaces that have nothing to do with it"
    return Trouble(
        "B5",
        Status.WARN,
        hook.owner,
        "StopsEveryPod" if everywhere else "StopsOthersPods",
        f"{hook.owner}: while webhook {hook.name} is down, no pod can be created in {where}.",
        "give it failurePolicy Ignore, or a namespaceSelector with a label; of Volcano's a roll-out sees to that "
        "(volcano_pod_webhook_failure_policy, volcano_pod_webhook_namespace_labels).",
    )


def _sees_all_pods(hook: Webhook) -> bool:
    """Whether it fails closed and no label of a pod keeps the pod from it."""
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
    """Who calls which Service: an admission webhook, or a CRD whose versions are converted by one."""

    owner: Ref
    words: str
    service: Ref


@check(
    "B6",
    "no-orphan-webhooks",
    severity=Severity.MAJOR,
    reads=(*webhooks.LISTS, CRDS, SERVICES, NAMESPACES),
)
def no_orphan_webhooks(facts: Facts) -> Outcome:
    """Every webhook of the cluster, of admission and of conversion, calls a Service that exists.

    What is left of an uninstall refuses whatever it intercepts, for ever. Remove the webhook configuration, or the
    CRD's conversion, or install its component again.
    """
    calls = [*_calls(facts)]
    absent: dict[_Call, str] = {}
    for call in calls:
        if not facts.get(SERVICES, call.service.namespace, call.service.name):
            there = facts.get(NAMESPACES, "", call.service.namespace)
            absent[call] = "which does not exist" if there else f"and there is no namespace {call.service.namespace}"
    found = [
        Trouble(
            "B6",
            Status.FAIL,
            call.owner,
            "NoService",
            f"{call.owner}: {call.words} calls {call.service}, {why}.",
            "remove it if its component is gone for good, else install the component again.",
        )
        for call, why in absent.items()
    ]
    return verdict(
        found,
        sorted({call.owner for call in calls}),
        claim=f"the Services of all {len(calls)} webhooks exist.",
        expected="a Service for every webhook",
    )


def _calls(facts: Facts) -> Iterator[_Call]:
    every = [item for resource in webhooks.RESOURCES.values() for item in facts.all(resource)]
    for hook in entries(every):
        if hook.service:
            yield _Call(hook.owner, f"webhook {hook.name}", Ref("v1", "Service", *hook.service))
    for crd in facts.all(CRDS):
        webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
        if service := webhook.get("clientConfig", {}).get("service"):
            yield _Call(Ref.of(crd), "its conversion", Ref("v1", "Service", service["namespace"], service["name"]))


CHECKS = (webhooks_sound, webhook_blast_radius, no_orphan_webhooks)
