"""Components from their sources to ready, all their objects in one graph, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeflow_volcano.apply.engine import Engine, not_ready, refusal
from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.stored import with_account
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.gang.companions import retire
from kubeflow_volcano.rollout.patches.namespaces import label_namespaces
from kubeflow_volcano.rollout.patches.operator_memory import keep_higher_limit
from kubeflow_volcano.rollout.patches.table import OPERATOR
from kubeflow_volcano.rollout.queues.reconcile import remember_queues, require_queues, settle_queues
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.state.ledger import expected_seconds, record
from kubeflow_volcano.rollout.state.lock import Lease, require_free
from kubeflow_volcano.rollout.state.namespace import ensure_namespace
from kubeflow_volcano.rollout.storage import default_class as storage

__all__ = ["engine_for", "roll_out"]

_VOLCANO = "volcano"
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")


def roll_out(
    cluster: Cluster,
    settings: Settings,
    components: Sequence[Component],
    *,
    check: bool,
    progress: Progress,
    texts: bool = True,
) -> ApplyResult:
    """Bring components to the cluster and wait until they are ready; in check mode, find out what that would change.

    Safe to interrupt and to repeat at any moment. Trouble that shows after the first object was sent is in the
    result's problems, beside what was done until then. `texts` keeps changed objects before and after, for a
    difference to be shown.

    Raises:
        InvalidInput: sources, versions or the cluster's state do not allow it; nothing was changed.
        Busy: another run is under way.
        ProblemsError: the API server refused what is asked before the first change.
    """
    try:
        require_kubernetes(settings, cluster.version["gitVersion"])
        if not check:
            require_free(cluster)
        settings = with_account(cluster, settings, components, check=check, progress=progress)
        wanted = desired(settings, components, progress)
        for part in components:
            keep_higher_limit(cluster, wanted.parts[part.name], OPERATOR, part.version)
        if "local-path" in wanted.parts:
            storage.require_usable(cluster, settings, wanted.parts["local-path"])
        if _VOLCANO in wanted.parts:
            require_queues(cluster, settings.scheduling, wanted.parts[_VOLCANO])
        parts = _with_namespaces(cluster, components, wanted.parts, settings.namespace_labels)
        engine = engine_for(cluster, settings, components, parts, check=check, progress=progress, texts=texts)
    except ApiError as error:
        raise ProblemsError(refusal(cluster, error)) from error
    if check:
        if engine.apply():
            _end(engine, settings)
        return engine.result()
    return _locked(cluster, settings, engine, progress)


def _locked(cluster: Cluster, settings: Settings, engine: Engine, progress: Progress) -> ApplyResult:
    """Run the engine to its end as the only one on this cluster, and write down what came of it."""
    names = tuple(engine.parts)
    engine.expect = lambda quiet: expected_seconds(cluster, names, quiet=quiet)
    try:
        ensure_namespace(cluster, settings.namespace_labels)
        with Lease(cluster, progress) as lease:
            engine.lost = lease.lost
            applied = engine.apply()
            remember_queues(engine)
            if applied and engine.finish():
                _end(engine, settings)
            result = engine.result()
            record(cluster, release=settings.release.version, parts=engine.parts, result=result)
    except ApiError as error:
        raise ProblemsError([*engine.result().problems, refusal(cluster, error)]) from error
    return result


def _end(engine: Engine, settings: Settings) -> None:
    """Remove what stood beside objects that need it no longer, and settle queues; a refusal is the engine's problem."""
    retire(engine, [obj for objects in engine.parts.values() for obj in objects])
    if _VOLCANO in engine.parts:
        settle_queues(engine, settings.scheduling, settings.volcano.version)


def engine_for(
    cluster: Cluster,
    settings: Settings,
    components: Sequence[Component],
    parts: Mapping[str, Sequence[Object]],
    *,
    check: bool,
    progress: Progress,
    texts: bool = True,
) -> Engine:
    """An engine for the objects in `parts`, once everything is there that their components require.

    Raises:
        InvalidInput: a CRD of a required component is not there, or did not get established in time.
        ApiError: the API server refused to tell.
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
        {part.name: [need.name for need in settings.requirements(part)] for part in components},
        deadline=deadline,
        progress=progress,
        check=check,
        texts=texts,
        titles={part.name: f"{part.title} {part.version}" for part in components},
        planned_namespaces={name for part in everything for name in part.namespaces},
        planned_groups={name.partition(".")[2] for part in everything for name in part.crds},
    )


def _with_namespaces(
    cluster: Cluster,
    components: Sequence[Component],
    parts: Mapping[str, Sequence[Object]],
    labels: Mapping[str, str],
) -> Mapping[str, Sequence[Object]]:
    """`parts` with the namespaces of their components that neither they nor the cluster have."""
    known = {obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "Namespace"}
    done = dict(parts)
    for part in components:
        for name in part.namespaces:
            used = any(obj["metadata"].get("namespace") == name for obj in parts[part.name])
            if used and name not in known and cluster.get(Ref("v1", "Namespace", "", name)) is None:
                known.add(name)
                made: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                label_namespaces([made], labels)
                done[part.name] = (made, *done[part.name])
    return done


def _require(
    cluster: Cluster, parts: Sequence[Component], by: Sequence[Component], deadline: Deadline, progress: Progress
) -> None:
    """See that the CRDs of required components that are not rolled out now are established."""
    refs = {Ref(*_CRD, name): part for part in parts for name in part.crds}
    missing = {ref: part for ref, part in refs.items() if cluster.get(ref, deadline=deadline) is None}
    if missing:
        names = ", ".join(dict.fromkeys(part.name for part in missing.values()))
        raise InvalidInput(
            Problem(
                f"no CRD {', '.join(ref.name for ref in missing)}.",
                f"{names} before {', '.join(part.title for part in by)}, which looks for its kinds once, at its start.",
                f"roll out {names} first.",
            )
        )
    answers = wait_ready(cluster, list(refs), deadline, progress)
    late = [(refs[ref], answer) for ref, answer in answers.items() if not answer.ready]
    if late:
        raise InvalidInput(not_ready(f"{part.title} {part.version}", answer, deadline) for part, answer in late)
