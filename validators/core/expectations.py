"""What a cluster is expected to hold, by release, profile and settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.catalog import gangs, read
from kubeflow_volcano.catalog.images.names import ImageName, version_tag
from kubeflow_volcano.catalog.model import Claim, MinorRange
from kubeflow_volcano.catalog.operator import COMPONENT, version_of_image
from kubeflow_volcano.catalog.schedulers import words_of
from kubeflow_volcano.catalog.shipped import images_of_release, images_outside
from kubeflow_volcano.cluster.objects import Ref

GIVEN = "given"
"""How something is known that the caller states."""


GANG_KINDS = ("jobs.batch.volcano.sh", gangs.VOLCANO.podgroups, "queues.scheduling.volcano.sh")
"""CRDs of Volcano without which no gang can be made or judged."""

SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
"""Volcano's scheduler as Volcano's manifests name it."""


@dataclass(frozen=True)
class Expectations:
    """What the catalog says about one release and profile, as the checks need it."""

    release: str = ""
    kubernetes: MinorRange = MinorRange("0.0", None)  # noqa: RUF009  an immutable tuple
    """Kubernetes minors that the release was tested with."""
    volcano_version: str = ""
    volcano_kubernetes: Mapping[str, MinorRange] = field(default_factory=dict)
    """Kubernetes minors that each known version of Volcano was tested with."""
    operator_version: str = ""
    """As the caller states it; used only where the operator's image does not show the version."""
    gang_scheduler: str = "volcano"
    """Or 'scheduler-plugins', 'kubernetes' or 'none'."""
    gang_from: str = GIVEN
    """How the gang scheduler is known."""
    user_email: str = ""
    """E-mail address of the first user; empty where it is not given."""
    user_namespace: str = ""
    """Name of the first user's profile; empty where it is not given."""
    published_password: bool = False
    """Whether the settings choose upstream's published password explicitly."""
    components: frozenset[str] = frozenset()
    existing: frozenset[str] = frozenset()
    """Those of the components that others installed and keep: of these, only what the rest needs is expected."""
    extra_plugins: tuple[str, ...] = ()
    """Plugins of Volcano's scheduler that a vendor added."""
    workloads: Mapping[Ref, str] = field(default_factory=dict)
    """Workloads that must become ready, by component."""
    crds: Mapping[str, str] = field(default_factory=dict)
    """Names of CRDs that must be served, by component."""
    webhooks: Mapping[Ref, str] = field(default_factory=dict)
    policies: Mapping[Ref, str] = field(default_factory=dict)
    """Objects of Istio that select pods by labels, by component."""
    injected: frozenset[str] = frozenset()
    """Namespaces whose pods get sidecars."""
    namespaces: frozenset[str] = frozenset()
    claims: tuple[Claim, ...] = ()
    ignored_namespaces: frozenset[str] = frozenset()
    images: Mapping[tuple[Ref, str], str] = field(default_factory=dict)
    """Planned image by workload and container."""
    images_exact: bool = False
    """Whether these names are final: after overrides and mirror rules."""
    objects: Mapping[Ref, str] = field(default_factory=dict)
    """Component by object of the manifests, where the caller knows them."""
    objects_from: str = ""
    """Where the caller got them from."""
    scheduler: Ref = SCHEDULER
    """The Deployment of Volcano's scheduler, whose namespace holds its configuration."""

    @property
    def gang(self) -> gangs.GangScheduler:
        """The gang scheduler; Volcano where the settings name none."""
        return gangs.gang_scheduler(self.gang_scheduler) or gangs.VOLCANO

    @property
    def has_volcano(self) -> bool:
        """Whether Volcano is chosen for its queues and gangs, whichever scheduler makes the proved gangs."""
        return gangs.VOLCANO.name in self.components

    @property
    def why_unmade(self) -> str:
        """Why no operator is to create PodGroups; empty where they are."""
        if self.gang_scheduler == "none":
            return "the settings disable gang scheduling."
        return "" if self.gang.has_makers else f"no training operator creates PodGroups of {self.gang.title}."

    @property
    def homes(self) -> frozenset[str]:
        """Namespaces of the chosen components, without kube-system."""
        return self.namespaces - {"kube-system"}


def expect(
    release: str,
    profile: str | Sequence[str] = "training",
    *,
    volcano_version: str = "",
    scheduler_plugins_version: str = "",
    training_operator_version: str = "",
    local_path_version: str = "",
    operator_version: str = "",
    gang_scheduler: str = "volcano",
    storage_mode: str = "local_path",
    included: Sequence[str] = (),
    excluded: Sequence[str] = (),
    existing: Sequence[str] = (),
    extra_plugins: Sequence[str] = (),
    ignored_namespaces: Iterable[str] = (),
) -> Expectations:
    """What the catalog expects of a release; a version that is not given is the recommended one.

    A version of the training operator is given where it does not come from the release.

    `profile` is a name or a list of components, which includes what they require, with what is `included` and
    without what is `excluded`. Of components that others keep (`existing`) no image is planned, and of Volcano only
    the kinds that gangs need. With the cluster's own storage (mode existing) or static volumes (static) no
    provisioner is expected; without gang scheduling no Volcano, and with another gang scheduler that one instead.
    Images of these are planned only where their version is given.

    Raises:
        InvalidInput: an unknown release, profile, component or version.
    """
    loaded = read.with_operator(read.load_release(release), training_operator_version)
    images = {**images_of_release(release)}
    given = {
        "volcano": volcano_version,
        "scheduler-plugins": scheduler_plugins_version,
        "local-path": local_path_version,
        COMPONENT: training_operator_version,
    }
    for outside, version in given.items():
        images |= images_outside(outside, version) if version else {}
    volcano_version = volcano_version or loaded.volcano_versions[0]
    local_path_version = local_path_version or loaded.local_path_version
    own_storage = storage_mode != "local_path"
    unneeded = ["local-path"] if own_storage else []
    unneeded += {"none": [gangs.VOLCANO.name], gangs.KUBERNETES.name: [gangs.KUBERNETES.name]}.get(gang_scheduler, [])
    parts = read.components(
        loaded,
        profile,
        {
            "volcano": volcano_version,
            "local-path": local_path_version,
            "scheduler-plugins": scheduler_plugins_version,
        },
        included=included,
        excluded=excluded,
        unneeded=unneeded,
        instead={"volcano": gang_scheduler} if gang_scheduler in gangs.GANG_SCHEDULERS else {},
    )
    kept = read.with_own_parts(loaded, existing)
    chosen = [item for item in parts if not (own_storage and item.name == "local-path")]
    workloads = {ref: item.name for item in chosen for ref in item.workloads}
    ranges = {version: read.load_component("volcano", version).kubernetes for version in read.versions_of("volcano")}
    return Expectations(
        release=loaded.version,
        kubernetes=loaded.kubernetes,
        volcano_version=volcano_version,
        volcano_kubernetes={version: bounds for version, bounds in ranges.items() if bounds},
        operator_version=operator_version,
        gang_scheduler=gang_scheduler,
        components=frozenset(item.name for item in chosen),
        workloads=workloads,
        existing=frozenset(kept) & {item.name for item in chosen},
        extra_plugins=(*extra_plugins, *_of_a_vendor(volcano_version)),
        crds={name: item.name for item in chosen for name in item.crds if _is_needed(name, item.name, kept)},
        webhooks={ref: item.name for item in chosen for ref in item.webhooks},
        policies={ref: item.name for item in chosen for ref in item.policies},
        injected=frozenset(name for item in chosen for name in item.injected),
        namespaces=frozenset({"kube-system", *(name for item in chosen for name in item.namespaces)}),
        claims=tuple(claim for item in chosen for claim in item.claims),
        ignored_namespaces=frozenset(ignored_namespaces),
        images={
            place: image for place, image in images.items() if place[0] in workloads and workloads[place[0]] not in kept
        },
    )


def _is_needed(crd: str, component: str, existing: Collection[str]) -> bool:
    """Whether the CRD is expected: of a Volcano of others, those of `GANG_KINDS`."""
    return component != gangs.VOLCANO.name or component not in existing or crd in GANG_KINDS


def releases_of(images: Iterable[str]) -> tuple[str, ...]:
    """Releases, oldest first, whose operator has one of these images."""
    versions = {version for image in images if (version := version_of_image(image) or _trainer_version(image))}
    return tuple(name for name in read.releases() if read.load_release(name).operator_version in versions)


def newest_for(server_version: str) -> str:
    """The newest release that was tested with this Kubernetes version, or else the newest one."""
    known = read.releases()
    fit = [name for name in known if server_version and read.load_release(name).kubernetes.covers(server_version)]
    return (fit or known)[-1]


def _trainer_version(image: str) -> str:
    name = ImageName.parse(image)
    return version_tag(image) if name and name.name == "trainer-controller-manager" else ""


def _of_a_vendor(volcano_version: str) -> Iterator[str]:
    """The plugins that its manifest configures, and that upstream's does not have."""
    configured = read.load_component("volcano", volcano_version).scheduler_plugins
    return (name for name in configured if name not in words_of(volcano_version).plugins)
