"""The admission webhook that places pods: `placement_server SETTINGS PORT PKI`, inside the node.

SETTINGS is a JSON file: `index` (path of the image store's index.json, an OCI image layout), and of
`placement.Rules` the keys `training`, `platform` and `real_node`. PKI is the directory with `placement.crt` and
`placement.key`.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeflow_volcano.rehearsal.inside.placement import Rules, patch, simulation, simulation_of_daemon_set
from kubeflow_volcano.rehearsal.inside.registry import read_index
from kubeflow_volcano.rehearsal.inside.review_server import ReviewServer


@dataclass(slots=True)
class ImageIndex:
    """Names in the image store, read again when the index file has changed."""

    path: Path
    _stamp: tuple[int, int, int] = (0, 0, 0)
    _names: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Full names (registry, repository, tag or digest) of all images that can be pulled."""
        try:
            stat = self.path.stat()
            stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                self._names, self._stamp = _names(read_index(self.path)), stamp
        except FileNotFoundError:
            return frozenset()
        return self._names


def _names(digests: dict[str, str]) -> frozenset[str]:
    return frozenset(digests) | {f"{name.rpartition(':')[0]}:{digest}" for name, digest in digests.items()}


def review(request: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """The answer to an AdmissionReview (admission.k8s.io/v1) about a Pod or a DaemonSet; never refuses."""
    subject = request["request"]["object"]
    if request["request"]["kind"]["kind"] == "DaemonSet":
        how, pod, at = simulation_of_daemon_set(subject, rules), subject["spec"]["template"], "/spec/template"
    else:
        how, pod, at = simulation(subject, rules), subject, ""
    response: dict[str, Any] = {"uid": request["request"]["uid"], "allowed": True}
    if how:
        operations = json.dumps(patch(pod, how, at)).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(operations).decode()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def main(settings_file: str, port: str, pki: str) -> None:
    """Serve on the loopback until the process is killed."""
    settings = json.loads(Path(settings_file).read_text(encoding="utf-8"))
    index = ImageIndex(Path(settings.pop("index")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{pki}/placement.crt", f"{pki}/placement.key")
    ReviewServer(
        ("127.0.0.1", int(port)), context, lambda request: review(request, Rules(index.names(), **settings))
    ).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
