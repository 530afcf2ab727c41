"""Everything about a roll-out that can be known before its first change, computed once and judged whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.apply.engine import refusal
from kubeflow_volcano.catalog.gangs import VOLCANO, gang_scheduler
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.stored import with_account
from kubeflow_volcano.rollout.desired import Desired, desired, gathered
from kubeflow_volcano.rollout.gang.rights import missing_rights
from kubeflow_volcano.rollout.gang.wiring import OPERATORS, wiring_of
from kubeflow_volcano.rollout.images.registry.probe import ask_mirror
from kubeflow_volcano.rollout.images.report import table
from kubeflow_volcano.rollout.images.report.image_list import report
from kubeflow_volcano.rollout.patches.namespaces import label_namespaces, refused_namespaces
from kubeflow_volcano.rollout.patches.operator_memory import keep_higher_limit
from kubeflow_volcano.rollout.queues.reconcile import require_queues
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.storage import default_class as storage

__all__ = ["Prepared", "prepare"]

Parts = Mapping[str, tuple[Object, ...]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a roll-out applies: the settings with their account, all objects of the scope, and those of the graph.

    `parts` differs from `desired.parts` by namespaces that no manifest brings, and where only the gang wiring of an
    operator is applied.
    """

    settings: Settings
    scope: Scope
    desired: Desired
    parts: Parts


def prepare(cluster: Cluster, settings: Settings, scope: Scope, *, check: bool, progress: Progress) -> Prepared:
    """Render everything in the scope, and judge versions, sources, manifests, storage, queues and rights.

    Changes nothing on the cluster; what is downloaded and rendered stays in the cache.

    Raises:
        InvalidInput: every reason why the roll-out cannot work.
        ProblemsError: the API server refused a question.
    """
    problems: list[Problem] = []
    try:
        with gathered(problems):
            require_kubernetes(settings, cluster.version["gitVersion"])
        with gathered(problems):
            settings = with_account(cluster, settings, scope.components, check=check, progress=progress)
        found = _desired(settings, scope, problems, progress)
        if found:
            problems += _unsuitable(cluster, settings, scope, found, check=check, progress=progress)
        if problems or not found:
            raise InvalidInput(problems)
        for part in scope.parts:
            keep_higher_limit(cluster, found.parts[part.name], COMPONENT, part.version)
        parts = _parts(cluster, scope, found, check=check)
        return Prepared(settings, scope, found, _with_namespaces(cluster, scope.parts, parts, settings))
    except ApiError as error:
        raise ProblemsError([*problems, refusal(cluster, error)]) from error


def _desired(settings: Settings, scope: Scope, problems: list[Problem], progress: Progress) -> Desired | None:
    with gathered(problems):
        found = desired(settings, scope.parts, progress)
        for line in (*found.notes, *map(str, found.images.warnings)):
            progress(f"note: {line}")
        return found
    return None


def _unsuitable(
    cluster: Cluster, settings: Settings, scope: Scope, found: Desired, *, check: bool, progress: Progress
) -> Sequence[Problem]:
    """What on the cluster or the mirror, or missing from them, keeps these objects from working."""
    problems = [*refused_namespaces(cluster, found.parts, settings)]
    with gathered(problems):
        if VOLCANO.name in found.parts:
            require_queues(cluster, settings.scheduling, found.parts[VOLCANO.name])
    with gathered(problems):
        if "local-path" in found.parts:
            storage.require_usable(cluster, settings, found.parts["local-path"])
    problems += _missing_images(settings, found, progress)
    if scheduler := gang_scheduler(settings.gang_scheduler):
        for part in scope.parts:
            if part.name in OPERATORS and not (check and _is_still_to_come(cluster, scope, part)):
                with gathered(problems):
                    problems += missing_rights(
                        cluster, part, found.parts[part.name], scheduler, whole=part in scope.components
                    )
    return problems


def _missing_images(settings: Settings, found: Desired, progress: Progress) -> Sequence[Problem]:
    """Report the new names of images where they get any, and ask the mirror for them if the inventory says so."""
    if settings.mirror.mode == "none":
        return ()
    images = report(found.images, settings)
    for line in table.render(table.rows(settings.mirror, images.entries)).splitlines():
        progress(line)
    return tuple(ask_mirror(images, settings.mirror, progress).problems()) if settings.mirror.probe else ()


def _parts(cluster: Cluster, scope: Scope, found: Desired, *, check: bool) -> Parts:
    """The objects of the graph; in check mode not the wiring of an operator that is still to be installed."""
    parts = {part.name: found.parts[part.name] for part in scope.components}
    for part in scope.wired:
        coming = check and _is_still_to_come(cluster, scope, part)
        parts[part.name] = () if coming else wiring_of(part, found.parts[part.name])
    return parts


def _is_still_to_come(cluster: Cluster, scope: Scope, part: Component) -> bool:
    """Whether only the wiring of an operator is in the scope, and the operator is not on the cluster."""
    own = [ref for ref in part.workloads if ref.name == OPERATORS[part.name]]
    return part in scope.wired and any(cluster.get(ref) is None for ref in own)


def _with_namespaces(cluster: Cluster, components: Sequence[Component], parts: Parts, settings: Settings) -> Parts:
    """`parts` with the namespaces of their components that neither they nor the cluster have."""
    known = {obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "Namespace"}
    done = dict(parts)
    for part in components:
        for name in part.namespaces:
            used = any(obj["metadata"].get("namespace") == name for obj in parts[part.name])
            if used and name not in known and cluster.get(Ref("v1", "Namespace", "", name)) is None:
                known.add(name)
                made: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                label_namespaces([made], settings.namespace_labels)
                done[part.name] = (made, *done[part.name])
    return done
