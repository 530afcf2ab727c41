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


class Case(NamedTuple):
    """A release, its packed manifests, the fixture with its kustomize, and how many objects upstream's example has."""

    release: str
    archive: str
    kustomize: str
    objects: int


CASES = [
    Case("1.6.1", "manifests-1.6.1.tar.gz", "kustomize_3", 594),
    Case("1.9.1", "manifests-1.9.1.tar.gz", "kustomize", 569),
    Case("26.03", "community-distribution-26.03.tar.gz", "kustomize", 675),
]


@pytest.mark.upstream
@pytest.mark.parametrize("case", CASES, ids=[case.release for case in CASES])
def test_all_components_together_are_the_example(
    case: Case, upstream_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    kustomize: Path = request.getfixturevalue(case.kustomize)  # before the cache is another one
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remote = {"argo-workflows": "argo-workflows-3.7.3.tar.gz", "jobset": "jobset-0.10.1.yaml.gz"}
    sources = {name: str(upstream_dir / file) for name, file in remote.items()} if case.release == "26.03" else {}
    settings = parse(
        {
            "kubeflow_release": case.release,
            "kubeflow_source": str(upstream_dir / case.archive),
            "kubeflow_sources": sources,
        }
    )
    opened, known = Sources(settings, silent), Kustomizations()
    components = [part for part in settings.release.components.values() if part.example]
    places = {part.name: opened.place(part) for part in components} | {"": opened.release() / "example"}
    resolved = with_local_bases(places, settings.release, opened, known, silent)
    found = Renderer(kustomize, tmp_path, silent, known).render(resolved)
    example = {Ref.of(obj): obj for obj in found.pop("")}
    found = fill_joint_values(found, settings.release)
    together = {Ref.of(obj): obj for objects in found.values() for obj in objects}
    assert len(example) == case.objects == sum(map(len, found.values()))
    assert sorted(ref for ref in {**example, **together} if example.get(ref) != together.get(ref)) == []
    assert {name: len(objects) for name, objects in found.items()} == {part.name: part.objects for part in components}
    # The archives beside the checkout were packed anew, without the files that no build reads.
    assert [note for note in opened.notes if "but a copy with changes or damage" not in note] == []
