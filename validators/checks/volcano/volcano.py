"""Family F: is Volcano up, configured to gang, and open for work.

Rules, of Volcano v1.8.0 to v1.15.1. F1: installer/volcano-development.yaml (its workloads). F3: newDefaultQueue of
pkg/scheduler/cache makes the queue default, pkg/webhooks/admission/jobs and pods take work for a queue in state Open
only, and plugins proportion and capacity read 0 of CPU and memory as no limit. F4: subjects/gang names them. F5: the
compatibility table of README.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO
from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.api.native_gangs import GATE, unmet
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.volcano import flags, node_groups, second
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.consequences import NOT_NEEDED
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import (
    CannotJudgeError,
    Outcome,
    Severity,
    Status,
    failed,
    passed,
    skipped,
    warned,
)
from kubeflow_volcano.validators.core.resources import CONFIGMAPS, DEPLOYMENTS, QUEUES
from kubeflow_volcano.validators.subjects import crds, workloads
from kubeflow_volcano.validators.subjects.gang import scheduler_configuration
from kubeflow_volcano.validators.subjects.gang.leases import LEASES
from kubeflow_volcano.validators.subjects.gang.native import NATIVE_GANGS
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of
from kubeflow_volcano.validators.subjects.gang.queue_opening import open_command
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import Configuration, Unusable
from kubeflow_volcano.validators.subjects.gang.scheduler_correction import correction
from kubeflow_volcano.validators.subjects.gang.scheduler_log import SCHEDULER_LOGS, refused
from kubeflow_volcano.validators.subjects.issues import verdict
from kubeflow_volcano.validators.subjects.kubectl import patch, pointer


@check(
    "F1", "volcano-components", severity=Severity.BLOCKER, reads=(*workloads.READS, LEASES, *second.READS, NATIVE_GANGS)
)
def components(facts: Facts) -> Outcome:
    """Volcano's scheduler, controllers and admission are available, and its admission-init Job is complete.

    Each Deployment must have its replicas available (scaled to zero counts as unavailable), and the Job
    volcano-admission-init must be complete. Scale up what is scaled down; otherwise the checks of the pods name the
    cause. Where a leader is elected, the holder of the Lease must run: delete a Lease whose holder is gone. A
    second Volcano on the cluster is scaled to 0: two schedulers at work for the same schedulerName are a failure,
    everything else of a second one is a warning. The scheduler must answer to the name volcano, the controllers
    must run the one of Volcano's jobs, and the accounts of both must have their rights. With scheduler-plugins the
    check looks at their scheduler and controller. Gangs of Kubernetes need its feature gate GenericWorkload and the
    API scheduling.k8s.io/v1beta1, which the check looks at.
    """
    gang = facts.expectations.gang
    if gang is KUBERNETES:
        return _native(facts)
    expected = [ref for ref, component in facts.expectations.workloads.items() if component == gang.name]
    if not expected:
        return skipped("NotExpected", f"the chosen components have no {gang.title}.")
    issues = [
        replace(item, check="F1", because=() if item.because == ("F1",) else item.because or (item.check,))
        for item in workloads.issues(facts)
        if item.ref in expected
    ]
    if gang is VOLCANO:
        issues += [*second.second_volcano(facts), *flags.idle_programs(facts)]
    claim = f"{len(expected)} workloads of {gang.title} are up."
    job = ", volcano-admission-init complete" if gang is VOLCANO else ""
    return verdict(issues, expected, claim=claim, expected=f"every Deployment available{job}")


def _native(facts: Facts) -> Outcome:
    """F1 of gangs of Kubernetes; a program whose gate nothing shows is named and left to H1 and H2."""
    found, gang = facts.read(NATIVE_GANGS), KUBERNETES
    served = Ref("apiregistration.k8s.io/v1", "APIService", "", f"{gang.version}.{gang.group}")
    for reason, problem in unmet(found):
        return failed(reason, problem.found, expected=problem.needed, todo=problem.todo)
    shown = [f"{name} has it on" for name in found.gates]
    shown += [f"of {name} no pod shows it" for name in found.unread]
    return passed(
        f"PodGroup of {gang.api_version} is served, so the API server has feature gate {GATE} on; "
        f"{' and '.join(shown)}.",
        objects=(served,),
        observed={"server_version": found.server, "gates": dict.fromkeys(found.gates, "on")},
    )


@check(
    "F3",
    "queue-open",
    severity=Severity.BLOCKER,
    reads=(*crds.READS, QUEUES, *node_groups.READS),
)
def queue_open(facts: Facts) -> Outcome:
    """Queue default exists, is Open and has room.

    A closed Queue accepts no new jobs, and a missing one looks exactly like a scheduler that is down: pods wait without
    any condition. The scheduler creates the Queue at its start; open a closed one with the command below. A capability
    of 0 is no limit for cpu, memory and pods; of another resource, such as GPUs, it is a warning, as jobs that request
    none of it run. Where plugin nodegroup is on, a queue needs nodes of the groups in its affinity; where it is off,
    nothing reads that affinity. A scheduler that was started with --node-selector knows only nodes with one of its
    labels.
    """
    crds.demand_volcano(facts, "has no queues")
    crds.demand_gang_kinds(facts, VOLCANO)
    ref, scheduler = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "default"), facts.expectations.scheduler
    queues = {name: facts.get(QUEUES, "", name) for name in ("default", "root")}
    if queues["default"] is None:
        return failed(
            "Missing",
            "there is no queue default.",
            expected="a queue default in state Open",
            objects=(ref,),
            todo="restart the scheduler, which makes it at its start.",
            changes=(f"kubectl -n {scheduler.namespace} rollout restart deployment/{scheduler.name}",),
            because=("F1",) if _scheduler_off(facts) else (),
        )
    present = {name: queue for name, queue in queues.items() if queue}
    states = {name: queue.get("status", {}).get("state") or "Unknown" for name, queue in present.items()}
    refs = tuple(ref._replace(name=name) for name in present)
    shut = [name for name, state in states.items() if state != "Open"]
    if shut:
        return failed(
            states[shut[0]],
            " ".join(f"Queue {name} is {states[name]}." for name in shut),
            expected="state Open",
            observed=states,
            objects=tuple(item for item in refs if item.name in shut),
            todo="open it: it takes no new work as it is.",
            changes=tuple(
                open_command(present[name], scheduler_configuration.version(facts), scheduler.namespace)
                for name in shut
            ),
        )
    if empty := [(name, key) for name, queue in present.items() for key in _unreadable(queue)]:
        return failed(
            "NoCapability",
            f"the capability is no quantity: {_of_queues(empty)}.",
            expected="quantities",
            objects=refs,
            todo="correct or remove spec.capability of the queue.",
            changes=_without(empty),
        )
    misplaced = node_groups.unknown(facts) or node_groups.misplaced(facts)
    if misplaced and misplaced.status is Status.FAIL:
        return misplaced
    chosen = node_groups.configuration(facts)
    held = chosen is None or not {"proportion", "capacity"}.isdisjoint(chosen.plugins)  # no other plugin reads it
    if barred := [(name, key) for name, queue in present.items() if held for key in _unusable_resources(queue)]:
        return warned(
            "NoCapability",
            f"the capability is 0: {_of_queues(barred)}; jobs that request it wait for ever.",
            expected="capability absent or above 0",
            objects=refs,
            todo="raise or remove spec.capability of the queue, unless it is meant so.",
            changes=_without(barred),
        )
    return misplaced or passed(f"{' and '.join(present)} are open.", objects=refs, observed=states)


def _of_queues(found: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{key} of queue {name}" for name, key in found)


def _without(found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Commands that remove these resources from the capability of their queues, the first of each pair."""
    queues: dict[str, list[str]] = {}
    for name, key in found:
        queues.setdefault(name, []).append(key)
    ref = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "")
    return tuple(
        patch(
            "queues.scheduling.volcano.sh",
            ref._replace(name=name),
            [{"op": "remove", "path": pointer("spec", "capability", key)} for key in keys],
        )
        for name, keys in queues.items()
    )


def _scheduler_off(facts: Facts) -> bool:
    deployments = facts.objects.get(DEPLOYMENTS, ())
    return any(
        Ref.of(item) == facts.expectations.scheduler and item["spec"].get("replicas") == 0 for item in deployments
    )


def _capability(queue: Object) -> Iterator[tuple[str, Decimal | None]]:
    """Amount by resource; None for what is no quantity."""
    for key, amount in (queue.get("spec", {}).get("capability") or {}).items():
        try:
            yield key, parse_quantity(amount)
        except ValueError:
            yield key, None


def _unreadable(queue: Object) -> Iterator[str]:
    return (key for key, amount in _capability(queue) if amount is None)


def _unusable_resources(queue: Object) -> Iterator[str]:
    """Resources of which the queue may use nothing."""
    return (
        key
        for key, amount in _capability(queue)
        if amount is not None and amount <= 0 and key not in scheduler_configuration.UNLIMITED_AT_ZERO
    )


@check("F4", "gang-plugin", severity=Severity.BLOCKER, reads=(DEPLOYMENTS, CONFIGMAPS, SCHEDULER_LOGS))
def gang_plugin(facts: Facts) -> Outcome:
    """The scheduler's configuration enables gang scheduling.

    Volcano must accept it, as with an unknown action it ignores all of it; where the scheduler's own log refuses it, it
    does not count, however sound it looks. It needs action allocate and the plugin gang, whose enableJobReady is not
    false: otherwise members are scheduled one by one. Action enqueue may be left out: allocate then admits PodGroups
    itself, without the capability of queues and the room that plugin overcommit keeps. A warning names what Volcano
    skips (plugins, keys and arguments that this version does not read), and what gangs do without (predicates, one of
    proportion and capacity). Correct the ConfigMap; the scheduler reloads it.
    """
    scheduler = _scheduler(facts)
    configuration = scheduler_configuration.read(scheduler, facts)
    if isinstance(configuration, Unusable):
        found = configuration
        return failed(found.reason, found.message, objects=(found.ref,), todo=found.todo)
    version = scheduler_configuration.version(facts)
    wrong = tuple(scheduler_configuration.faults(configuration, version))
    observed = {"actions": list(configuration.actions), "plugins": list(configuration.plugins)}
    if not any(item.fails for item in wrong) and (said := _refused(configuration, facts)):
        return said
    if not wrong:
        note = "" if "enqueue" in configuration.actions else f" {_WITHOUT_ENQUEUE}"
        return passed(f"{configuration.ref} has gang on.{note}", objects=(configuration.ref,), observed=observed)
    fails = [item for item in wrong if item.fails]
    command = correction(configuration, version)
    make = failed if fails else warned
    todo = "correct the scheduler's configuration; it is read again within a minute. The command drops comments."
    if not command:
        todo = "correct the scheduler's configuration, unless it is meant so; it is read again within a minute."
    if any(item.reason == "UnknownPlugin" for item in wrong):
        todo += (
            " See that each unknown plugin is a custom one on purpose, and not misspelt; name those of a vendor in "
            "volcano_scheduler_extra_plugins (--extra-plugin)."
        )
    return make(
        (fails or wrong)[0].reason,
        f"{configuration.ref}: {_sentences(item.text for item in wrong)}",
        expected="actions that Volcano knows, allocate among them; plugin gang; keys and arguments that it reads",
        observed=observed,
        objects=(configuration.ref,),
        todo=todo,
        changes=(command,) if command else (),
    )


def _refused(configuration: Configuration, facts: Facts) -> Outcome | None:
    """That the scheduler itself refuses what looks sound here; its word counts."""
    found = facts.get(CONFIGMAPS, configuration.ref.namespace, configuration.ref.name) or {}
    text = str((found.get("data") or {}).get(configuration.key) or "")
    said = {pod: why for pod, log in facts.known(SCHEDULER_LOGS).items() if text and (why := refused(text, log))}
    if not said:
        return None
    pod, why = next(iter(said.items()))
    return failed(
        "RefusedByScheduler",
        f'{pod} refuses {configuration.ref}, in which nothing wrong is known here: it says "{why}". It goes on with '
        "the configuration before it, and after a start with its built-in one.",
        expected="a configuration that the scheduler loads",
        observed={str(ref): text for ref, text in said.items()},
        objects=(configuration.ref, *said),
        todo="correct what the scheduler's message names; it reads the configuration again within a minute.",
        commands=(f"kubectl -n {pod.namespace} logs {pod.name} --tail 200",),
    )


_WITHOUT_ENQUEUE = (
    "Action enqueue is left out: allocate admits each PodGroup, and its pods are created, whatever its queue has free."
)


def _sentences(texts: Iterable[str]) -> str:
    """Each with a full stop, unless it ends in a question."""
    return " ".join(text if text.endswith("?") else f"{text}." for text in texts)


def _scheduler(facts: Facts) -> Object:
    """The scheduler's Deployment; ends the check if it is missing or not expected."""
    crds.demand_volcano(facts, "makes the gangs, and not Volcano")
    ref = facts.expectations.scheduler
    deployment = facts.get(DEPLOYMENTS, ref.namespace, ref.name)
    if deployment:
        return deployment
    if ref not in facts.expectations.workloads:
        raise CannotJudgeError(skipped("NotExpected", "the chosen components have no Volcano."))
    message = f"{ref} does not exist."
    raise CannotJudgeError(failed("NoScheduler", message, objects=(ref,), todo="install Volcano.", because=("F1",)))


@check("F5", "volcano-version-pair", severity=Severity.MINOR, reads=(DEPLOYMENTS,))
def version_pair(facts: Facts) -> Outcome:
    """Volcano's version was tested with this Kubernetes version.

    The compatibility table in Volcano's README lists the pairs by minor version. Other pairs may work; if something
    fails, choose a Volcano version that lists the server's version.
    """
    scheduler = _scheduler(facts)
    if VOLCANO.name in facts.expectations.existing:
        return skipped(NOT_NEEDED, "others installed this Volcano, and answer for its version.")
    image: str = container_of(scheduler)["image"]
    version = version_tag(image)
    ranges = {_minor(name): bounds for name, bounds in facts.expectations.volcano_kubernetes.items()}
    bounds = ranges.get(_minor(version))
    server = facts.server_version
    if bounds is None:
        known = ", ".join(sorted(ranges, key=version_key))
        return warned(
            "UnknownVersion",
            f"nothing is known of the pair Volcano {version or image} and Kubernetes {server}.",
            expected=f"one of Volcano {known}",
            objects=(Ref.of(scheduler),),
            todo="look it up in Volcano's README, or take a version that is known.",
        )
    text = f"Kubernetes {bounds}"
    if not bounds.covers(server):
        return warned(
            "PairNotTested",
            f"Volcano {version} names {text}, the server is {server}.",
            expected=text,
            observed={"image": image, "server_version": server},
            objects=(Ref.of(scheduler),),
            todo="take a Volcano version whose range holds the server's.",
        )
    return passed(f"Volcano {version} names {text}; the server is {server}.", objects=(Ref.of(scheduler),))


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
