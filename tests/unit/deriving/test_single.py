"""Entries of Volcano and of the local path provisioner are what is derived of upstream's manifests."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.catalog.read import load_component, versions_of
from kubeflow_volcano.deriving.cli import main
from kubeflow_volcano.deriving.entry import DERIVED, judged_text
from kubeflow_volcano.deriving.single import (
    CHART,
    PLUGINS,
    PROGRAMS,
    SINGLE,
    Single,
    derive_single,
    in_tree,
    objects_of,
)
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.patches.volcano import CONFIGURATION
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.validators.checks.volcano.volcano import gang_plugin
from kubeflow_volcano.validators.core.expectations import expect
from kubeflow_volcano.validators.core.outcome import Status
from tests.archives import manifest_of
from tests.samples.facts import facts

ENTRIES = [(kind, version) for kind in SINGLE for version in versions_of(kind.name)]


def at_hand(component: str, version: str) -> Path:
    found = manifest_of(component, version)
    if not found.is_file():
        pytest.skip(f"no {found}; KFV_TEST_ARCHIVES names the directory of others")
    return found


def plugins(root: Path, version: str) -> Path:
    """A tree of scheduler-plugins, as far as its chart names images."""
    chart = root / CHART
    chart.mkdir(parents=True)
    controller, scheduler = (f"{PLUGINS.images}{name}:v{version}" for name in PROGRAMS)
    values = {"scheduler": {"image": scheduler, "replicaCount": 1}, "controller": {"image": controller}}
    (chart / "values.yaml").write_text(yaml.safe_dump(values), "utf-8")
    return root


@pytest.mark.parametrize(("kind", "version"), ENTRIES, ids=lambda item: getattr(item, "name", item))
def test_an_entry_that_was_taken_out_is_derived_again(kind: Single, version: str, tmp_path: Path) -> None:
    tree = plugins(tmp_path, version) if kind is PLUGINS else tmp_path
    if kind is not PLUGINS:
        place = tree / kind.path
        place.parent.mkdir()
        place.write_bytes(objects_of(at_hand(kind.name, version))[0])
    found = in_tree(tree)
    assert found
    derived = derive_single(*found)
    *judged, written = foreign.parse((data.HOME / kind.folder / f"{version}.yaml").read_bytes(), version)
    assert written == derived
    assert [[*part] for part in judged] == ([] if kind is PLUGINS else [["kubernetes"]])


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
    assert re.search("queue_fields: .*dequeueStrategy; .*newField", told)
    assert re.search(r"1\.15\.1 brings nothing", told)
    assert "kubernetes" in told.partition("To be judged")[2]
    given = {"kubeflow_release": "26.03.1", "volcano_version": "1.16.1"}
    with pytest.raises(InvalidInput, match=r"volcano_version: .*1\.16\.1"):
        parse(given)
    given["catalog_directory"] = str(entries)
    settings = parse(given | {"volcano_queues": [{"name": "a", "newField": 3}]})
    assert settings.volcano.kubernetes == load_component("volcano", "1.15.1").kubernetes
    (note,) = settings.own_entries
    assert note.startswith("Volcano 1.16.1 ")
    assert str(settings.volcano.entry) in note
    with pytest.raises(InvalidInput, match=r"dequeueStrategy .*queue a"):
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


def test_an_older_version_is_derived_like_the_one_before_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = at_hand("volcano", "1.10.0")
    arguments = ["derive", str(manifest), "--version", "1.12.9", "--catalog", str(tmp_path)]
    assert main(arguments) == 0
    assert "Compared with 1.12.2:" in capsys.readouterr().err
    assert main([*arguments, "--like", "1.15.1"]) == 0
    assert "from 1.12.9 to 1.15.1" in capsys.readouterr().err
    derived = load(tmp_path / "volcano/1.12.9.yaml")
    assert derived["address"] is None  # images say that upstream's tag is another one
    assert "1.12.9" in derived["manifests"]


def load(entry: Path) -> dict[str, Any]:
    found: dict[str, Any] = data.merged(foreign.parse(entry.read_bytes(), entry.name))
    return found


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--version", "../../x"], "numbers with dots"),
        (["--version", "latest"], "numbers with dots"),
        ([], "which the catalog has"),
        (["--version", "1.10.9", "--catalog", "file"], "may write"),
    ],
)
def test_what_cannot_be_used_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    manifest = at_hand("volcano", "1.10.0")
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert main(["derive", str(manifest), "--catalog", "catalog", *more]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["file"]


VENDORS_PLUGIN = "volcano-npu_v7.0_linux-aarch64"
VENDORS = f"""\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}, {{name: {VENDORS_PLUGIN}}}]
- plugins: [{{name: drf}}, {{name: predicates}}, {{name: proportion}}, {{name: nodeorder}}]
configurations:
- name: init-params
  arguments: {{grace-over-time: "900", presetVirtualDevice: "true"}}
"""


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vendor's build of Volcano 1.10.0: images, a directory of plugins, parameters, as those for NPUs have them."""
    objects = objects_of(at_hand("volcano", "1.10.0"))[1]
    for obj in objects:
        if obj["kind"] == "ConfigMap" and CONFIGURATION in obj["data"]:
            obj["data"][CONFIGURATION] = VENDORS
        for container in obj["spec"]["template"]["spec"]["containers"] if obj["kind"] in {"Deployment", "Job"} else ():
            name = container["image"].rpartition("/")[2].partition(":")[0]
            container["image"] = f"swr.example.com/ascend/{name}:v7.0"
            if name == "vc-scheduler":
                container["args"].append("--plugins-dir=plugins")
    file = tmp_path_factory.mktemp("vendor") / "vendor.yaml"
    file.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper), "utf-8")
    return file


def of_vendor(vendors: Path, **more: Any) -> Settings:
    own = vendors.parent / "own"
    if not own.is_dir():
        assert main(["derive", str(vendors), "--version", "1.10.0-npu", "--like", "1.10.0", "--catalog", str(own)]) == 0
    return parse(
        {
            "catalog_directory": str(own),
            "volcano_version": "1.10.0-npu",
            "volcano_source": str(vendors),
            "kubeflow_components": ["volcano"],
            **more,
        }
    )


def test_a_vendors_build_is_one_entry_with_its_own_images(vendors: Path) -> None:
    settings = of_vendor(vendors)
    images = {image for of in settings.volcano.images.values() for image in of.values()}
    assert images == {
        f"swr.example.com/ascend/vc-{name}:v7.0" for name in ("scheduler", "controller-manager", "webhook-manager")
    }
    assert settings.volcano.address is None
    assert settings.volcano.kubernetes == load_component("volcano", "1.10.0").kubernetes


def test_a_vendors_build_under_upstreams_names_of_images_is_at_no_address_of_upstream(
    vendors: Path, tmp_path: Path
) -> None:
    text = vendors.read_text("utf-8").replace("swr.example.com/ascend/", "docker.io/volcanosh/")
    (tmp_path / vendors.name).write_text(text, "utf-8")
    assert of_vendor(tmp_path / vendors.name).volcano.address is None


def test_a_vendors_build_is_rolled_out_with_its_plugins_and_parameters(vendors: Path) -> None:
    found = desired(of_vendor(vendors), of_vendor(vendors).components, silent)
    by_name = {(obj["kind"], obj["metadata"]["name"]): obj for obj in found.parts["volcano"]}
    (scheduler,) = by_name["Deployment", "volcano-scheduler"]["spec"]["template"]["spec"]["containers"]
    assert scheduler["image"] == "swr.example.com/ascend/vc-scheduler:v7.0"
    assert "--plugins-dir=plugins" in scheduler["args"]
    assert by_name["ConfigMap", "volcano-scheduler-configmap"]["data"][CONFIGURATION] == VENDORS
    assert not found.images.problems


def test_plugins_of_a_vendors_build_are_known_by_its_entry(vendors: Path) -> None:
    tiers = [{"plugins": [{"name": "gang"}, {"name": VENDORS_PLUGIN}, {"name": "predicates"}, {"name": "capacity"}]}]
    settings = of_vendor(vendors, volcano_scheduler_tiers=tiers)
    (text,) = (
        obj["data"][CONFIGURATION]
        for obj in desired(settings, settings.components, silent).parts["volcano"]
        if obj["kind"] == "ConfigMap" and CONFIGURATION in obj["data"]
    )
    written = yaml.safe_load(text)
    assert [item["name"] for tier in written["tiers"] for item in tier["plugins"]][1] == VENDORS_PLUGIN
    assert written["configurations"] == yaml.safe_load(VENDORS)["configurations"]
    with pytest.raises(InvalidInput, match=VENDORS_PLUGIN):
        parse({"volcano_version": "1.10.0", "volcano_scheduler_tiers": tiers})


def test_a_vendors_build_is_validated_by_its_entry(vendors: Path) -> None:
    settings = of_vendor(vendors)
    parts = desired(settings, settings.components, silent).parts["volcano"]
    expected = expect("1.9.1", ["volcano"], volcano_version="1.10.0-npu")
    assert expected.extra_plugins == (VENDORS_PLUGIN,)
    assert "swr.example.com/ascend/vc-scheduler:v7.0" in expected.images.values()
    live = [obj for obj in parts if obj["kind"] in {"Deployment", "ConfigMap"}]
    outcome = gang_plugin(facts(*live, expected=expected))
    assert outcome.status is Status.PASS


GROUPS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.volcano.sh"},
}


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}], "manifest of no component"),
        ([{"kind": "ConfigMap"}], "has no apiVersion, metadata.name"),
        ([GROUPS | {"spec": {"versions": 7}}], "not those of their kinds"),
        ([GROUPS | {"spec": {"versions": []}}], "no version"),
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


@pytest.mark.parametrize("what", ["tree", "archive"])
def test_a_tree_or_archive_of_volcano_is_derived_by_its_installer(what: str, tmp_path: Path) -> None:
    tree = tmp_path / "volcano-1.16.1"
    (tree / "installer").mkdir(parents=True)
    raw = objects_of(at_hand("volcano", "1.15.1"))[0].replace(b":v1.15.1", b":latest")
    (tree / "installer/volcano-development.yaml").write_bytes(raw)
    source = Path(shutil.make_archive(str(tmp_path / "a"), "gztar", tmp_path, tree.name)) if what == "archive" else tree
    assert main(["derive", str(source), "--catalog", str(tmp_path / "own")]) == 0
    settings = parse({"catalog_directory": str(tmp_path / "own"), "volcano_version": "1.16.1"})
    assert settings.sources["volcano"].startswith(
        "https://raw.githubusercontent.com/volcano-sh/volcano/v1.16.1/installer/volcano-development.yaml#sha256="
    )


def test_a_directory_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", str(tmp_path)]) == 2
    assert "example/kustomization.yaml" in capsys.readouterr().err


def test_scheduler_plugins_of_an_entry_of_ones_own_get_its_images(tmp_path: Path, kustomize: Path) -> None:
    own = tmp_path / "own"
    assert main(["derive", str(plugins(tmp_path / "tree", "0.35.2")), "--catalog", str(own)]) == 0
    settings = parse(
        {
            "catalog_directory": str(own),
            "gang_scheduling_scheduler": "scheduler-plugins",
            "scheduler_plugins_version": "0.35.2",
            "kubeflow_components": ["scheduler-plugins"],
            "kustomize_binary": str(kustomize),
        }
    )
    assert settings.scheduler_plugins.kubernetes == MinorRange("1.35", "1.36")
    found = desired(settings, settings.components, silent).parts["scheduler-plugins"]
    pods = [obj["spec"]["template"]["spec"] for obj in found if obj["kind"] == "Deployment"]
    assert {item["image"] for pod in pods for item in pod["containers"]} == {
        f"registry.k8s.io/scheduler-plugins/{name}:v0.35.2" for name in PROGRAMS
    }
