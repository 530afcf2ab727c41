"""What is to be on the cluster: from sources to objects, without asking any cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component, version_key
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.gang.notifier import with_waker
from kubeflow_volcano.rollout.images.rename.rewrite import Rewritten, rewrite
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.remote_bases import without_remotes
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.manifests.sources import Sources, variable_of
from kubeflow_volcano.rollout.patches.joint_values import filled
from kubeflow_volcano.rollout.patches.newer_apis import in_newer_apis
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.storage.static_volumes import objects_of

__all__ = ["Desired", "desired", "rendered"]

_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")

Parts = Mapping[str, tuple[Object, ...]]
"""The objects of each component, in the order of the text."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The objects of each component as they are to be, in the order of the roll-out.

    `images` has what became of image names, with its warnings; `notes` are for a person, about sources and APIs.
    """

    parts: Parts
    images: Rewritten
    notes: tuple[str, ...]


def desired(
    settings: Settings, components: Sequence[Component], progress: Progress, *, offline: bool = False
) -> Desired:
    """The objects of these components: located, rendered, and changed as the settings say.

    An object that several components bring is the first one's. A component that the cluster brings itself has none;
    static volumes stand in for the provisioner. With `offline` nothing is downloaded.

    Raises:
        InvalidInput: everything that is wrong with sources, manifests and settings.
    """
    upstream, notes = rendered(settings, components, progress, offline=offline)
    parts, replaced = in_newer_apis(upstream, settings.release)
    problems: list[Problem] = []
    for part in components:
        with gathered(problems):
            _require_version(part, parts[part.name])
            _require_expected(part, parts[part.name], settings)
    if COMPONENT in parts and settings.gang_scheduler == "volcano":
        version = settings.component(COMPONENT).version
        parts = {**parts, COMPONENT: with_waker(parts[COMPONENT], COMPONENT, version, settings.volcano.version)}
    images = rewrite(_once(parts, problems), settings.mirror)
    problems += images.problems
    done: dict[str, tuple[Object, ...]] = {}
    for name, objects in images.parts.items():
        with gathered(problems):
            done[name] = patched(objects, name, settings) if objects else ()
    if "local-path" in done and not done["local-path"]:
        done["local-path"] = objects_of(settings)
    if problems:
        raise InvalidInput(problems)
    return Desired(done, replace(images, parts=done), (*notes, *replaced))


def rendered(
    settings: Settings, components: Sequence[Component], progress: Progress, *, offline: bool = False
) -> tuple[Parts, tuple[str, ...]]:
    """The objects of these components as upstream has them, and notes about their sources.

    Raises:
        InvalidInput: everything that is wrong with sources and manifests.
    """
    sources, known = Sources(settings, progress, offline=offline), Kustomizations()
    problems: list[Problem] = []
    places: Mapping[str, Path] = {}
    for part in components:
        if part.name == "local-path" and settings.storage.mode != "local_path":
            continue
        with gathered(problems):
            places = {**places, part.name: sources.place(part)}
    with gathered(problems):
        places = without_remotes(places, settings.release, sources, known, progress)
        renderer = Renderer(settings.kustomize, settings.cache_directory, progress, known)
        parts = filled(renderer.render(places), settings.release)
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    return {part.name: parts.get(part.name, ()) for part in components}, tuple(sources.notes)


@contextlib.contextmanager
def gathered(problems: list[Problem]) -> Iterator[None]:
    """Go on behind a refusal, with its problems added to the others."""
    try:
        yield
    except InvalidInput as error:
        problems += error.problems


def _require_expected(part: Component, objects: Sequence[Object], settings: Settings) -> None:
    variable = variable_of(part.name) if part.name in settings.sources else "kubeflow_source"
    present = {Ref.of(obj) for obj in objects}
    expected = {*part.workloads, *part.webhooks, *(Ref(*_CRD, name) for name in part.crds)}
    if objects and (missing := sorted(expected - present)):
        raise InvalidInput(
            Problem(
                f"the manifests of {part.name} lack {', '.join(map(str, missing))}.",
                f"the manifests of {part.title} {part.version}: {part.manifests}.",
                f"correct {variable}, or the version that is asked for.",
            )
        )


def _require_version(part: Component, objects: Sequence[Object]) -> None:
    """See that the programs of a part with files of its own in the catalog are not those of another version there.

    Raises:
        InvalidInput: their images carry the tag of one.
    """
    if part.name not in read.OWN_FILES:
        return
    own = [obj for obj in objects if Ref.of(obj) in part.workloads]
    tags = {tag for obj in own for tag in _tags(obj)}
    if others := sorted((tags - {part.version}) & {*read.versions_of(part.name)}, key=version_key):
        variable = part.name.replace("-", "_")
        raise InvalidInput(
            Problem(
                f"{variable}_source holds {part.title} {', '.join(others)}, {variable}_version is {part.version}.",
                f"the manifests of {part.title} {part.version}: {part.manifests}.",
                f'correct {variable}_source, or set {variable}_version: "{others[-1]}".',
            )
        )


def _tags(workload: Object) -> Iterator[str]:
    """Tags of the containers' images, without a leading v."""
    for container in workload["spec"]["template"]["spec"]["containers"]:
        image = container["image"].partition("@")[0].rpartition("/")[2]
        yield image.partition(":")[2].removeprefix("v")


def _once(parts: Parts, problems: list[Problem]) -> Parts:
    """Each object only where it stands first; what two components want differently is a problem."""
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
                        f"{Ref.of(obj)} stands in {owner} and, with another content, in {name}.",
                        "components that agree about an object that both bring.",
                        f"leave one of the two out (kubeflow_exclude), or correct {variable_of(name)}.",
                    )
                )
    return {name: tuple(objects) for name, objects in kept.items()}
