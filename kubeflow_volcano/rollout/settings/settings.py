"""The inventory's variables, validated together, become one frozen value. Nothing later reads raw variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from kubeflow_volcano.catalog import data, read
from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import Component, Release, Source
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.decode import SAME, Key, Parsed, decode
from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.problems import InvalidInput, Problem, collecting
from kubeflow_volcano.rollout.bundle.contents import CATALOG
from kubeflow_volcano.rollout.bundle.reading import Bundle
from kubeflow_volcano.rollout.settings.access import AccessSettings, validate_access
from kubeflow_volcano.rollout.settings.ceded import CededFields
from kubeflow_volcano.rollout.settings.existing import validate_existing
from kubeflow_volcano.rollout.settings.images import (
    MirrorSettings,
    PullSettings,
    RegistrySettings,
    from_bundle,
    from_registry,
    validate_registry,
)
from kubeflow_volcano.rollout.settings.matrix import fitting_plugins, validate_operator, validate_versions
from kubeflow_volcano.rollout.settings.own_patches import OwnPatch, validate_components, validate_values
from kubeflow_volcano.rollout.settings.people.connectors import Connector, validate_connectors
from kubeflow_volcano.rollout.settings.people.notebooks import NotebookSettings, validate_notebooks
from kubeflow_volcano.rollout.settings.people.profiles import Profile, validate_profiles, with_queues_of
from kubeflow_volcano.rollout.settings.people.users import User, validate_users
from kubeflow_volcano.rollout.settings.pods.claims import ClaimSettings, validate_claims
from kubeflow_volcano.rollout.settings.pods.credentials import RegistryLogin, validate_credentials
from kubeflow_volcano.rollout.settings.pods.placement import PlacementSettings, validate_placement
from kubeflow_volcano.rollout.settings.pods.proxy import ProxySettings, validate_proxy
from kubeflow_volcano.rollout.settings.pods.stores import (
    DatabaseSettings,
    ObjectStoreSettings,
    Store,
    is_gateway,
    validate_stores,
)
from kubeflow_volcano.rollout.settings.storage import StorageSettings, validate_static_volumes
from kubeflow_volcano.rollout.settings.uninstall import UninstallSettings, uninstall_settings, validate_uninstall
from kubeflow_volcano.rollout.settings.user import (
    MODEL_REGISTRY,
    Account,
    UserSettings,
    validate_model_registry,
    validate_password,
)
from kubeflow_volcano.rollout.settings.validation.schedule import ScheduleSettings, validate_schedule
from kubeflow_volcano.rollout.settings.variables import GivenPath, OptionalPath, OptionalText, complete, defaults
from kubeflow_volcano.rollout.settings.volcano import (
    AvailabilitySettings,
    PodWebhookSettings,
    SchedulingSettings,
    validate_availability,
    validate_scheduling,
)
from kubeflow_volcano.text import did_you_mean

T = TypeVar("T")

OF_KUBERNETES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""The namespaces that Kubernetes itself makes."""


@dataclass(frozen=True, slots=True)
class BundleSettings:
    """The bundle that is installed from, or filled; None without one. `contents` names the parts that are filled."""

    directory: Annotated[OptionalPath, Key("kubeflow_bundle")]
    contents: Annotated[tuple[str, ...], Key("bundle_contents")]


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What the plan assumes of the cluster. Memory and storage in GB (1000^3 bytes)."""

    kubernetes: Annotated[str, Key("plan_kubernetes")]
    architectures: Annotated[tuple[str, ...], Key("plan_architectures")]
    directory: Annotated[GivenPath, Key("plan_directory")]
    minimum_cpu: Annotated[int, Key("plan_minimum_cpu")]
    minimum_memory_gb: Annotated[int, Key("plan_minimum_memory_gb")]
    minimum_storage_gb: Annotated[int, Key("plan_minimum_storage_gb")]


@dataclass(frozen=True, slots=True)
class Settings:
    """The desired roll-out.

    `components` are those to install. Those in `existing` belong to others and satisfy requirements; those in `adopted`
    are taken over from others. `release` has the training operator that the inventory chooses; `training_operator` is
    the same where it does not come from the release. `source` is the release's archive. `sources` has the address of
    each other component and remote source, from the inventory or upstream's; components of the archive are absent.
    """

    kubeconfig: Annotated[OptionalPath, Key("kubeflow_kubeconfig")]
    catalog: Annotated[OptionalPath, Key("catalog_directory")]
    context: Annotated[OptionalText, Key("kubeflow_context")]
    release: Release
    components: tuple[Component, ...]
    included: Annotated[tuple[str, ...], Key("kubeflow_include")]
    excluded: Annotated[tuple[str, ...], Key("kubeflow_exclude")]
    existing: Annotated[tuple[str, ...], Key("kubeflow_existing")]
    adopted: Annotated[tuple[str, ...], Key("kubeflow_adopt")]
    prune: Annotated[bool, Key("kubeflow_prune")]
    prune_named: Annotated[tuple[str, ...], Key("kubeflow_prune_named")]
    ceded: Annotated[tuple[CededFields, ...], Key("kubeflow_ceded_fields")]
    patches: Annotated[Mapping[str, tuple[OwnPatch, ...]], Key("kubeflow_patches")]
    upgrade_confirmed: Annotated[tuple[str, ...], Key("kubeflow_upgrade_confirmed")]
    source: str
    sources: Mapping[str, str]
    bundle: Annotated[BundleSettings, SAME]
    user: Annotated[UserSettings, SAME]
    access: Annotated[AccessSettings, SAME]
    connectors: Annotated[tuple[Connector, ...], Key("kubeflow_connectors")]
    users: Annotated[tuple[User, ...], Key("kubeflow_users")]
    profiles: Annotated[tuple[Profile, ...], Key("kubeflow_profiles")]
    notebooks: Annotated[NotebookSettings, Key("kubeflow_notebooks")]
    database: Annotated[DatabaseSettings, Key("kubeflow_database")]
    object_store: Annotated[ObjectStoreSettings, Key("kubeflow_object_store")]
    namespace_labels: Annotated[Mapping[str, str], Key("kubeflow_namespace_labels")]
    mirror: Annotated[MirrorSettings, SAME]
    pull: Annotated[PullSettings, SAME]
    registry: Annotated[RegistrySettings, SAME]
    credentials: Annotated[tuple[RegistryLogin, ...], Key("image_mirror_credentials")]
    proxy: Annotated[ProxySettings, Key("kubeflow_proxy")]
    placement: Annotated[PlacementSettings, Key("kubeflow_placement")]
    claims: Annotated[Mapping[str, Mapping[str, ClaimSettings]], Key("kubeflow_claims")]
    plan: Annotated[PlanSettings, SAME]
    wait_timeout_seconds: Annotated[int, Key("kubeflow_wait_timeout_seconds")]
    volcano: Component
    volcano_namespace: Annotated[str, Key("volcano_namespace")]
    scheduler_plugins: Component
    training_operator: Component | None
    local_path: Component
    storage: Annotated[StorageSettings, SAME]
    gang_scheduler: Annotated[str, Key("gang_scheduling_scheduler")]
    scheduling: Annotated[SchedulingSettings, SAME]
    availability: Annotated[AvailabilitySettings, SAME]
    pod_webhooks: Annotated[PodWebhookSettings, SAME]
    uninstall: Annotated[UninstallSettings, SAME]
    scheduled: Annotated[ScheduleSettings, SAME]
    kustomize: Path
    kustomize_version: str
    own_kustomize: Annotated[bool, Key("kustomize_binary"), Parsed(bool)]
    kustomize_sum: str
    """The sha256 that kustomize_binary names, or empty."""
    kustomize_mirrors: Annotated[tuple[str, ...], Key("kustomize_mirrors")]
    cache_directory: Path
    account: Account | None = None
    """Known once there is a cluster to read it from; see account/stored.py."""
    passwords: Mapping[str, str] | None = field(default=None, repr=False)
    """Likewise, of databases and stores; see account/stores.py."""
    cluster_addresses: tuple[str, ...] = ()
    """Likewise, for the proxy; see cluster/addresses.py."""
    added: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    """Objects that come beside those of components, by part; see settings/validation."""

    @property
    def known_components(self) -> tuple[Component, ...]:
        """Those of the release and of the gang schedulers, chosen or not."""
        return *self.release.components.values(), self.volcano, self.scheduler_plugins

    @property
    def own_entries(self) -> tuple[str, ...]:
        """A line for each chosen version that an entry of the user describes."""
        found = [(f"{part.title} {part.version}", part.entry) for part in self.components]
        found.append((f"release {self.release.version} of Kubeflow", self.release.entry))
        return tuple(f"{what} is described by an entry of yours, {entry}." for what, entry in found if entry)

    def component(self, name: str) -> Component:
        """The component of that name, chosen or not.

        Raises:
            InvalidInput: neither the release nor the catalog has it.
        """
        return _components(self, (name,))[-1]

    def stands_in(self, name: str) -> str:
        """The component that satisfies requirements of `name`: another gang scheduler in place of Volcano."""
        return _instead(self.gang_scheduler).get(name, name)

    @property
    def operator_version(self) -> str:
        """That of the training operator; empty where it is no component."""
        return self.release.operator_version if COMPONENT in {item.name for item in self.components} else ""

    def version_of(self, component: Component) -> str:
        """The version by which upgrades are judged: a component's own, such as Volcano's, else the release's."""
        return component.version if component.name in read.INDEPENDENT else self.release.version

    def requirements(self, component: Component) -> tuple[Component, ...]:
        """The components that must be installed before `component`, in order."""
        return _components(
            self,
            (component.name,),
            unneeded=_unneeded(self.gang_scheduler, self.storage.mode),
            existing=[name for name in self.existing if name != component.name],
            instead=_instead(self.gang_scheduler),
        )[:-1]


def parse(variables: Mapping[str, Any]) -> Settings:
    """The settings of the public variables among `variables`, with defaults; other names are ignored.

    Raises:
        InvalidInput: a name, type, value or combination is invalid; the message has every problem.
    """
    values, problems = complete(variables)
    settings, more = _relate(values)
    problems += more
    if problems or settings is None:
        raise InvalidInput(problems)
    return settings


def _relate(values: Mapping[str, Any]) -> tuple[Settings | None, list[Problem]]:
    """The settings of complete variables, or every contradiction in them."""
    user, mirror = decode(UserSettings, values), decode(MirrorSettings, values)
    registry = decode(RegistrySettings, values)
    problems = [*validate_password(user), *validate_registry(registry, mirror), *_add_entries(values)]
    registry = from_bundle(registry, decode(BundleSettings, values).directory)
    release = _loaded(read.load_release, "kubeflow_release", values["kubeflow_release"], problems)
    own: dict[str, Component] = {}
    for name in read.INDEPENDENT:
        variable = _variable(name, "version")
        wanted = values[variable] or _best(name, release, values["plan_kubernetes"])
        if part := _loaded(partial(read.load_component, name), variable, wanted, problems):
            own[name] = part
    operator = _own_operator(values, release, problems) if release else None
    if release is None or operator is None or len(own) < len(read.INDEPENDENT):
        return None, problems
    release, training_operator = operator
    version = values["kustomize_version"] or release.kustomize_version
    cache, plan = cache_directory(), decode(PlanSettings, values)
    binary, _, binary_sum = values["kustomize_binary"].partition("#sha256=")
    tools = Path(values["kustomize_cache_directory"] or cache / "kustomize").expanduser()
    settings = decode(
        Settings,
        values,
        release=release,
        components=(),
        uninstall=uninstall_settings(values, release),
        existing=read.with_own_parts(release, values["kubeflow_existing"]),
        adopted=read.with_own_parts(release, values["kubeflow_adopt"]),
        source=values["kubeflow_source"] or _address(release.source),
        sources=_sources(values, release, own.values()),
        user=user,
        mirror=from_registry(mirror, registry),
        registry=registry,
        plan=replace(plan, kubernetes=plan.kubernetes or release.kubernetes_tested),
        volcano=own["volcano"],
        local_path=own["local-path"],
        scheduler_plugins=own["scheduler-plugins"],
        training_operator=training_operator,
        kustomize=Path(binary or tools / version / "kustomize").expanduser(),
        kustomize_version=version,
        kustomize_sum=binary_sum,
        cache_directory=cache,
    )
    problems += [*validate_credentials(settings.credentials, settings.mirror), *validate_proxy(settings.proxy)]
    problems += validate_schedule(settings.scheduled, settings.credentials)
    problems += validate_versions(release, settings.volcano, version)
    with collecting(problems):
        settings = replace(settings, components=tuple(_with_used_claims(_chosen(values, settings), settings)))
    problems += [*_without_address(settings), *validate_existing(values, defaults(), release, settings.components)]
    problems += validate_uninstall(values)
    problems += validate_operator(settings.gang_scheduler, release, settings.components)
    of_volcano = settings.scheduling
    settings = replace(settings, scheduling=with_queues_of(of_volcano, settings.profiles, settings.existing))
    problems += validate_scheduling(settings.scheduling, settings.volcano, settings.gang_scheduler)
    if settings.components:
        chosen = {part.name for part in settings.components}
        problems += validate_profiles(
            settings.profiles,
            of_volcano,
            user,
            chosen=chosen,
            existing=settings.existing,
            gang_scheduler=settings.gang_scheduler,
        )
        problems += validate_access(settings.access, chosen, settings.existing)
        problems += validate_connectors(settings.connectors, settings.access, chosen)
        problems += validate_users(settings.users, settings.user, chosen)
        problems += [
            *validate_notebooks(settings.notebooks, chosen),
            *validate_stores(
                settings.database,
                settings.object_store,
                chosen,
                gateway=is_gateway(release),
            ),
        ]
        problems += validate_model_registry(settings.user, chosen)
        problems += validate_components("kubeflow_patches", settings.patches, chosen, "patches")
        problems += validate_values(settings.patches)
        problems += validate_placement(settings.placement, chosen)
        problems += validate_claims(settings.claims, chosen, settings.storage.mode)
        problems += validate_static_volumes(settings.storage, settings.components)
        problems += validate_availability(settings.availability, _training_operator(settings.components))
    problems += _validate_sources(values["kubeflow_sources"], release)
    parts = [part for part in (*own.values(), *release.components.values()) if part.name != MODEL_REGISTRY]
    problems += _validate_namespace("kubeflow_user_namespace is", values["kubeflow_user_namespace"], parts)
    for item in settings.profiles:
        problems += _validate_namespace("kubeflow_profiles names", item.name, parts)
    return settings, problems


def _add_entries(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Read the user's entries from now on; yields why that is not possible.

    Where the directory is not carried, those of the bundle count.
    """
    named = values["catalog_directory"]
    directory = Path(named).expanduser() if named else None
    carried = decode(BundleSettings, values).directory
    try:
        if directory and carried and not directory.exists() and (carried / CATALOG).is_dir():
            Bundle.open(carried).verify(CATALOG)
            directory = carried / CATALOG
        data.add(directory)
    except InvalidInput as error:
        yield from error.problems


def _loaded(load: Callable[[str], T], variable: str, version: str, problems: list[Problem]) -> T | None:
    try:
        return load(version)
    except InvalidInput as error:
        problems += [Problem(f"{variable}: {item.found}", item.needed, item.todo) for item in error.problems]
        return None


def _own_operator(
    values: Mapping[str, Any], release: Release, problems: list[Problem]
) -> tuple[Release, Component | None] | None:
    """The release with the training operator that is wanted, and that where it has its own source; None: unknown."""
    former, wanted = release.components.get(COMPONENT), values[_variable(COMPONENT, "version")]
    if former and values[_variable(COMPONENT, "source")]:
        wanted = wanted or former.version
    with_own = _loaded(partial(read.with_operator, release), _variable(COMPONENT, "version"), wanted, problems)
    if with_own is None:
        return None
    part = with_own.components[COMPONENT]
    return with_own, None if part is former else part


def _best(component: str, release: Release | None, kubernetes: str) -> str:
    """The default version of a component outside releases."""
    if component == SCHEDULER_PLUGINS.name:
        return fitting_plugins(kubernetes, release)
    if release is None:
        return read.versions_of(component)[-1]
    return release.volcano_versions[0] if component == VOLCANO.name else release.local_path_version


def _components(settings: Settings, profile: str | Sequence[str], **options: Any) -> tuple[Component, ...]:
    return read.components(
        settings.release,
        profile,
        {part.name: part.version for part in (settings.volcano, settings.local_path, settings.scheduler_plugins)},
        **options,
    )


def _chosen(values: Mapping[str, Any], settings: Settings) -> tuple[Component, ...]:
    return _components(
        settings,
        values["kubeflow_components"] or values["kubeflow_profile"],
        included=settings.included,
        excluded=settings.excluded,
        existing=settings.existing,
        unneeded=_unneeded(settings.gang_scheduler, settings.storage.mode),
        instead=_instead(settings.gang_scheduler),
    )


def _with_used_claims(parts: Iterable[Component], settings: Settings) -> Iterator[Component]:
    """Without the claims of stores that are not installed, for which no volumes are needed."""
    stores: tuple[Store, ...] = (settings.database, settings.object_store)
    for part in parts:
        unused = {name for store in stores if not store.moved for name in store.claims.get(part.name, ())}
        used = tuple(claim for claim in part.claims if claim.name not in unused)
        yield replace(part, claims=used) if unused else part


def _training_operator(chosen: Iterable[Component]) -> str:
    """Its version; empty where it is not chosen."""
    return next((part.version for part in chosen if part.name == "training-operator"), "")


def _unneeded(gang_scheduler: str, storage_mode: str) -> tuple[str, ...]:
    """Requirements to ignore: a gang scheduler that is not installed, local-path where something else provisions."""
    gangs = {"none": (VOLCANO.name,), KUBERNETES.name: (KUBERNETES.name,)}.get(gang_scheduler, ())
    return gangs if storage_mode == "local_path" else (*gangs, "local-path")


def _instead(gang_scheduler: str) -> Mapping[str, str]:
    """What replaces Volcano as a requirement."""
    return {VOLCANO.name: gang_scheduler} if gang_scheduler in {SCHEDULER_PLUGINS.name, KUBERNETES.name} else {}


def _without_address(settings: Settings) -> Iterator[Problem]:
    part = settings.training_operator
    if part is not None and part in settings.components and part.name not in settings.sources:
        known = [name for name in read.versions_of(part.name) if read.load_component(part.name, name).address]
        yield Problem(
            f"{part.title} {part.version}, of which the catalog has no address with a verified sum.",
            f"{part.manifests}: a source, or another version: {', '.join(known)}.",
            f'set training_operator_source to the archive, or training_operator_version: "{known[-1]}".',
        )


def _validate_sources(given: Mapping[str, str], release: Release) -> Iterator[Problem]:
    known = {*release.components, *(source.name for source in release.remote_sources)}
    for name in given:
        if name in read.INDEPENDENT:
            yield Problem(
                f"kubeflow_sources.{name}.",
                f"the source of {name} in the variable {_variable(name, 'source')}.",
                f"move the value to {_variable(name, 'source')}.",
            )
        elif name not in known:
            yield Problem(
                f"kubeflow_sources.{name}, which is no component of {release.version}.{did_you_mean(name, known)}",
                f"one of: {', '.join(sorted(known))}.",
                "correct the name, or remove the entry.",
            )


def _validate_namespace(where: str, name: str, parts: Iterable[Component]) -> Iterator[Problem]:
    users = [part.title for part in parts if name in part.namespaces]
    if users or name in OF_KUBERNETES:
        yield Problem(
            f"{where} {name}, the namespace of {', '.join(users) or 'Kubernetes itself'}.",
            "a namespace for the profile only.",
            "choose another name.",
        )


def _sources(values: Mapping[str, Any], release: Release, own: Iterable[Component]) -> Mapping[str, str]:
    upstream = {part.name: part.address for part in (*own, *release.components.values())}
    upstream |= {part.name: str(read.kept_manifests(part)) for part in own if not part.address}
    upstream |= {source.name: _address(source) for source in release.remote_sources}
    given = {name: text for name in read.OWN_FILES if (text := values[_variable(name, "source")])}
    merged = {**upstream, **values["kubeflow_sources"], **given}
    return {name: text for name, text in merged.items() if text}


def _variable(component: str, what: str) -> str:
    return f"{component.replace('-', '_')}_{what}"


def _address(source: Source) -> str:
    return f"{source.address}#content-sha256={source.content_sha256}"
