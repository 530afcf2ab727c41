"""The pipeline to upload, in both forms: what its steps do, its images, and that the file is what kfp makes of it."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.examples import (
    ARGO_PIPELINE,
    HOME,
    PIPELINE,
    UPLOADS,
    example_images,
    examples,
    load_example,
    load_upload,
)

SOURCE = HOME / f"{PIPELINE}.py"
STEPS = ("train", "predict", "print-prediction")
SAID = "Trained on 10 rows: **x = 12, y = 25**\nx = 12, y = 25\n"


def executors() -> dict[str, Any]:
    pipeline, _ = load_upload(PIPELINE)
    found: dict[str, Any] = pipeline["deploymentSpec"]["executors"]
    return {name.removeprefix("exec-"): item["container"] for name, item in found.items()}


def templates() -> dict[str, Any]:
    (workflow,) = load_upload(ARGO_PIPELINE)
    return {item["name"]: item for item in workflow["spec"]["templates"]}


def run(script: str, arguments: Sequence[Any]) -> str:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_they_are_no_examples_for_kubectl() -> None:
    assert not {item.name for item in examples()} & {*UPLOADS}


def test_their_images_are_renamed_as_those_of_examples_and_what_is_none_is_not() -> None:
    (image,) = {step["image"] for name, step in executors().items() if name != "createpvc"}
    assert image in example_images()
    assert {item["container"]["image"] for item in templates().values() if "container" in item} == {image}
    assert image == load_example("pipeline").objects[-1]["spec"]["templates"][1]["container"]["image"]
    assert executors()["createpvc"]["image"] == "argostub/createpvc"
    assert not any(name.startswith("argostub") for name in example_images())


def test_the_steps_are_the_scripts_of_the_source() -> None:
    texts = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    wanted = {"train": "TRAIN", "predict": "PREDICT", "print-prediction": "PRINT"}
    assert {name: executors()[name]["command"][-1] for name in wanted} == {
        name: texts[constant] for name, constant in wanted.items()
    }
    assert all("{{" not in text for text in texts.values()), "what Argo and Pipelines replace"


def test_only_the_claim_comes_from_the_cache_and_its_class_and_name_are_parameters() -> None:
    root = load_upload(PIPELINE)[0]["root"]
    caching = {name: task["cachingOptions"].get("enableCache", False) for name, task in root["dag"]["tasks"].items()}
    assert caching == {"createpvc": True, "train": False, "predict": False, "print-prediction": False}
    assert {*root["inputDefinitions"]["parameters"]} == {"storage_class", "suffix"}
    (workflow,) = load_upload(ARGO_PIPELINE)
    assert {item["name"] for item in workflow["spec"]["arguments"]["parameters"]} == {"storage_class", "suffix"}


@pytest.mark.programs
def test_the_steps_hand_files_on_and_write_metrics(tmp_path: Path) -> None:
    work, model, report, told = (tmp_path / name for name in ("work", "model", "report", "told"))
    work.mkdir()
    metrics = {"name": "metrics", "uri": "s3://bucket/metrics", "type": {"schemaTitle": "system.Metrics"}}
    asked = {"outputs": {"artifacts": {"metrics": {"artifacts": [metrics]}}, "outputFile": str(told)}}
    given: Mapping[str, tuple[Any, ...]] = {
        "train": (model, json.dumps(asked)),
        "predict": (model, report),
        "print-prediction": (report,),
    }
    said = [run(executors()[name]["command"][-1], (work, *given[name])) for name in STEPS]
    assert said == ["", "", SAID]
    (told_of,) = json.loads(told.read_text())["artifacts"]["metrics"]["artifacts"]
    assert told_of == {
        "name": "metrics",
        "uri": "s3://bucket/metrics",
        "metadata": {"slope": 2.0, "intercept": 1.0, "largest error": 0.0},
    }


@pytest.mark.programs
def test_the_steps_of_the_form_of_argo_do_the_same(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    written = {
        "/work": tmp_path / "work",
        "/tmp/outputs": tmp_path,  # noqa: S108  a path in the step
        "/tmp/inputs": tmp_path,  # noqa: S108  as above
    }
    said = ""
    for name in STEPS:
        script, *arguments = templates()[name]["container"]["args"]
        for path, here in written.items():
            arguments = [item.replace(path, str(here)) for item in arguments]
        said = run(script, arguments)
    assert said == SAID
    found = json.loads((tmp_path / "mlpipeline_metrics" / "data").read_text())["metrics"]
    assert {item["name"]: item["numberValue"] for item in found} == {
        "slope": 2.0,
        "intercept": 1.0,
        "largest-error": 0.0,
    }
    (page,) = json.loads((tmp_path / "mlpipeline_ui_metadata" / "data").read_text())["outputs"]
    assert page["source"] in SAID


def test_the_file_is_what_kfp_makes_of_the_source(tmp_path: Path) -> None:
    kfp = pytest.importorskip("kfp", reason="kfp has dependencies in other versions, so it is not installed here")
    pytest.importorskip("kfp.kubernetes", reason="kfp-kubernetes is not installed")
    committed = load_upload(PIPELINE)[0]["sdkVersion"]
    if committed != f"kfp-{kfp.__version__}":
        pytest.skip(f"kfp {kfp.__version__} is not {committed}, which wrote the file")
    spec = importlib.util.spec_from_file_location("train_and_predict", SOURCE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(tmp_path / "made.yaml")
    assert (tmp_path / "made.yaml").read_text() == (HOME / f"{PIPELINE}.yaml").read_text()
