"""A script for an environment with kfp 1 or 2: the life of a pipeline by its client, step by step as check J9 has it.

Arguments: address, token, namespace, the name of everything, the file of the pipeline, and parameters as JSON. The last
line is a list in JSON of what kfp read of the answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

import kfp
from kfp_server_api import ApiClient

_SECONDS = 60


def by_kfp_1(client: Any, namespace: str, name: str, package: str, parameters: Mapping[str, str]) -> Iterator[Any]:
    """All of it through v1beta1."""
    yield client.get_kfp_healthz()
    yield (experiment := client.create_experiment(name, namespace=namespace))
    yield (pipeline := client.upload_pipeline(package, name))
    yield (versions := client.list_pipeline_versions(pipeline.id))
    (version,) = versions.versions
    yield (run := client.run_pipeline(experiment.id, name, params=parameters, version_id=version.id))
    yield client.wait_for_run_completion(run.id, _SECONDS)
    client.runs.delete_run(run.id)  # for which kfp 1 has no method of its own
    client.delete_pipeline_version(version.id)
    client.delete_pipeline(pipeline.id)
    client.delete_experiment(experiment.id)


def by_kfp_2(client: Any, namespace: str, name: str, package: str, parameters: Mapping[str, str]) -> Iterator[Any]:
    """All of it through v2beta1."""
    yield client.get_kfp_healthz()
    yield (experiment := client.create_experiment(name, namespace=namespace))
    yield (pipeline := client.upload_pipeline(package, name, namespace=namespace))
    yield (versions := client.list_pipeline_versions(pipeline.pipeline_id))
    (version,) = versions.pipeline_versions
    of_pipeline = {"pipeline_id": pipeline.pipeline_id, "version_id": version.pipeline_version_id}
    yield (run := client.run_pipeline(experiment.experiment_id, name, params=parameters, **of_pipeline))
    yield client.wait_for_run_completion(run.run_id, _SECONDS)
    client.delete_run(run.run_id)
    client.delete_pipeline_version(pipeline.pipeline_id, version.pipeline_version_id)
    client.delete_pipeline(pipeline.pipeline_id)
    client.delete_experiment(experiment.experiment_id)


def main(host: str, token: str, namespace: str, *names: str) -> None:
    """Print what was read."""
    name, package, parameters = names
    client = kfp.Client(host=host, existing_token=token, namespace=namespace)
    lead = by_kfp_1 if kfp.__version__.startswith("1.") else by_kfp_2
    with patch("time.sleep"):
        read = [*lead(client, namespace, name, package, json.loads(parameters))]
    print(json.dumps(ApiClient().sanitize_for_serialization(read)))  # noqa: T201  a program's answer


if __name__ == "__main__":
    main(*sys.argv[1:])
