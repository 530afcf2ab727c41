"""As whom a container writes to its volumes: what its pod and its own security context come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.volumes import runs_as, started_as
from kubeflow_volcano.experiment.spaces import Level

_SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}
# SELinux types that the restricted and baseline levels admit (Pod Security Standards).
_COMMON_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
# Capabilities that the baseline level admits.
_COMMON_CAPABILITIES = {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """None means that nothing says so: the image's own user, which a probe can only stand in for as root.

    Capabilities and `privileged` are kept only for root, for whom alone they decide about files.
    """

    user: int | None = None
    group: int | None = None
    fs_group: int | None = None
    fs_group_change_policy: str = ""
    supplemental: tuple[int, ...] = ()
    selinux: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    privileged: bool = False

    def __str__(self) -> str:
        user = "root" if self.user == 0 else "the image's own user" if self.user is None else f"uid {self.user}"
        parts = [user]
        parts += [f"gid {self.group}"] if self.group is not None else []
        policy = f" {self.fs_group_change_policy}" if self.fs_group_change_policy else ""
        parts += [f"fsGroup {self.fs_group}{policy}"] if self.fs_group is not None else []
        parts += [f"groups {', '.join(map(str, self.supplemental))}"] if self.supplemental else []
        return " ".join(parts)

    @property
    def owner(self) -> str:
        """What `chown` needs so that this identity may write: user and, when it is known, group."""
        group = self.group if self.group is not None else self.fs_group
        return f"{self.user or 0}" + (f":{group}" if group is not None else "")

    @property
    def level(self) -> Level:
        """Lowest Pod Security level that admits a pod of this identity."""
        unusual = (
            dict(self.selinux).keys() & {"user", "role"} or dict(self.selinux).get("type", "") not in _COMMON_TYPES
        )
        if self.privileged or unusual or set(self.added) - _COMMON_CAPABILITIES:
            return Level.PRIVILEGED
        return Level.RESTRICTED if self.user else Level.BASELINE

    @property
    def pod_security(self) -> dict[str, Any]:
        """Security context of a pod that acts as this identity."""
        context: dict[str, Any] = dict(_SECCOMP) | ({"runAsNonRoot": True} if self.user else {})
        if self.fs_group is not None:
            context["fsGroup"] = self.fs_group
            if self.fs_group_change_policy:
                context["fsGroupChangePolicy"] = self.fs_group_change_policy
        if self.supplemental:
            context["supplementalGroups"] = list(self.supplemental)
        if self.selinux:
            context["seLinuxOptions"] = dict(self.selinux)
        return context

    @property
    def container_security(self) -> dict[str, Any]:
        """Security context of its container."""
        drop = ["ALL"] if self.user else list(self.dropped)
        context: dict[str, Any] = {"allowPrivilegeEscalation": self.privileged}
        if drop or self.added:
            context["capabilities"] = {"drop": drop, "add": list(self.added)}
        if self.user is not None:
            context["runAsUser"] = self.user
        if self.group is not None:
            context["runAsGroup"] = self.group
        if self.privileged:
            context["privileged"] = True
        return context


def of_container(
    pod: Object, container: Mapping[str, Any], of_image: tuple[int, int | None] | None = None
) -> Identity | None:
    """As whom a container of a pod writes; None when it must not be root and nothing says which user it is.

    `of_image` are uid and gid in the image's configuration, which count where neither pod nor kubelet says it.
    """
    shared, own = pod["spec"].get("securityContext") or {}, container.get("securityContext") or {}
    status = pod.get("status") or {}
    user = runs_as(pod["spec"], container, status)
    if user.user is None and of_image:
        user = replace(user, user=of_image[0], group=user.group if user.group is not None else of_image[1])
    if user.user is None and user.not_root:
        return None
    groups = {*(shared.get("supplementalGroups") or ())}
    if user.user:  # root needs none
        reported = started_as(status, container["name"]).get("supplementalGroups") or ()
        groups |= {*reported} - {user.group, user.fs_group}
    capabilities = own.get("capabilities") or {} if not user.user else {}
    return Identity(
        user=user.user,
        group=user.group,
        fs_group=user.fs_group,
        fs_group_change_policy=shared.get("fsGroupChangePolicy", ""),
        supplemental=tuple(sorted(groups)),
        selinux=tuple(sorted((own.get("seLinuxOptions") or shared.get("seLinuxOptions") or {}).items())),
        added=tuple(sorted(capabilities.get("add") or ())),
        dropped=tuple(sorted(capabilities.get("drop") or ())),
        privileged=bool(own.get("privileged")) and not user.user,
    )


def of_claim(known: Claim) -> Identity:
    """The identity of a claim's consumer, as the catalog knows it."""
    return Identity(known.run_as_user, known.run_as_group, known.fs_group, known.fs_group_change_policy)
