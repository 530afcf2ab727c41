"""Read from a cluster what a backup has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.removing.managed import own_crds, preferred_kinds
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.stored_versions import problem
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.ref import group_of
from kubeflow_volcano.rollout.account.stores import SECRETS
from kubeflow_volcano.rollout.backup.files import Backup, Origin
from kubeflow_volcano.rollout.backup.selection import is_contributor, why_left_out
from kubeflow_volcano.rollout.state.store import NAMESPACE
from kubeflow_volcano.rollout.versions.installed import installed_versions
from kubeflow_volcano.text import counted

_BINDINGS = ("rbac.authorization.k8s.io/v1", "RoleBinding")
_PROFILE = ("kubeflow.org", "Profile")


def collect(cluster: Cluster, progress: Progress) -> Backup:
    """Save all custom resources of the CRDs that this project applied, contributors of profiles, and the first user.

    Objects are read in the version that the API server prefers, kind by kind: changes meanwhile are in one kind and
    not in another. Changes nothing. A kind that cannot be listed is in the origin: the backup is not whole then.

    Raises:
        ProblemsError: the API server does not answer, or refuses what is not a custom resource.
    """
    try:
        return _collect(cluster, progress)
    except ApiError as error:
        raise ProblemsError(refusal(cluster, error)) from error


def _collect(cluster: Cluster, progress: Progress) -> Backup:
    ours = own_crds(cluster)
    kinds = [item for item in preferred_kinds(cluster) if item.title in ours]
    progress(f"reading {counted(len(kinds), 'kind')} of custom resources")

    def read(resource: Resource) -> Sequence[Object] | str:
        try:
            return cluster.list(resource.api_version, resource.kind, trim=_without_fields).items
        except ApiError as error:
            if error.status == 0:
                raise
            return str(error)

    answers = {kind.title: answer for kind, answer in zip(kinds, in_parallel(read, kinds), strict=True)}
    unread = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    objects = [obj for answer in answers.values() if not isinstance(answer, str) for obj in answer]
    left_out: Counter[str] = Counter()
    saved: list[Object] = []
    for obj in objects:
        if why := why_left_out(obj):
            left_out[why] += 1
        else:
            saved.append(obj)
    profiles = {obj["metadata"]["name"] for obj in objects if (group_of(obj["apiVersion"]), obj["kind"]) == _PROFILE}
    saved += [obj for obj in cluster.list(*_BINDINGS).items if _shares(obj, profiles)]
    saved += filter(None, map(cluster.get, SECRETS))
    spaces = {obj["metadata"].get("namespace", "") for obj in saved} - {"", NAMESPACE}
    saved += _namespaces(cluster, spaces - profiles)
    volumes = tuple(
        f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        for claim in cluster.list("v1", "PersistentVolumeClaim", brief=True).items
        if claim["metadata"]["namespace"] in spaces | profiles or own_entry(claim) is not None
    )
    for obj in saved:
        obj["metadata"].pop("managedFields", None)
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kubernetes = cluster.version["gitVersion"]
    versions = dict(installed_versions(cluster))
    origin = Origin(created, kubernetes, versions, dict(sorted(left_out.items())), volumes, unread)
    return Backup(origin, tuple(sorted(saved, key=Ref.of)))


def incomplete(backup: Backup) -> list[Problem]:
    """What a backup lacks because a kind could not be listed."""
    return [
        problem(name, why)
        or Problem(
            f"objects of {name} could not be listed: {why}.",
            "an answer to which objects there are: the backup is not whole without them.",
            f"remove the cause until kubectl get {name} -A answers, and run again.",
        )
        for name, why in backup.origin.unread.items()
    ]


def _shares(binding: Object, profiles: Collection[str]) -> bool:
    return is_contributor(binding) and binding["metadata"]["namespace"] in profiles and not why_left_out(binding)


def _namespaces(cluster: Cluster, names: Collection[str]) -> Iterator[Object]:
    """Namespaces that no profile makes and no roll-out brings."""
    for name in sorted(names):
        live = cluster.get(Ref("v1", "Namespace", "", name))
        if live and own_entry(live) is None:
            yield live


def _without_fields(obj: Object) -> None:
    """Keep of managedFields only what says who applied the object."""
    entries = obj["metadata"].get("managedFields") or ()
    obj["metadata"]["managedFields"] = [{**entry, "fieldsV1": {}} for entry in entries]
