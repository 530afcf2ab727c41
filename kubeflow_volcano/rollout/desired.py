"""The desired objects: from sources to patched manifests, without a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.model import Component, version_key
from kubeflow_volcano.catalog.operator import COMPONENT, version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem, collecting
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.gang.notifier import with_notifier
from kubeflow_volcano.rollout.images.rename.rewrite import Rewritten, rewrite
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.kustomize_binary import require_known
from kubeflow_volcano.rollout.manifests.pruning import prune
from kubeflow_volcano.rollout.manifests.remote_bases import with_local_bases
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.manifests.sources import Sources, variable_of
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.namespaces import missing_namespaces
from kubeflow_volcano.rollout.patches.own import overruled, with_own_patches
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.patches.upstream import fill_joint_values, replace_apis
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.storage.static_volumes import objects_of, static_volumes

Parts = Mapping[str, tuple[Object, ...]]
"""The objects of each component, in manifest order."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired objects of each component, in roll-out order.

    `images` has the renamed images and their warnings; `notes` are lines about sources and APIs, for people.
    `namespaces` are those that components use and no manifest has: `parts` has them, so that what is declared does not
    depend on what exists.
    """

    parts: Parts
    images: Rewritten
    notes: tuple[str, ...]
    namespaces: tuple[Ref, ...] = ()

    @property
    def objects(self) -> list[Object]:
        """Those of all components."""
        return [obj for objects in self.parts.values() for obj in objects]


def desired(
    settings: Settings, components: Sequence[Component], progress: Progress, *, offline: bool = False
) -> Desired:
    """The desired objects of these components: rendered from their sources, and patched by the settings.

    An object in several components belongs to the first. A component that the cluster already provides has no
    objects; static volumes replace the provisioner. With `offline` nothing is downloaded.

    Raises:
        InvalidInput: every problem of sources, manifests and settings.
    """
    upstream, notes = render_upstream(settings, components, progress, offline=offline)
    parts, replaced = replace_apis(upstream, settings.release)
    problems: list[Problem] = []
    for part in components:
        with collecting(problems):
            _require_version(part, parts[part.name], settings)
            _require_expected(part, parts[part.name], settings)
    if COMPONENT in parts and settings.gang_scheduler == "volcano":
        version = settings.component(COMPONENT).version
        parts = {**parts, COMPONENT: with_notifier(parts[COMPONENT], COMPONENT, version, settings.volcano.version)}
    own: dict[str, tuple[Object, ...]] = {}
    for name, objects in _once(parts, settings, problems).items():
        with collecting(problems):
            own[name] = with_own_patches(name, for_environment(name, objects, settings), settings, progress)
    images = rewrite(own, settings.mirror)
    problems += images.problems
    done: dict[str, tuple[Object, ...]] = {}
    for name, objects in images.parts.items():
        with collecting(problems):
            done[name] = patched(objects, name, settings) if objects else ()
            problems += overruled(name, settings, objects, done[name])
    if "local-path" in done and not done["local-path"]:
        done["local-path"] = objects_of(static_volumes(settings.storage, settings.components))
    if problems:
        raise InvalidInput(problems)
    namespaces = missing_namespaces(components, done, settings)
    done = {name: (*namespaces.get(name, ()), *objects) for name, objects in done.items()}
    added = tuple(Ref.of(obj) for objects in namespaces.values() for obj in objects)
    return Desired(done, replace(images, parts=done), (*notes, *replaced), added)


def render_upstream(
    settings: Settings, components: Sequence[Component], progress: Progress, *, offline: bool = False
) -> tuple[Parts, tuple[str, ...]]:
    """Render the unpatched objects of these components; returns them and notes about their sources.

    Raises:
        InvalidInput: every problem of sources and manifests.
    """
    sources, known = Sources(settings, progress, offline=offline), Kustomizations()
    problems: list[Problem] = []
    places: Mapping[str, Path] = {}
    for part in components:
        if part.name == "local-path" and settings.storage.mode != "local_path":
            continue
        with collecting(problems):
            places = {**places, part.name: sources.place(part)}
    with collecting(problems):
        places = with_local_bases(places, settings.release, sources, known, progress)
        verify = partial(require_known, settings)
        renderer = Renderer(settings.kustomize, settings.cache_directory, progress, known, verify=verify)
        parts = fill_joint_values(renderer.render(places), settings.release)
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    if not offline:
        prune(settings.cache_directory, progress)
    notes = (*settings.own_entries, *sources.notes)
    return {part.name: _with_images(part, parts.get(part.name, ()), settings) for part in components}, notes


def _with_images(part: Component, objects: tuple[Object, ...], settings: Settings) -> tuple[Object, ...]:
    """The manifests that the catalog keeps for all versions of a component, with the images of this one."""
    if settings.sources.get(part.name) == str(read.kept_manifests(part)):
        for obj in objects:
            for container in obj["spec"]["template"]["spec"]["containers"] if obj["kind"] == "Deployment" else ():
                container["image"] = part.images.get(Ref.of(obj), {}).get(container["name"], container["image"])
    return objects


def _require_expected(part: Component, objects: Sequence[Object], settings: Settings) -> None:
    variable = variable_of(part.name, settings) if part.name in settings.sources else "kubeflow_source"
    present = {Ref.of(obj) for obj in objects}
    if objects and (missing := sorted({*part.central} - present)):
        raise InvalidInput.problem(
            f"the manifests of {part.name} lack {', '.join(map(str, missing))}.",
            f"the manifests of {part.title} {part.version}: {part.manifests}.",
            f"correct {variable}, or choose another version.",
        )


def _require_version(part: Component, objects: Sequence[Object], settings: Settings) -> None:
    """Check that the images of a part with a source of its own do not have the tag of another version in the catalog.

    Raises:
        InvalidInput: they do.
    """
    if part.name not in read.INDEPENDENT and part != settings.training_operator:
        return
    own = [obj for obj in objects if Ref.of(obj) in part.workloads]
    versions = {version for obj in own for version in _versions(obj)}
    if others := sorted((versions - {part.version}) & {*read.versions_of(part.name)}, key=version_key):
        variable = part.name.replace("-", "_")
        raise InvalidInput.problem(
            f"{variable}_source is {part.title} {', '.join(others)}, {variable}_version is {part.version}.",
            f"the manifests of {part.title} {part.version}: {part.manifests}.",
            f'correct {variable}_source, or set {variable}_version: "{others[-1]}".',
        )


def _versions(workload: Object) -> Iterator[str]:
    """Versions by the images of the containers."""
    for container in workload["spec"]["template"]["spec"]["containers"]:
        yield version_of_image(container["image"]) or version_tag(container["image"])


def _once(parts: Parts, settings: Settings, problems: list[Problem]) -> Parts:
    """Keep each object in its first component only; add a problem if two components define it differently."""
    first: dict[Ref, tuple[str, Object]] = {}
    kept: dict[str, list[Object]] = {name: [] for name in parts}
    for name, objects in parts.items():
        for obj in objects:
            owner, other = first.setdefault(Ref.of(obj), (name, obj))
            if other is obj:
                kept[name].append(obj)
            elif other != obj:
                problems.append(
                    Problem(
                        f"{owner} and {name} define {Ref.of(obj)} differently.",
                        "one definition of each object.",
                        f"exclude one of the two (kubeflow_exclude), or correct {variable_of(name, settings)}.",
                    )
                )
    return {name: tuple(objects) for name, objects in kept.items()}
