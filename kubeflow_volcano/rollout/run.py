"""A roll-out: all objects of its scope in one graph, under one lock, with one ledger entry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.problems import not_ready, refusal
from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.apply.schedule import lock_lost
from kubeflow_volcano.catalog.gangs import VOLCANO, made_by_operators
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS, Readiness
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.stored import keep_password, kubectl
from kubeflow_volcano.rollout.account.stores import keep_passwords
from kubeflow_volcano.rollout.gang.handover import wait_for_former_pods
from kubeflow_volcano.rollout.gang.replicas import delete_unused_companions
from kubeflow_volcano.rollout.gang.wiring import OPERATORS, operator_deployment, restart_older_operators
from kubeflow_volcano.rollout.hints import HINTS
from kubeflow_volcano.rollout.patches.volcano import OPTIONAL_WEBHOOKS
from kubeflow_volcano.rollout.people.logins import let_accounts_sign_in
from kubeflow_volcano.rollout.people.teams import MAKERS
from kubeflow_volcano.rollout.prepare import Prepared, prepare
from kubeflow_volcano.rollout.queues.reconcile import reconcile_queues, record_created_queues
from kubeflow_volcano.rollout.queues.view import DEFAULT_QUEUE
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.ceded import ceded_of
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.stale.handling import StaleObjects
from kubeflow_volcano.rollout.state.ledger import expected_seconds, record_run
from kubeflow_volcano.rollout.state.lock import Lock
from kubeflow_volcano.rollout.state.store import NAMESPACE, ensure_namespace

_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")


def roll_out(
    cluster: Cluster, settings: Settings, scope: Scope, *, check: bool, progress: Progress, texts: bool = True
) -> ApplyResult:
    """Apply the scope and wait until it is ready; check mode only reports the changes.

    A run may be interrupted and repeated at any time. After the first change, problems are part of the result, with
    the outcomes so far. `texts` keeps changed objects before and after, for the difference.

    Raises:
        InvalidInput: sources, versions or the state of the cluster prevent it; nothing was changed.
        Busy: another roll-out holds the lock.
        ProblemsError: the API server refused a request before the first change.
    """
    if not scope.parts:
        return ApplyResult((), (), 0.0)
    prepared = prepare(cluster, settings, scope, check=check, progress=progress)
    return carry_out(cluster, prepared, check=check, progress=progress, texts=texts)


def carry_out(
    cluster: Cluster, prepared: Prepared, *, check: bool, progress: Progress, texts: bool = True
) -> ApplyResult:
    """The same for a roll-out that is prepared.

    Raises:
        InvalidInput: a CRD of a required component does not exist.
        Busy: another roll-out holds the lock.
        ProblemsError: the API server refused a request before the first change.
    """
    try:
        engine = engine_for(
            cluster,
            prepared.settings,
            prepared.scope.parts,
            prepared.parts,
            check=check,
            progress=progress,
            texts=texts,
            brought=prepared.brought,
        )
    except ApiError as error:
        raise ProblemsError(refusal(cluster, error)) from error
    try:
        if check:
            _apply(engine, prepared)
            return _hinted(engine.result())
        return _hinted(_locked(cluster, engine, prepared, progress))
    except ApiError as error:
        engine.add_problem(refusal(cluster, error))
        result = _hinted(engine.result())
        if check or not result.started:
            raise ProblemsError(result.problems) from error
        return result


def _hinted(result: ApplyResult) -> ApplyResult:
    return replace(result, problems=tuple(problem.hinted(HINTS) for problem in result.problems))


def _locked(cluster: Cluster, engine: Engine, prepared: Prepared, progress: Progress) -> ApplyResult:
    """Run the engine while holding the lock, and record the result."""
    names = tuple(engine.parts)
    engine.expect = lambda quiet: expected_seconds(cluster, names, quiet=quiet)
    ensure_namespace(cluster, prepared.settings.namespace_labels)
    with Lock(cluster, progress, engine.deadline.expire) as lock:
        engine.lost = lock.lost
        settings = prepared.settings
        keep_password(cluster, settings.account, kubectl(settings.kubeconfig, settings.context), progress)
        keep_passwords(cluster, settings.passwords, (obj for objects in engine.parts.values() for obj in objects))
        stale = _apply(engine, prepared)
        stale.record()
        result = engine.result()
        record_run(cluster, release=settings.release.version, components=names, result=result)
    return result


def _apply(engine: Engine, prepared: Prepared) -> StaleObjects:
    """All steps of a run on the cluster; check mode predicts them."""
    stale = StaleObjects(engine, prepared)
    stale.remove_unserved_webhooks()
    applied = engine.apply()
    record_created_queues(engine)
    if applied:
        engine.finish()
    if applied and not engine.lost.is_set():
        _finish(engine, prepared)
        if not engine.result().problems:  # otherwise others may still use what is stale
            stale.prune()
    if applied and engine.lost.is_set():
        engine.add_problem(lock_lost())
    stale.warn()
    return stale


def _finish(engine: Engine, prepared: Prepared) -> None:
    """Last steps, which manifests cannot express: companions, queues, accounts in profiles, operators' restarts.

    Each leaves out what depends on an object that failed.
    """
    settings, objects = prepared.settings, [obj for objects in engine.parts.values() for obj in objects]
    delete_unused_companions(
        engine, [obj for obj in objects if obj["kind"] != "Deployment" or engine.is_sent(Ref.of(obj))]
    )
    if VOLCANO.name in engine.parts:
        _queues(engine, settings)
    let_accounts_sign_in(engine, [obj for obj in objects if engine.is_sent(Ref.of(obj))])
    operators = [part for part in prepared.scope.parts if part.name in OPERATORS]
    declared = [(part, operator_deployment(part, prepared.desired.parts[part.name])) for part in operators]
    unready = engine.result().unready
    ready = [(part, obj) for part, obj in declared if Ref.of(obj) not in unready]
    restart_older_operators(engine, made_by_operators(settings.gang_scheduler), ready)
    wait_for_former_pods(engine, [obj for _, obj in ready])


def _queues(engine: Engine, settings: Settings) -> None:
    """Reconcile the queues once Volcano has made the default one; report if a failure of Volcano prevents that."""
    whole = engine.check or all(engine.is_waited_for(Ref.of(obj)) for obj in engine.parts[VOLCANO.name])
    if engine.wait([DEFAULT_QUEUE]) if whole else _exists(engine, DEFAULT_QUEUE):
        reconcile_queues(engine, settings.scheduling, settings.volcano.version)
    elif not whole and settings.scheduling.queues:
        engine.add_problem(
            Problem(
                "the queues of volcano_queues were not opened, closed or deleted.",
                "Volcano, whose scheduler makes the Queue default.",
                "solve the other problems, and run again.",
            )
        )


def _exists(engine: Engine, ref: Ref) -> bool:
    try:
        return engine.cluster.get(ref) is not None
    except ApiError:
        return False  # above all, its kind is not served yet


def requirements(settings: Settings, components: Collection[Component]) -> Mapping[str, Sequence[str]]:
    """Names of the components that each component requires: the edges of the graph."""
    return {part.name: [need.name for need in settings.requirements(part)] for part in components}


def engine_for(
    cluster: Cluster,
    settings: Settings,
    components: Sequence[Component],
    parts: Mapping[str, Sequence[Object]],
    *,
    check: bool,
    progress: Progress,
    texts: bool = True,
    brought: Collection[str] = (),
) -> Engine:
    """Create an engine for the objects in `parts`, after the CRDs of all required components are established.

    `brought` are UIDs of objects that earlier roll-outs recorded.

    Raises:
        InvalidInput: a CRD of a required component does not exist, or was not established in time.
        ApiError: the API server refused a request.
    """
    chosen = {part.name for part in components}
    required = {need.name: need for part in components for need in settings.requirements(part)}
    deadline = Deadline(settings.wait_timeout_seconds)
    others = [part for part in required.values() if part.name not in chosen]
    if not check:
        _require(cluster, others, components, deadline, progress)
    everything = [*required.values(), *components]
    return Engine(
        cluster,
        parts,
        requirements(settings, components),
        deadline=deadline,
        progress=progress,
        check=check,
        texts=texts,
        optional_webhooks=OPTIONAL_WEBHOOKS,
        makers=MAKERS,
        titles={part.name: f"{part.title} {part.version}" for part in components},
        planned_namespaces={
            NAMESPACE,
            settings.user.namespace,
            *(name for part in everything for name in part.namespaces),
        },
        ceded=lambda obj: ceded_of(settings.ceded, obj),
        planned_groups={name.partition(".")[2] for part in everything for name in part.crds},
        adopted=settings.adopted,
        brought=brought,
        explain=_explained,
    )


_PLACES_OF = {
    **dict.fromkeys(BAD_IMAGE_REASONS, ("pull",)),
    "CreateContainerError": ("create",),
    **dict.fromkeys(("CrashLoopBackOff", "OOMKilled", "Failed", "BackoffLimitExceeded"), ("exit",)),
}
"""Where messages are looked for in the table of symptoms, by the reason of an object that is not ready."""


def _explained(answer: Readiness) -> tuple[str, str]:
    """Cause and remedy of what a cluster says of an object, by the table of symptoms that its checks read, too."""
    known = (recognise(answer.message, place) for place in _PLACES_OF.get(answer.reason, ("condition", "scheduler")))
    symptom = next(filter(None, known), None)
    return (f"Cause: {symptom.cause}.", symptom.todo) if symptom else ("", "")


def _require(
    cluster: Cluster, parts: Sequence[Component], by: Sequence[Component], deadline: Deadline, progress: Progress
) -> None:
    """Wait until the CRDs of required components outside this run are established."""
    refs = {Ref(*_CRD, name): part for part in parts for name in part.crds}
    missing = {ref: part for ref, part in refs.items() if cluster.get(ref, deadline=deadline) is None}
    if missing:
        names = ", ".join(dict.fromkeys(part.name for part in missing.values()))
        raise InvalidInput.problem(
            f"no CRD {', '.join(ref.name for ref in missing)}.",
            f"{names} before {', '.join(part.title for part in by)}: operators look for CRDs only at their start.",
            f"roll out {names} first.",
        )
    answers = wait_ready(cluster, list(refs), deadline, progress)
    late = [(refs[ref], answer) for ref, answer in answers.items() if not answer.ready]
    if late:
        raise InvalidInput(not_ready(f"{part.title} {part.version}", answer, deadline) for part, answer in late)
