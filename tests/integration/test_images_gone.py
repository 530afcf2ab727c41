"""Images that no registry has, on a real API server: refused with nothing written."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.prepare import prepare
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from tests.integration.test_examples import archive_of
from tests.kustomize_tool import kustomize_of

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every request that could change something: neither a read nor a dry run nor a question about rights."""
    found: list[str] = []
    send = urllib3.PoolManager.request

    def request(self: urllib3.PoolManager, method: str, url: str, *args: Any, **named: Any) -> Any:
        if method not in {"GET", "HEAD"} and "dryRun=All" not in url and "accessreviews" not in url:
            found.append(f"{method} {url}")
        return send(self, method, url, *args, **named)

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    return found


def test_a_refusal_of_images_writes_nothing(cluster: Cluster, written: list[str]) -> None:
    settings = parse(
        {
            "kubeflow_release": "1.9.1",
            "kubeflow_components": ["pipelines"],
            "kubeflow_source": str(archive_of("1.9.1")),
            "kustomize_binary": str(kustomize_of("1.30")),
            "local_path_storage_mode": "existing",
            "image_mirror_catalog_overrides": False,
        }
    )
    with pytest.raises(InvalidInput) as caught:
        prepare(cluster, settings, scope_of(settings), check=False, progress=silent)
    (gone,) = [problem for problem in caught.value.problems if "gone from the registry" in problem.found]
    assert "gcr.io/ml-pipeline/api-server:2.3.0" in gone.found
    assert "kubeflow_exclude: [pipelines]" in gone.todo
    assert written == []
