"""The CronJob of a validation on a schedule: its arguments are those of the run, and its rights what they need."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.scheduled import with_schedule
from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.read import load_component
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.plan.steps import scheduled_validation
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.validators.cli import rbac, scheduled
from kubeflow_volcano.validators.cli.parser import options
from kubeflow_volcano.validators.cli.parser import parse as parse_words
from kubeflow_volcano.validators.run.options import Options

IMAGE = "registry.example.org/kubeflow-volcano:1"
READING = Options(release="1.9.1", gang_scheduler="volcano", read_only=True, report_dir=Path("/reports"))


def of(**variables: Any) -> Settings:
    return with_schedule(parse({"validation_schedule_image": IMAGE} | variables))


def by_kind(settings: Settings) -> dict[str, Object]:
    (objects,) = settings.added.values()
    return {obj["kind"]: obj for obj in objects}


def container(settings: Settings) -> Object:
    found: Object
    (found,) = by_kind(settings)["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return found


def policies(objects: Any) -> dict[tuple[str, str], Any]:
    return {
        (obj["kind"], obj["metadata"].get("namespace", "")): obj["rules"] for obj in objects if "rules" in (obj or {})
    }


def test_without_a_schedule_there_is_nothing() -> None:
    assert of().added == {}
    assert scheduled_validation(of()) is None


@pytest.mark.parametrize(
    "chosen",
    [
        READING,
        replace(READING, profile=("volcano", "training-operator"), existing=("cert-manager",), strict=True),
        replace(READING, include=("katib",), exclude=("notebooks",), select=("A", "D1"), language="zh"),
        replace(
            READING, waive={"A4": "old nodes, until May"}, ignore_namespaces=("a", "b"), user_email="a@example.org"
        ),
        replace(READING, read_only=False, pause_image="r.example.org/pause:1", busybox_image="r.example.org/b:1"),
        replace(READING, storage_mode="static", extra_plugins=("vendor",), published_password=True),
    ],
)
def test_the_arguments_result_in_the_options_of_which_they_are_made(chosen: Options) -> None:
    assert options(parse_words([*scheduled.arguments_of(chosen)])) == chosen


def test_it_may_what_rbac_prints_for_the_same_run_and_no_more() -> None:
    objects = scheduled.objects(READING, "@daily", IMAGE)
    printed = [*yaml.safe_load_all(rbac.render(READING, f"{scheduled.NAMESPACE}/{scheduled.NAME}"))]
    assert policies(objects) == policies(printed)
    assert policies(objects)
    subjects = [obj["subjects"] for obj in objects if "subjects" in obj]
    who = {"kind": "ServiceAccount", "namespace": scheduled.NAMESPACE, "name": scheduled.NAME}
    assert subjects == [[who]] * len(subjects)


def test_a_run_that_reads_may_create_nothing_but_questions_about_rights() -> None:
    def created(settings: Settings) -> set[str]:
        found = policies(next(iter(settings.added.values()))).values()
        rules = [rule for rules in found for rule in rules]
        return {kind for rule in rules for kind in rule["resources"] if {*rule["verbs"]} - {"get", "list", "watch"}}

    assert created(of(validation_schedule="@daily")) == {"subjectaccessreviews"}
    assert {"pods", "namespaces"} <= created(of(validation_schedule="@daily", validation_schedule_probes=True))


def test_what_is_rolled_out_is_what_it_expects() -> None:
    settings = of(
        validation_schedule="@daily",
        validation_schedule_probes=True,
        kubeflow_version="1.9.1",
        validation_waivers={"A4": "old nodes"},
        image_mirror_mode="registry",
        image_mirror_registry="mirror.example.org",
    )
    found = options(parse_words([*container(settings)["args"]]))
    assert found.release == "1.9.1"
    assert found.profile == tuple(item.name for item in settings.components)
    assert found.volcano_version == settings.volcano.version
    assert found.waive == {"A4": "old nodes"}
    assert found.pause_image.startswith("mirror.example.org/")
    assert found.busybox_image.startswith("mirror.example.org/")
    assert not found.read_only


def test_its_pod_fits_the_level_restricted() -> None:
    found = container(of(validation_schedule="@daily"))
    assert found["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert shlex.join(found["command"]) == "kubeflow-volcano validate --quiet"


def test_the_plan_names_its_objects() -> None:
    settings = of(validation_schedule="0 6 * * *")
    found = scheduled_validation(settings)
    assert found is not None
    assert (found["schedule"], found["image"], found["probes"]) == ("0 6 * * *", IMAGE, False)
    assert f"CronJob {scheduled.NAMESPACE}/{scheduled.NAME}" in found["objects"]
    assert len(found["objects"]) == sum(map(len, settings.added.values()))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with an entry of the user: the catalog's Volcano under another version."""
    (tmp_path / "volcano").mkdir()
    text = (data.HOME / "volcano/1.15.1.yaml").read_text("utf-8").replace('version: "1.15.1"', 'version: "1.15.7"')
    (tmp_path / "volcano/1.15.7.yaml").write_text(text, "utf-8")
    return tmp_path


def test_the_users_entries_go_with_it(own: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = of(validation_schedule="@daily", catalog_directory=str(own), volcano_version="1.15.7")
    found = by_kind(settings)
    spec = found["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (volume,) = (item["configMap"] for item in spec["volumes"] if "configMap" in item)
    assert volume["name"] == found["ConfigMap"]["metadata"]["name"]
    # As a kubelet makes the volume: the files are in a hidden directory, and links lead there.
    mounted = tmp_path_factory.mktemp("mounted")
    for item in volume["items"]:
        place = mounted / "..2026_11_28" / item["path"]
        place.parent.mkdir(parents=True)
        place.write_text(found["ConfigMap"]["data"][item["key"]], "utf-8")
        (mounted / Path(item["path"]).parts[0]).symlink_to(place.parent)
    container = spec["containers"][0]
    (where,) = (item["mountPath"] for item in container["volumeMounts"] if item["name"] == "catalog")
    words = [word.replace(f"--catalog={where}", f"--catalog={mounted}") for word in container["args"]]
    assert options(parse_words(words)).volcano_version == "1.15.7"
    assert load_component("volcano", "1.15.7").entry == str(mounted / "volcano/1.15.7.yaml")


def test_entries_that_no_config_map_holds_are_refused(own: Path) -> None:
    with (own / "volcano/1.15.7.yaml").open("a", encoding="utf-8") as file:
        file.write("# a long comment\n" * 40_000)
    with pytest.raises(InvalidInput, match="entries in catalog_directory"):
        of(validation_schedule="@daily", catalog_directory=str(own), volcano_version="1.15.7")


def test_without_entries_of_the_user_there_is_no_config_map() -> None:
    assert "ConfigMap" not in by_kind(of(validation_schedule="@daily"))
