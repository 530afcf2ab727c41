"""Case 42: an address of IPv6, and a cluster of 500 nodes with 10,000 pods, served page by page before a real one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from tests.bench.crowd import Crowd
from tests.faults.kit import said_by
from tests.faults.proxy import Asked, Fault, proxied
from tests.integration.breaking import bad, judge

pytestmark = pytest.mark.cluster

CROWD = Crowd(nodes=500)
MOST_MIB, MOST_SECONDS, MOST_ITEMS = 300, 60, 1000
SINCE = "2026-01-01T00:00:00Z"


@pytest.mark.fault(42)
def test_a_server_with_an_address_of_ipv6_is_judged(kubeconfig: Path, tmp_path: Path) -> None:
    with proxied(kubeconfig, tmp_path, "::1") as (proxy, cluster):
        assert bad(judge(tmp_path / "through-the-proxy.json", "B1", "C2", "F1", seconds=1)) == {}
        assert cluster.list("v1", "Node").items
        assert proxy.asked


class Lists:
    """Lists of a large cluster in pages, as an API server gives them."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.pages: list[int] = []
        self.lists: dict[str, list[Object]] = {"/api/v1/nodes": [], "/api/v1/pods": []}
        made_up = {"/api/v1/nodes": CROWD.all_nodes(), "/api/v1/pods": CROWD.all_pods()}
        for path, items in made_up.items():
            for number, item in enumerate(items):
                item["metadata"] |= {"uid": f"{path}-{number}", "creationTimestamp": SINCE, "resourceVersion": "1"}
                self.lists[path].append(item)

    def plan(self, asked: Asked) -> Fault | None:
        """A page of a list of these; everything else is the real server's."""
        address = urlsplit(asked.path)
        items = self.lists.get(address.path)
        if items is None or asked.method != "GET" or asked.watches:
            return None
        query = dict(parse_qsl(address.query))
        start, limit = int(query.get("continue", 0)), int(query.get("limit", 0)) or len(items)
        page = items[start : start + limit]
        self.pages.append(len(page))
        rest = len(items) - start - len(page)
        meta = {"resourceVersion": self.version} | ({"continue": str(start + limit)} if rest else {})
        kind = "PodList" if address.path.endswith("pods") else "NodeList"
        return Fault(200, {"apiVersion": "v1", "kind": kind, "metadata": meta, "items": page})


@pytest.mark.long
@pytest.mark.fault(42)
def test_ten_thousand_pods_are_judged_in_a_minute_and_little_memory(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    large = Lists(cluster.list("v1", "Namespace").resource_version)
    with proxied(kubeconfig, tmp_path) as (proxy, _):
        proxy.plan = large.plan
        place = tmp_path / "through-the-proxy.json"
        done = said_by([sys.executable, "-m", "tests.bench.judging", place, "1.9.1", tmp_path / "listed"], {})
    facts = json.loads(done.stdout)
    assert facts["peak_mib"] < MOST_MIB
    assert facts["seconds"] < MOST_SECONDS
    assert sum(large.pages) >= CROWD.nodes + CROWD.pods
    assert max(large.pages) <= MOST_ITEMS
