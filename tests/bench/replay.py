"""The reference for speed: a bare parallel replay of a render, in strict waves, without any care for the outcome.

python tests/bench/replay.py KUBECONFIG RENDER

Namespaces; CRDs, until all are served; what is configuration; Services; workloads; custom resources. Each wave is sent
by 8 threads with kept connections, and the next begins when the last of it is accepted. It reads nothing that it does
not need, waits for no pod and no webhook, and sends an object that is refused again every half second.
Prints one line of JSON with the seconds from the first request to the last answer.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_THREADS = 8
_PATIENCE_SECONDS = 120.0
_PAUSE_SECONDS = 0.5
_POLL_SECONDS = 0.2
_WORKLOADS = {"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "StatefulSet"}
Object = dict[str, Any]


class Replay:
    """One replay against one API server."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._host = urlsplit(cluster["server"]).netloc
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile("wb") as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pair.flush()
            self._context.load_cert_chain(pair.name)
        self._local = threading.local()
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}
        self.sent_again = 0

    def run(self, objects: list[Object]) -> None:
        """Send everything."""
        with ThreadPoolExecutor(_THREADS) as pool:
            for wave in _waves(objects):
                self._discover({obj["apiVersion"]: set() for obj in wave})
                list(pool.map(self._send, wave))
                self._discover(_defined(wave))

    def _discover(self, wanted: dict[str, set[str]]) -> None:
        """Learn the paths of group versions, each as soon as it serves the wanted kinds."""
        for version, kinds in wanted.items():
            known = {kind for other, kind in self._plurals if other == version}
            until = time.monotonic() + _PATIENCE_SECONDS
            while not known or not kinds <= known:
                status, answer = self._request("GET", _root(version))
                if status == HTTPStatus.OK:
                    for item in answer["resources"]:
                        if "/" not in item["name"]:
                            self._plurals[version, item["kind"]] = (item["name"], item["namespaced"])
                            known.add(item["kind"])
                if time.monotonic() > until:
                    raise SystemExit(f"{version} does not serve {kinds - known}")
                if not known or not kinds <= known:
                    time.sleep(_POLL_SECONDS)

    def _send(self, obj: Object) -> None:
        plural, namespaced = self._plurals[obj["apiVersion"], obj["kind"]]
        meta = obj["metadata"]
        scope = f"/namespaces/{meta.get('namespace', 'default')}" if namespaced else ""
        path = f"{_root(obj['apiVersion'])}{scope}/{plural}/{meta['name']}?fieldManager=replay&force=true"
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            status, answer = self._request("PATCH", path, json.dumps(obj))
            if status < HTTPStatus.MULTIPLE_CHOICES:
                return
            if time.monotonic() > until:
                raise SystemExit(f"{path}: {status} {answer.get('message')}")
            self.sent_again += 1
            time.sleep(_PAUSE_SECONDS)

    def _request(self, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPSConnection(self._host, context=self._context, timeout=60)
        connection: http.client.HTTPSConnection = self._local.connection
        headers = {"Content-Type": "application/apply-patch+yaml"} if body else {}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if response.headers.get_content_subtype() == "json" else {}


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _waves(objects: list[Object]) -> Iterator[list[Object]]:
    own = _defined(objects)
    waves: list[list[Object]] = [[] for _ in range(6)]
    for obj in objects:
        place = {"Namespace": 0, "CustomResourceDefinition": 1, "Service": 3} | dict.fromkeys(_WORKLOADS, 4)
        waves[5 if obj["apiVersion"] in own else place.get(obj["kind"], 2)].append(obj)
    yield from waves


def _defined(objects: list[Object]) -> dict[str, set[str]]:
    """The kinds that these CRDs will serve, by group version."""
    kinds: dict[str, set[str]] = {}
    for obj in objects:
        if obj["kind"] == "CustomResourceDefinition":
            spec = obj["spec"]
            for version in spec["versions"]:
                if version["served"]:
                    kinds.setdefault(f"{spec['group']}/{version['name']}", set()).add(spec["names"]["kind"])
    return kinds


def main(kubeconfig: str, render: str) -> None:
    """Replay `render`, a JSON list of objects."""
    objects = json.loads(Path(render).read_bytes())
    replay = Replay(Path(kubeconfig))
    started, cpu = time.monotonic(), time.process_time()
    replay.run(objects)
    facts = {
        "seconds": time.monotonic() - started,
        "cpu": time.process_time() - cpu,
        "objects": len(objects),
        "sent_again": replay.sent_again,
    }
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
