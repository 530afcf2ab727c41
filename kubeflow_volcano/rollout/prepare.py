"""Preparation of a roll-out: everything that can be checked before the first change, with all problems at once."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.catalog.gangs import VOLCANO, made_by_operators
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.addresses import cluster_addresses
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError, collecting
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.access.requirements import unmet_access
from kubeflow_volcano.rollout.account.stored import account_of_cluster
from kubeflow_volcano.rollout.account.stores import passwords_of_cluster, with_passwords
from kubeflow_volcano.rollout.desired import Desired, desired, render_upstream
from kubeflow_volcano.rollout.existing.needs import unmet_needs
from kubeflow_volcano.rollout.existing.owners import brought_uids, foreign_components, is_ours
from kubeflow_volcano.rollout.gang.rights import missing_rights
from kubeflow_volcano.rollout.gang.wiring import OPERATORS, wiring_objects
from kubeflow_volcano.rollout.images.registry.probe import ask_mirror
from kubeflow_volcano.rollout.images.report import table
from kubeflow_volcano.rollout.images.report.image_list import report
from kubeflow_volcano.rollout.patches.namespaces import refused_namespaces
from kubeflow_volcano.rollout.patches.operator_memory import keep_higher_limit
from kubeflow_volcano.rollout.patches.pods.pull_secrets import add_pull_secrets
from kubeflow_volcano.rollout.people.by_hand import undeclared
from kubeflow_volcano.rollout.people.team_queues import with_queue_policy
from kubeflow_volcano.rollout.people.teams import unmet_teams, without_defaults_of_others
from kubeflow_volcano.rollout.queues.reconcile import validate_queues
from kubeflow_volcano.rollout.requirements.claims import unmet_claims
from kubeflow_volcano.rollout.requirements.cluster_domain import unmet_domain
from kubeflow_volcano.rollout.requirements.native_gangs import unmet_gangs
from kubeflow_volcano.rollout.requirements.placement import unmet_placement
from kubeflow_volcano.rollout.requirements.pod_security import refused_pods
from kubeflow_volcano.rollout.requirements.store_probe import probe_stores
from kubeflow_volcano.rollout.requirements.stores import unmet_stores
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.ceded import validate_ceded
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.people.profiles import PROFILES
from kubeflow_volcano.rollout.settings.pods.stores import is_gateway
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.state.inventory import read_inventory
from kubeflow_volcano.rollout.state.store import NAMESPACE
from kubeflow_volcano.rollout.storage import default_class as storage
from kubeflow_volcano.rollout.storage.static_volumes import static_volumes
from kubeflow_volcano.rollout.versions.installed import installed_versions, operator_version, remains
from kubeflow_volcano.rollout.versions.judge import require_upgrade

Parts = Mapping[str, tuple[Object, ...]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The input of a run: settings with the first user's account, desired objects, and the objects to apply.

    `parts` differs from `desired.parts`: it lacks namespaces that no manifest has and that others made, and reduces an
    operator to its gang wiring if the scope includes nothing else of it. `brought` are UIDs of objects that earlier
    roll-outs recorded.
    """

    settings: Settings
    scope: Scope
    desired: Desired
    parts: Parts
    brought: frozenset[str]

    @property
    def whole(self) -> bool:
        """Whether the scope has every component of the settings; only then `parts` has what is beside components."""
        return _is_whole(self.settings, self.scope)


def prepare(cluster: Cluster, settings: Settings, scope: Scope, *, check: bool, progress: Progress) -> Prepared:
    """Render the scope, and check versions, sources, manifests, images, storage, queues and permissions.

    Changes nothing on the cluster; downloads and rendered manifests stay in the cache.

    Raises:
        InvalidInput: every reason why the roll-out cannot work.
        ProblemsError: the API server refused a request.
    """
    problems: list[Problem] = []
    try:
        with collecting(problems):
            require_kubernetes(settings, cluster.version["gitVersion"])
        with collecting(problems):
            for line in require_upgrade(
                settings,
                scope,
                installed_versions(cluster),
                remaining=remains(cluster),
                operator=operator_version(cluster),
                check=check,
            ):
                progress(f"note: {line}")
        with collecting(problems):
            account = account_of_cluster(cluster, settings.user, settings.users, scope.components)
            settings = replace(settings, account=account)
        settings = replace(settings, passwords=passwords_of_cluster(cluster, scope.components))
        if settings.proxy:
            settings = _with_addresses(cluster, settings, progress)
        planned = _desired(cluster, settings, scope, problems, progress)
        brought = brought_uids(cluster)
        if planned:
            problems += validate_ceded(
                settings.ceded,
                planned.objects,
                whole=_is_whole(settings, scope),
            )
            problems += foreign_components(
                cluster, settings, scope.parts, planned.parts, brought, progress=progress, images=planned.images.images
            )
            problems += unmet_needs(cluster, settings, planned.parts, _of_others(settings), progress)
            problems += unmet_gangs(cluster, settings.gang_scheduler, planned.parts, progress)
            problems += unmet_domain(cluster, planned.parts, progress)
            problems += unmet_access(cluster, settings.access, planned.parts)
            problems += unmet_placement(cluster, settings.placement, planned.parts)
            problems += unmet_claims(cluster, settings.claims, settings.ceded, planned.parts)
            problems += unmet_stores(cluster, settings.database, settings.object_store, planned.parts)
            problems += refused_pods(cluster, settings.namespace_labels, planned.parts, progress)
            of_dex = undeclared(cluster, planned.parts)
            problems += of_dex.problems()
            problems += unmet_teams(cluster, settings.profiles, settings.existing, planned.parts)
            for email in of_dex.leaving_users:
                progress(f"note: {email} is in no kubeflow_users any more and loses the login; namespaces stay")
            problems += _cluster_problems(cluster, settings, scope, planned, check=check, progress=progress)
        if problems or not planned:
            raise InvalidInput(problems)
        for part in scope.parts:
            keep_higher_limit(cluster, planned.parts[part.name], COMPONENT, part.version)
        parts = _parts(cluster, scope, planned, brought, check=check)
        if PROFILES in parts:
            of_teams = without_defaults_of_others(cluster, parts[PROFILES], settings.profiles, progress)
            parts = {**parts, PROFILES: with_queue_policy(cluster, of_teams, settings.profiles)}
        if settings.added and _is_whole(settings, scope):
            parts = {**parts, **_added(cluster, parts, settings)}
        return Prepared(settings, scope, planned, parts, brought)
    except ApiError as error:
        raise ProblemsError([*problems, refusal(cluster, error)]) from error


def _is_whole(settings: Settings, scope: Scope) -> bool:
    return {*settings.components} <= {*scope.components}


def _added(cluster: Cluster, parts: Parts, settings: Settings) -> Parts:
    """What is beside components, with pull secrets, without rights in namespaces that this cluster will not have."""
    spaces = {obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "Namespace"}
    spaces |= {obj["metadata"]["name"] for obj in cluster.list("v1", "Namespace", brief=True).items}
    spaces |= {"", NAMESPACE}
    added: dict[str, tuple[Object, ...]] = {}
    for name, objects in settings.added.items():
        own = copy.deepcopy([obj for obj in objects if obj["metadata"].get("namespace", "") in spaces])
        add_pull_secrets(own, name, settings.credentials)
        added[name] = tuple(own)
    return added


def _with_addresses(cluster: Cluster, settings: Settings, progress: Progress) -> Settings:
    """The settings with the cluster's addresses, which no proxy reaches."""
    addresses = cluster_addresses(cluster)
    if not any("/" in text for text in addresses):
        progress(
            "note: the cluster does not say the ranges of its pods and Services; name them in kubeflow_proxy.no_proxy, "
            "as in 10.244.0.0/16"
        )
    return replace(settings, cluster_addresses=addresses)


def _desired(
    cluster: Cluster, settings: Settings, scope: Scope, problems: list[Problem], progress: Progress
) -> Desired | None:
    with collecting(problems):
        planned = desired(settings, scope.parts, progress)
        former = (
            f"{secret} keeps upstream's password, with which its server started; docs/stores.md says how to change it"
            for secret in with_passwords(planned.objects, published=True)
        )
        for line in (*planned.notes, *map(str, planned.images.warnings), *former):
            progress(f"note: {line}")
        return planned if _is_whole(settings, scope) else _without_others(cluster, scope, planned)
    return None


def _without_others(cluster: Cluster, scope: Scope, planned: Desired) -> Desired:
    """Without the namespaces that a component outside the scope may declare: their labels are in its manifests alone.

    Only what no manifest in the scope has, exists, and was not recorded with a component of the scope.
    """
    if not planned.namespaces:
        return planned
    inventory = read_inventory(cluster)
    own = {ref for part in scope.parts if part.name in inventory for ref in inventory[part.name].objects}
    theirs = {ref for ref in planned.namespaces if ref not in own and cluster.get(ref) is not None}
    parts = {
        name: tuple(obj for obj in objects if Ref.of(obj) not in theirs) for name, objects in planned.parts.items()
    }
    namespaces = tuple(ref for ref in planned.namespaces if ref not in theirs)
    return replace(planned, parts=parts, namespaces=namespaces)


def _of_others(settings: Settings) -> Parts:
    """The release's own manifests of the components in `kubeflow_existing`: what the rest is made for.

    Only what is here is rendered; of a component whose sources are not, less is known.
    """
    others: dict[str, tuple[Object, ...]] = {}
    for name in settings.existing:
        with contextlib.suppress(InvalidInput):
            if name in settings.release.components:
                others |= render_upstream(settings, [settings.component(name)], silent, offline=True)[0]
    return others


def _cluster_problems(
    cluster: Cluster, settings: Settings, scope: Scope, planned: Desired, *, check: bool, progress: Progress
) -> Sequence[Problem]:
    """Problems of the desired objects on this cluster: namespaces, stores, queues, storage, images, permissions."""
    problems = [*refused_namespaces(cluster, planned.parts, settings)]
    if not check:
        problems += probe_stores(
            settings.database,
            settings.object_store,
            {*planned.parts},
            progress,
            gateway=is_gateway(settings.release),
        )
    with collecting(problems):
        if VOLCANO.name in planned.parts:
            validate_queues(cluster, settings.scheduling, planned.parts[VOLCANO.name])
    with collecting(problems):
        if "local-path" in {*planned.parts, *settings.existing}:
            volumes = static_volumes(settings.storage, settings.components)
            storage.require_usable(cluster, volumes, planned.parts.get("local-path", ()))
    problems += _missing_images(settings, planned, progress)
    if scheduler := made_by_operators(settings.gang_scheduler):
        for part in scope.parts:
            if part.name in OPERATORS and not (check and _lacks_operator(cluster, scope, part)):
                with collecting(problems):
                    problems += missing_rights(
                        cluster, part, planned.parts[part.name], scheduler, whole=part in scope.components
                    )
    return problems


def _missing_images(settings: Settings, planned: Desired, progress: Progress) -> Sequence[Problem]:
    """Images that are gone, and the renamed ones as lines; probes the mirror if the inventory enables it."""
    images = report(planned.images, settings)
    problems = [problem for problem in images.problems if problem not in planned.images.problems]
    if settings.mirror.mode != "none" or any(item.use.override for item in images.entries):
        for line in table.render(table.rows(settings.mirror, images.entries)).splitlines():
            progress(line)
    if settings.mirror.probe and not problems:
        with collecting(problems):
            problems += ask_mirror(images, settings, progress).problems()
    return problems


def _parts(cluster: Cluster, scope: Scope, planned: Desired, brought: Collection[str], *, check: bool) -> Parts:
    """The objects to apply; check mode skips the wiring of an operator that is not installed yet.

    Namespaces that no manifest declares, and that others made, are left as they are.
    """
    theirs = {ref for ref in planned.namespaces if (live := cluster.get(ref)) and not is_ours(live, brought)}
    parts = {
        part.name: tuple(obj for obj in planned.parts[part.name] if Ref.of(obj) not in theirs)
        for part in scope.components
    }
    for part in scope.wired:
        skipped = check and _lacks_operator(cluster, scope, part)
        parts[part.name] = () if skipped else wiring_objects(part, planned.parts[part.name])
    return parts


def _lacks_operator(cluster: Cluster, scope: Scope, part: Component) -> bool:
    """Whether the scope has only the wiring of an operator that is not installed."""
    own = [ref for ref in part.workloads if ref.name == OPERATORS[part.name]]
    return part in scope.wired and any(cluster.get(ref) is None for ref in own)
