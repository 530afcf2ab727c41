"""Entries of Volcano and of the local path provisioner are what is derived of upstream's manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.read import load_component, versions_of
from kubeflow_volcano.deriving.cli import main
from kubeflow_volcano.deriving.entry import DERIVED, judged_text
from kubeflow_volcano.deriving.single import SINGLE, Single, derive_single, objects_of
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.settings import parse
from tests.archives import manifest_of

ENTRIES = [(kind, version) for kind in SINGLE for version in versions_of(kind.name)]


def at_hand(component: str, version: str) -> Path:
    found = manifest_of(component, version)
    if not found.is_file():
        pytest.skip(f"no {found}; KFV_TEST_ARCHIVES names the directory of others")
    return found


@pytest.mark.parametrize(("kind", "version"), ENTRIES, ids=lambda item: getattr(item, "name", item))
def test_an_entry_that_was_taken_out_is_derived_again(kind: Single, version: str) -> None:
    derived = derive_single(kind, *objects_of(at_hand(kind.name, version)))
    judged, written = foreign.parse((data.HOME / kind.folder / f"{version}.yaml").read_bytes(), version)
    assert written == derived
    assert [*judged] == ["kubernetes"]


def test_a_version_that_is_not_listed_is_installed_with_an_entry_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = at_hand("volcano", "1.15.1")
    newer = tmp_path / "volcano.yaml"
    newer.write_bytes(
        objects_of(manifest)[0].replace(b":v1.15.1", b":v1.16.1").replace(b"dequeueStrategy", b"newField")
    )
    entries = tmp_path / "catalog"
    assert main(["derive", str(newer), "--catalog", str(entries)]) == 0
    told = capsys.readouterr().err
    assert "queue_fields: without dequeueStrategy; with newField" in told
    assert "kubernetes" in told.partition("To be judged")[2]
    given = {"kubeflow_release": "26.03.1", "volcano_version": "1.16.1"}
    with pytest.raises(InvalidInput, match=r"volcano_version: .*1\.16\.1"):
        parse(given)
    given["catalog_directory"] = str(entries)
    settings = parse(given | {"volcano_queues": [{"name": "a", "newField": 3}]})
    assert settings.volcano.kubernetes == load_component("volcano", "1.15.1").kubernetes
    assert settings.own_entries == (f"Volcano 1.16.1 is described by an entry of yours, {settings.volcano.entry}.",)
    with pytest.raises(InvalidInput, match="dequeueStrategy of queue a"):
        parse(given | {"volcano_queues": [{"name": "a", "dequeueStrategy": "fifo"}]})
    with pytest.raises(InvalidInput, match="volcano_version"):
        parse({"volcano_version": "1.16.1"})  # and no trace is left of the entry


def test_a_later_derive_keeps_what_a_person_judged(tmp_path: Path) -> None:
    manifest = at_hand("volcano", "1.15.1")
    entry = tmp_path / "volcano" / "1.15.9.yaml"
    arguments = ["derive", str(manifest), "--version", "1.15.9", "--catalog", str(tmp_path)]
    assert main(arguments) == 0
    judged = '# Read in its README.\nkubernetes: {lowest: "1.30", highest: null}  # as tried\n'
    text = entry.read_text("utf-8")
    entry.write_text(f"---\n{judged}---\n{DERIVED}\nobjects: 1\n", "utf-8")
    assert main(arguments) == 0
    assert judged_text(entry.read_text("utf-8")) == judged
    assert entry.read_text("utf-8").partition(DERIVED)[2] == text.partition(DERIVED)[2]


def test_a_vendors_build_is_one_entry_with_its_own_images(tmp_path: Path) -> None:
    raw = objects_of(at_hand("volcano", "1.10.0"))[0]
    vendor = tmp_path / "vendor.yaml"
    vendor.write_bytes(raw.replace(b"docker.io/volcanosh/", b"swr.example.com/ascend/").replace(b":v1.10.0", b":v7.0"))
    assert main(["derive", str(vendor), "--version", "1.10.0-npu", "--catalog", str(tmp_path / "own")]) == 0
    settings = parse(
        {
            "catalog_directory": str(tmp_path / "own"),
            "volcano_version": "1.10.0-npu",
            "volcano_source": str(vendor),
        }
    )
    images = {image for of in settings.volcano.images.values() for image in of.values()}
    assert images == {
        f"swr.example.com/ascend/vc-{name}:v7.0" for name in ("scheduler", "controller-manager", "webhook-manager")
    }
    assert settings.volcano.address is None


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([{"kind": "ConfigMap", "metadata": {"name": "a"}}], "manifest of no component"),
        ([{"kind": "ConfigMap"}], "without kind or name"),
        ("text: [", "YAML"),
    ],
)
def test_what_is_no_manifest_of_a_component_is_refused(
    documents: list[Any] | str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source.yaml"
    source.write_text(documents if isinstance(documents, str) else yaml.safe_dump_all(documents), "utf-8")
    assert main(["derive", str(source)]) == 2
    assert told in capsys.readouterr().err
