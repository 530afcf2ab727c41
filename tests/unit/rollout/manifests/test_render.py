"""Manifests become objects, or a message with the place of the trouble."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.manifests.render import Renderer

NONE = Path("/no/kustomize")
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\n"


def render(place: Path, kustomize: Path, cache: Path, progress: Progress) -> tuple[Object, ...]:
    """The objects of one place."""
    return Renderer(kustomize, cache, progress).render({"part": place})["part"]


def file(folder: Path, text: str) -> Path:
    path = folder / "m.yaml"
    path.write_text(text)
    return path


def test_a_file_is_read_in_its_order(tmp_path: Path) -> None:
    text = "---\n# nothing\n---\n" + MAP + "---\n" + MAP.replace("name: a", "name: b")
    objects = render(file(tmp_path, text), NONE, tmp_path, silent)
    assert [obj["metadata"]["name"] for obj in objects] == ["a", "b"]


def test_a_list_is_its_items(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: x}}\n"
    assert [obj["kind"] for obj in render(file(tmp_path, text), NONE, tmp_path, silent)] == ["Namespace"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2\n", r"m\.yaml:2:1: duplicate key 'a'"),
        ("- 1\n", "document 1: is a list"),
        ("kind: ConfigMap\nmetadata: {}\n", "has no apiVersion, metadata.name"),
        (MAP + "---\n" + MAP, "has ConfigMap n/a twice"),
        ("# only a comment\n", "has no object"),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: 7}\n", "has no metadata.name"),
    ],
)
def test_what_is_no_object_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        render(file(tmp_path, text), NONE, tmp_path, silent)


def test_every_trouble_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        render(file(tmp_path, "- 1\n---\nkind: X\n---\n" + MAP + "---\n" + MAP), NONE, tmp_path, silent)
    assert len(caught.value.problems) == 3


def test_without_kustomize_a_directory_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="kustomize_binary"):
        render(tmp_path, NONE, tmp_path, silent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An overlay over a base that lies outside it."""
    base, overlay = tmp_path / "base", tmp_path / "overlays" / "one"
    base.mkdir()
    overlay.mkdir(parents=True)
    (base / "kustomization.yaml").write_text(
        "resources: [map.yaml]\nconfigMapGenerator:\n- {name: g, files: [k=data.txt]}\n"
    )
    (base / "map.yaml").write_text(MAP)
    (base / "data.txt").write_text("one")
    (overlay / "kustomization.yaml").write_text("resources: [../../base]\nnamespace: other\n")
    return overlay


def test_a_kustomization_is_built_and_kept_by_content(folder: Path, kustomize: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    cache = tmp_path / "cache"
    objects = render(folder, kustomize, cache, lines.append)
    assert {obj["metadata"]["namespace"] for obj in objects} == {"other"}
    assert render(folder, kustomize, cache, lines.append) == objects
    assert len(lines) == 1

    (folder.parents[1] / "base" / "data.txt").write_text("two")
    changed = render(folder, kustomize, cache, lines.append)
    assert len(lines) == 2
    assert [obj["data"]["k"] for obj in changed if "data" in obj] == ["two"]


def test_a_read_only_kustomization_is_built_in_place(folder: Path, kustomize: Path, tmp_path: Path) -> None:
    for path in (folder, folder.parents[1] / "base"):
        path.chmod(0o555)
    try:
        assert render(folder, kustomize, tmp_path / "cache", silent)
        assert [path.name for path in folder.iterdir()] == ["kustomization.yaml"]
    finally:
        for path in (folder, folder.parents[1] / "base"):
            path.chmod(0o755)


def test_a_build_that_fails_repeats_what_kustomize_says(folder: Path, kustomize: Path, tmp_path: Path) -> None:
    (folder / "kustomization.yaml").write_text("resources: [absent.yaml]\n")
    with pytest.raises(InvalidInput, match=r"absent\.yaml"):
        render(folder, kustomize, tmp_path / "cache", silent)
    assert not (tmp_path / "cache").exists()


def test_several_places_are_rendered_under_their_names_with_all_their_problems(
    folder: Path, kustomize: Path, tmp_path: Path
) -> None:
    good, bad = file(tmp_path, MAP), tmp_path / "bad.yaml"
    bad.write_text("- 1\n")
    found = Renderer(kustomize, tmp_path / "cache", silent).render({"z": folder, "a": good})
    assert [(name, len(objects)) for name, objects in found.items()] == [("z", 2), ("a", 1)]
    (folder / "kustomization.yaml").write_text("resources: [absent.yaml]\n")
    with pytest.raises(InvalidInput) as caught:
        Renderer(kustomize, tmp_path / "cache", silent).render({"z": folder, "a": bad, "b": good})
    assert len(caught.value.problems) == 2


def test_what_is_kept_does_not_depend_on_where_it_lies(folder: Path, kustomize: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    first = render(folder, kustomize, tmp_path / "cache", lines.append)
    shutil.copytree(folder.parents[1] / "base", tmp_path / "moved" / "base")
    shutil.copytree(folder, tmp_path / "moved" / "overlays" / "one")
    assert render(tmp_path / "moved" / "overlays" / "one", kustomize, tmp_path / "cache", lines.append) == first
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("git::file:///srv/base?ref=main", "transport 'file' not allowed"),
        ("http://base.invalid/map.yaml", r"127\.0\.0\.1:9: connect: connection refused"),
    ],
)
def test_a_build_opens_no_connection(folder: Path, kustomize: Path, tmp_path: Path, base: str, words: str) -> None:
    (folder / "kustomization.yaml").write_text(f"resources: ['{base}']\n")
    with pytest.raises(InvalidInput, match=words):
        render(folder, kustomize, tmp_path / "cache", silent)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("known", [True, False])
def test_the_program_is_verified_once_before_it_is_run(folder: Path, tmp_path: Path, *, known: bool) -> None:
    program, ran, asked = tmp_path / "kustomize", tmp_path / "ran", list[str]()
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat <<END\n{MAP}END\n")
    program.chmod(0o755)

    def verify() -> None:
        asked.append("again")
        if not known:
            raise InvalidInput(Problem("another program.", "the known one.", "put it there."))

    renderer = Renderer(program, tmp_path / "cache", silent, verify=verify)
    if known:
        for _ in range(2):
            assert [*renderer.render({"a": folder, "b": folder})] == ["a", "b"]
    else:
        with pytest.raises(InvalidInput, match="another program"):
            renderer.render({"a": folder, "b": folder})
    assert (asked, ran.exists()) == (["again"], known)


def test_builds_are_not_kept_where_others_may_change_them(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache/renders").mkdir(parents=True)
    (tmp_path / "cache/renders").chmod(0o777)
    with pytest.raises(InvalidInput, match="everybody may change"):
        render(folder, Path("/bin/true"), tmp_path / "cache", silent)
