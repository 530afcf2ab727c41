"""What of a backup is created: what playbooks/backup.yml writes, and nothing that gives more rights.

Sums find damage, not intent: a person who can change a backup can change its sums. A restoration has the rights of an
administrator, and would create whatever it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.objects import Object, Ref, group_of, mappings_in
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.account.stores import SECRETS
from kubeflow_volcano.rollout.backup.selection import ROLES, STARTING_PODS, is_contributor, is_person
from kubeflow_volcano.rollout.state.store import NAMESPACE
from kubeflow_volcano.text import counted, few, plurals

_SYSTEM = frozenset({"kube-node-lease", "kube-public", "kube-system"})
_CONTROLLERS = "metacontroller.k8s.io"
"""Metacontroller creates with its own rights, which are all, whatever the hooks of its objects answer."""
_SIGN_INS = "dex.coreos.com"
"""Dex's codes of sign-ins that have begun: who has such a code is signed in as the user in it."""
_TRAFFIC = frozenset({"extensions.istio.io", "install.istio.io", "networking.istio.io", "security.istio.io"})
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Platform:
    """`crds` are those of the release, each with the components that bring it; `namespaces` those of its components."""

    crds: Mapping[str, tuple[str, ...]]
    namespaces: frozenset[str]

    @classmethod
    def of(cls, parts: Collection[Component], volcano_namespace: str) -> Platform:
        """The platform of components, whether they are chosen or not."""
        crds: dict[str, tuple[str, ...]] = {}
        for part in parts:
            for name in part.crds:
                crds[name] = (*crds.get(name, ()), part.name)
        spaces = {name for part in parts for name in part.namespaces}
        return cls(crds, frozenset({*spaces, volcano_namespace, NAMESPACE, *_SYSTEM} - {""}))

    def bringing(self, kind: str, group: str) -> list[str]:
        """The components that bring a kind; by its name, because a cluster that does not serve it names no plural."""
        word = kind.lower()
        names = {word, *plurals(word)}
        return sorted({part for name in names for part in self.crds.get(f"{name}.{group}", ())})


@dataclass(frozen=True, slots=True)
class Spaces:
    """Namespaces: of what is in the backup, of profiles (on the cluster, or to be made), and those that others made."""

    saved: frozenset[str]
    profiles: frozenset[str]
    foreign: frozenset[str]


def refused(
    objects: Iterable[Object],
    titles: Mapping[tuple[str, str], str],
    spaces: Spaces,
    platform: Platform,
    *,
    allow_rights: bool,
) -> Iterator[Problem]:
    """The objects that no backup of this inventory has, and those that give more rights than a profile's.

    `titles` are the CRDs that may be in a backup, by group and kind.
    """
    strange: dict[str, list[Ref]] = {}
    rights: dict[str, list[Ref]] = {}
    for obj in objects:
        if why := _not_admitted(obj, titles, spaces, platform):
            strange.setdefault(why, []).append(Ref.of(obj))
        elif not allow_rights and (why := _gives_rights(obj, spaces, platform)):
            rights.setdefault(why, []).append(Ref.of(obj))
    for why, refs in strange.items():
        yield Problem(
            f"the backup has {counted(len(refs), 'object')} that playbooks/backup.yml does not write: {why}: "
            f"{few([*map(str, sorted(refs))], _MOST_SHOWN)}.",
            "custom resources of this inventory's components, and what shares profiles; nothing else is created.",
            f"see who changed the backup; {_exclude(refs)} leaves them out.",
        )
    for why, refs in rights.items():
        yield Problem(
            f"the backup has {counted(len(refs), 'object')} with more rights than a profile gives: {why}: "
            f"{few([*map(str, sorted(refs))], _MOST_SHOWN)}.",
            "your decision, because each person who could write to the backup may have put them there.",
            f"look at them; then restore_allow_rights: true creates them, and {_exclude(refs)} leaves them out.",
        )


def _exclude(refs: Iterable[Ref]) -> str:
    return f"restore_exclude: [{', '.join(sorted({f'{ref.full_kind} {_place(ref)}' for ref in refs}))}]"


def _place(ref: Ref) -> str:
    return f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name


def _not_admitted(obj: Object, titles: Mapping[tuple[str, str], str], spaces: Spaces, platform: Platform) -> str:
    """Why no backup has such an object; empty if one may have it."""
    ref = Ref.of(obj)
    kind = (ref.group, ref.kind)
    if kind == ("", "Secret"):
        whole = obj.get("type", "Opaque") == "Opaque" and not obj.get("stringData")
        _, keys = SECRETS.get(Ref("v1", *ref[1:]), ("", None))
        right = keys is not None and whole and {*(obj.get("data") or {})} <= keys
        why = "Secrets other than those of passwords"
    elif kind == ("", "Namespace"):
        right, why = ref.name in spaces.saved, "namespaces in which it has nothing"
    elif kind == ("rbac.authorization.k8s.io", "RoleBinding"):
        right = is_contributor(obj) and ref.namespace in spaces.profiles
        why = "RoleBindings that give no contributor a role in a profile"
    elif kind == ("kubeflow.org", "Profile"):
        right = ref.name not in platform.namespaces and ref.name in spaces.profiles
        why = "profiles with the name of a namespace of the platform, or of one that is no profile's"
    elif kind == ("security.istio.io", "AuthorizationPolicy"):
        role = (obj["metadata"].get("annotations") or {}).get("role")
        right, why = role is None or role in ROLES, "AuthorizationPolicies of contributors with another role"
    else:
        right, why = kind in titles, "kinds that are in no backup"
    return "" if right else why


def _gives_rights(obj: Object, spaces: Spaces, platform: Platform) -> str:
    """With whose rights an object acts, if these are more than a profile's; empty if not."""
    ref = Ref.of(obj)
    why = ""
    if ref.group == _CONTROLLERS:
        why = "controllers of Metacontroller, which create anything"
    elif ref.group == _SIGN_INS:
        why = "sign-ins that Dex would go on with"
    elif ref.namespace in platform.namespaces and ref.group in STARTING_PODS:
        why = "they start pods in namespaces whose ServiceAccounts have rights of the platform"
    elif ref.namespace in platform.namespaces and ref.group in _TRAFFIC:
        why = "they steer or admit traffic in namespaces of the platform"
    elif (ref.group, ref.kind) == ("kubeflow.org", "Profile"):
        if not is_person((obj.get("spec") or {}).get("owner")):
            why = "profiles whose owner is no person, nor a group of people"
    elif ref.group in STARTING_PODS and ref.namespace not in spaces.profiles:
        if _has(obj.get("spec"), _is_account):
            why = "they start pods as ServiceAccounts of namespaces that are no profile's"
        elif ref.namespace in spaces.foreign and _has(obj.get("spec"), _is_secret):
            why = "their pods read Secrets of namespaces that are there and are no profile's"
    return why


def _is_account(key: Any, value: Any) -> bool:
    return key in {"serviceAccountName", "serviceAccount"} and isinstance(value, str) and value not in {"", "default"}


def _is_secret(key: Any, value: Any) -> bool:
    """Whether a field of a pod gives its containers a Secret: as a volume, a part of one, or variables."""
    return key in {"secretName", "secretKeyRef", "secretRef"} or (key == "secret" and isinstance(value, Mapping))


def _is_way_to_the_node(key: Any, value: Any) -> bool:
    """Whether a field gives a pod more of its node than the level baseline of Pod Security allows."""
    return key == "hostPath" or (key in {"privileged", "hostPID", "hostIPC", "hostNetwork"} and value is True)


def _has(value: Any, wanted: Callable[[Any, Any], bool]) -> bool:
    """Whether a field at any depth is wanted."""
    return any(wanted(key, item) for fields in mappings_in(value) for key, item in fields.items())


def access_given(objects: Iterable[Object]) -> list[str]:
    """Who gets access to what by these objects, a line for each; for the person who restores them."""
    lines = []
    for obj in objects:
        kind, meta = (group_of(obj["apiVersion"]), obj["kind"]), obj["metadata"]
        if kind == ("kubeflow.org", "Profile"):
            spec = obj.get("spec") or {}
            owner, plugins = spec.get("owner"), spec.get("plugins")
            name = owner.get("name") if isinstance(owner, dict) else None
            lines.append(f"{name or 'no user'} owns {meta['name']}{', with plugins of clouds' if plugins else ''}")
        elif kind == ("", "Secret"):
            lines.append("the first user has the password of the backup")
        elif is_contributor(obj):
            notes = meta["annotations"]
            lines.append(f"{notes['user']} has the role {notes['role']} in {meta['namespace']}")
        elif kind[0] in STARTING_PODS and _has(obj.get("spec"), _is_way_to_the_node):
            lines.append(f"{Ref.of(obj)} starts pods with a host's files, network or processes")
    return lines
