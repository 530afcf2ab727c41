"""A pipeline to upload: create a claim, train, predict, print. `train_and_predict.yaml` is what kfp makes of it.

In an environment of its own, because kfp asks for other versions of its dependencies than this project does:

    pip install kfp==2.3.0 kfp-kubernetes==1.0.0
    python examples/train_and_predict.py

These versions write what every Pipelines from 2.3.0 on reads. The steps are containers with a script of the standard
library: steps that are Python functions install kfp from the internet when they start.
"""

from pathlib import Path
from typing import Any

from kfp import compiler, dsl, kubernetes

IMAGE = "docker.io/library/python:3.11-slim"
WORK = "/work"

TRAIN = """\
import json, statistics, sys

work, model, executor_input = sys.argv[1:]
rows = [(x, 2 * x + 1) for x in range(10)]
with open(f"{work}/data.csv", "w") as file:
    file.writelines(f"{x},{y}\\n" for x, y in rows)
slope, intercept = statistics.linear_regression(*zip(*rows))
worst = max(abs(y - slope * x - intercept) for x, y in rows)
with open(model, "w") as file:
    json.dump({"slope": slope, "intercept": intercept}, file)

# What a page of the run shows as metrics is metadata of the artifact, which goes through this file.
outputs = json.loads(executor_input)["outputs"]
(metrics,) = outputs["artifacts"]["metrics"]["artifacts"]
metrics["metadata"] = {"slope": slope, "intercept": intercept, "largest error": worst}
said = {key: metrics[key] for key in ("name", "uri", "metadata")}
with open(outputs["outputFile"], "w") as file:
    json.dump({"artifacts": {"metrics": {"artifacts": [said]}}}, file)
"""

PREDICT = """\
import json, sys

work, model, report = sys.argv[1:]
known = json.load(open(model))
seen = len(open(f"{work}/data.csv").readlines())
line = f"x = 12, y = {known['slope'] * 12 + known['intercept']:.0f}"
with open(f"{work}/prediction.txt", "w") as file:
    file.write(line)
with open(report, "w") as file:
    file.write(f"Trained on {seen} rows: **{line}**")
"""

PRINT = """\
import sys

work, report = sys.argv[1:]
print(open(report).read())
print(open(f"{work}/prediction.txt").read())
"""


def _step(script: str, *arguments: Any) -> dsl.ContainerSpec:
    return dsl.ContainerSpec(image=IMAGE, command=["python", "-c", script], args=[WORK, *arguments])


def train(model: dsl.Output[dsl.Model], metrics: dsl.Output[dsl.Metrics]) -> dsl.ContainerSpec:  # noqa: ARG001  the script writes it
    """Data on the claim, a model and its metrics; `{{$}}` is where Pipelines puts what it expects of the step."""
    return _step(TRAIN, model.path, "{{$}}")


def predict(model: dsl.Input[dsl.Model], report: dsl.Output[dsl.Markdown]) -> dsl.ContainerSpec:
    """A prediction on the claim, and a page about it."""
    return _step(PREDICT, model.path, report.path)


def print_prediction(report: dsl.Input[dsl.Markdown]) -> dsl.ContainerSpec:
    """Both in the log."""
    return _step(PRINT, report.path)


def train_and_predict(storage_class: str = "local-path", suffix: str = "-train-and-predict") -> None:
    """Four steps over one claim, whose name ends with the suffix; it stays until someone deletes it."""
    # With caching off, Pipelines up to 2.3.0 cannot create a claim (kubeflow/pipelines#10188). Its name is new each
    # time, so no claim comes from the cache. Without a class in the pipeline, it would be one called "standard".
    claim = kubernetes.CreatePVC(
        pvc_name_suffix=suffix, access_modes=["ReadWriteOnce"], size="1Gi", storage_class_name=storage_class
    )
    trained = dsl.container_component(train)()
    predicted = dsl.container_component(predict)(model=trained.outputs["model"])
    printed = dsl.container_component(print_prediction)(report=predicted.outputs["report"])
    for task in (trained, predicted, printed):
        # What a step leaves on the claim is not in the cache.
        task.set_caching_options(enable_caching=False)
        task.set_cpu_request("100m").set_memory_request("64Mi")
        kubernetes.mount_pvc(task, pvc_name=claim.outputs["name"], mount_path=WORK)


def write(path: Path) -> None:
    """Compile the pipeline into this file."""
    pipeline = dsl.pipeline(name="train-and-predict", description="Four steps over one claim.")(train_and_predict)
    compiler.Compiler().compile(pipeline, str(path))


if __name__ == "__main__":
    write(Path(__file__).with_suffix(".yaml"))
