"""Cases 43 and 44: what objects say reaches reports as text, cut, and without secrets."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.faults.kit import validators
from tests.integration.breaking import made, space
from tests.waiting import until

pytestmark = pytest.mark.cluster

BUSYBOX = "docker.io/library/busybox:1.36"
HOSTILE = "<script>document.title='owned'</script>\x1b[31m red ]]> | `rm`"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.c2VjcmV0LXZhbHVl.c2lnbmF0dXJl"  # noqa: S105  made up
PASSWORD = "hunter2-of-the-test"  # noqa: S105  made up
SCRIPT = f"""
printf '%s\\n' '{HOSTILE.replace("'", "")}' 'password={PASSWORD}' 'Authorization: Bearer {TOKEN}' >&2
head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo '{HOSTILE.replace("'", "")} password={PASSWORD}' >&2; exit 3
"""


@pytest.fixture
def crashing(cluster: Cluster) -> Iterator[str]:
    """A pod that says all of this and ends, again and again, with a secret in its environment."""
    container = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "DB_PASSWORD", "value": PASSWORD}, {"name": "API_TOKEN", "value": TOKEN}],
    }
    with space(cluster) as where:
        meta = {"name": "hostile", "namespace": where}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        body: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"password": PASSWORD}}
        with made(cluster, secret, body) as (_, item):
            until(lambda: "CrashLoopBackOff" in str((cluster.get(Ref.of(item)) or {}).get("status")))
            yield where


@pytest.mark.long
@pytest.mark.fault(43, 44)
def test_hostile_logs_are_escaped_cut_and_without_secrets_in_every_format(
    kubeconfig: Path, crashing: str, tmp_path: Path
) -> None:
    arguments = ("--kubeconfig", str(kubeconfig), "--report-dir", str(tmp_path), "--read-only", "--select", "C7")
    done = validators(*arguments, "--stability-seconds", "1")
    assert done.returncode in {0, 1}  # a warning where the pod is of a user
    written = {path: path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.suffix for path in written} >= {".json", ".html", ".xml"}
    assert crashing in written[tmp_path / "latest.json"]
    for text in (*written.values(), done.stdout, done.stderr):
        for secret in (PASSWORD, TOKEN):
            assert secret not in text
        assert len(text) < 700_000
        assert "\x1b[31m red" not in text
    for path, text in written.items():
        if path.suffix == ".json":
            json.loads(text)
        if path.suffix == ".xml":
            ET.fromstring(text)  # noqa: S314  the validation's own
        if path.suffix == ".html":
            scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
            assert not any("owned" in script for script in scripts)
    assert any("owned" in text for text in written.values())  # it was read, and is shown as text
