"""The components of a release together are what upstream's own example builds, object for object."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.remote_bases import with_local_bases
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.manifests.sources import Sources
from kubeflow_volcano.rollout.patches.upstream import fill_joint_values
from kubeflow_volcano.rollout.settings.settings import parse
from tests.archives import REMOTE_BASES, file_beside, needed_archive


class Case(NamedTuple):
    """A release, the fixture with its kustomize, and how many objects upstream's example has.

    `differing` are the objects that a build of the whole example makes otherwise.
    """

    release: str
    kustomize: str
    objects: int
    differing: frozenset[str] = frozenset()


CASES = [
    Case("1.6.1", "kustomize_3", 594),
    Case("1.9.1", "kustomize", 569),
    Case("26.03", "kustomize", 675),
    # The menu with the Model Registry; and the PVC viewer's issuer, whose name before its prefix is that of KServe's.
    Case(
        "26.03.1",
        "kustomize",
        727,
        frozenset(("dashboard-config", "llmisvc-serving-cert", "localmodel-serving-cert", "serving-cert")),
    ),
]
LEFT_OUT = {"26.03.1": "model-registry"}
"""A component of upstream's example that the profile full is without."""


@pytest.mark.upstream
@pytest.mark.parametrize("case", CASES, ids=[case.release for case in CASES])
def test_all_components_together_are_the_example(case: Case, request: pytest.FixtureRequest) -> None:
    source = needed_archive(case.release)
    remote = {name: str(file_beside(file)) for name, file in REMOTE_BASES.get(case.release, {}).items()}
    kustomize: Path = request.getfixturevalue(case.kustomize)
    settings = parse({"kubeflow_release": case.release, "kubeflow_source": str(source), "kubeflow_sources": remote})
    opened, known = Sources(settings, silent), Kustomizations()
    left_out = LEFT_OUT.get(case.release)
    components = [part for part in settings.release.components.values() if part.example or part.name == left_out]
    places = {part.name: opened.place(part) for part in components} | {"": opened.release() / "example"}
    resolved = with_local_bases(places, settings.release, opened, known, silent)
    found = Renderer(kustomize, settings.cache_directory, silent, known).render(resolved)
    example = {Ref.of(obj): obj for obj in found.pop("")}
    found = fill_joint_values(found, settings.release)
    together = {Ref.of(obj): obj for objects in found.values() for obj in objects}
    assert len(example) == case.objects == sum(map(len, found.values()))
    other = {ref for ref in {**example, **together} if example.get(ref) != together.get(ref)}
    assert {ref.name for ref in other} == case.differing
    assert other <= example.keys() & together.keys()
    assert {name: len(objects) for name, objects in found.items()} == {part.name: part.objects for part in components}
    # The archives beside the checkout were packed anew, without the files that no build reads.
    assert [note for note in opened.notes if "copy with changes" not in note] == []
