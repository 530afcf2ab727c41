"""Answers for the webhooks whose backends are simulated: `webhook_stub SERVER PKI PORT RANGE INDEX`, inside the node.

All TCP connections to the addresses of simulated pods (RANGE) are redirected here, on any port: the API server calls
the stub as it would call the real pods. To be trusted, the stub sets its own caBundle in those configurations whose
backends are simulated, and in no other, and lists them in a ConfigMap. Where a real cert-manager injects the caBundle,
the stub serves with the Secret that cert-manager issued to the simulated pods instead.

SERVER is the API server's URL, PKI the directory with the pair of the user `webhook-stub` and the authority
`webhook-stub-ca`, INDEX the image store's index.json.
"""

from __future__ import annotations

import base64
import http.client
import json
import queue
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubeflow_volcano.rehearsal.inside.placement_server import ImageIndex
from kubeflow_volcano.rehearsal.inside.review_server import ReviewServer
from kubeflow_volcano.rehearsal.inside.stub_api import Api, RefusedError
from kubeflow_volcano.rehearsal.inside.stub_certificates import Certificates
from kubeflow_volcano.rehearsal.inside.stub_secrets import IssuedPairs
from kubeflow_volcano.rehearsal.inside.webhook_backends import (
    WRITTEN,
    answer,
    answered,
    certificates_of,
    declares_bundles,
    injects,
    patch,
    simulated_services,
)

MANAGER = "rehearsal-webhook-stub"
REGISTER = "rehearsal-simulated-webhooks"
"""Name of the ConfigMap in kube-system whose key webhooks.json lists the webhooks that the stub answers."""
_SLICES = "EndpointSlice"
_COLLECTIONS = {
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    _SLICES: "/apis/discovery.k8s.io/v1/endpointslices",
}
_QUIET_SECONDS, _LONGEST_SECONDS = 0.05, 0.5
"""Changes with pauses shorter than the first are handled together, at the latest after the second."""
_RETRY_SECONDS = 1.0
_MOST_TRIES = 10
"""How often the stub replaces what a program wrote into one object: one that still runs writes it again."""

Object = dict[str, Any]


@dataclass(slots=True)
class Keeper:
    """Keeps the caBundle of simulated webhooks, by which the API server trusts the stub, and the list of them.

    `issued` gets the Certificates of those whose caBundle a real cert-manager injects; `images` returns the names of
    the images that can be pulled.
    """

    api: Api
    bundle: str
    simulated_range: str
    issued: IssuedPairs
    images: Callable[[], Collection[str]]
    news: queue.Queue[tuple[str, str, list[Object]]] = field(default_factory=queue.Queue)
    known: dict[str, dict[str, Object]] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)
    published: str = ""

    def keep(self) -> None:
        """Watch the cluster and reconcile; never returns."""
        for kind, path in _COLLECTIONS.items():
            threading.Thread(
                target=self.api.follow,
                args=(path, lambda what, objects, kind=kind: self.news.put((kind, what, objects))),
                daemon=True,
            ).start()
        settled = False
        while True:
            self.take(settled=settled)
            if len(self.known) == len(_COLLECTIONS):
                settled = self.reconcile()

    def take(self, *, settled: bool) -> None:
        """Wait for changes, at most 1 s while work is unfinished, and merge those that follow closely."""
        try:
            self._merge(*self.news.get(timeout=None if settled else _RETRY_SECONDS))
            end = time.monotonic() + _LONGEST_SECONDS
            while time.monotonic() < end:
                self._merge(*self.news.get(timeout=_QUIET_SECONDS))
        except queue.Empty:
            return

    def reconcile(self) -> bool:
        """Update the configurations and the list; returns False when something failed and must be repeated."""
        simulated = simulated_services(self.known[_SLICES].values(), self.simulated_range)
        injecting = injects(self.images(), simulated)
        objects = [
            {**obj, WRITTEN: obj[WRITTEN] and self.tries[_key(obj)] < _MOST_TRIES}
            for kind, found in self.known.items()
            if kind != _SLICES
            for obj in found.values()
        ]
        self.issued.certificates = certificates_of(objects, simulated) if injecting else {}
        patches = [(obj, patch(obj, simulated, self.bundle, injecting=injecting)) for obj in objects]
        done = [self._send(obj, operations) for obj, operations in patches if operations]
        return all([*done, self._publish(answered(objects, simulated, self.bundle, injecting=injecting))])

    def _merge(self, kind: str, what: str, objects: list[Object]) -> None:
        of_kind = self.known.setdefault(kind, {})
        if what == "RESET":
            of_kind.clear()
        for obj in objects:
            key = f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
            if what == "DELETED":
                of_kind.pop(key, None)
            else:
                of_kind[key] = _needed(kind, obj)

    def _send(self, obj: Object, operations: list[Object]) -> bool:
        name = obj["metadata"]["name"]
        path = f"{_COLLECTIONS[obj['kind']]}/{name}?fieldManager={MANAGER}"
        if not self._try("PATCH", path, operations, "application/json-patch+json"):
            return False
        self.tries[_key(obj)] += 1
        _say(f"answers for {obj['kind']} {name}")
        return True

    def _publish(self, entries: list[Object]) -> bool:
        text = json.dumps(entries, indent=1)
        if text == self.published:
            return True
        register = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": REGISTER, "namespace": "kube-system"},
            "data": {"webhooks.json": text},
        }
        path = f"/api/v1/namespaces/kube-system/configmaps/{REGISTER}?fieldManager={MANAGER}&force=true"
        if not self._try("PATCH", path, register, "application/apply-patch+yaml"):
            return False
        self.published = text
        return True

    def _try(self, method: str, path: str, body: object, content_type: str) -> bool:
        try:
            self.api.request(method, path, body, content_type)
        except (OSError, http.client.HTTPException, RefusedError) as error:
            _say(f"{method} {path}: {error!r}")
            return False
        return True


def _key(obj: Object) -> str:
    return f"{obj['kind']} {obj['metadata']['name']}"


def _needed(kind: str, obj: Object) -> Object:
    """The fields that are used here; the schemas of definitions have hundreds of kilobytes."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    spec = {"conversion": obj["spec"].get("conversion")} if kind == "CustomResourceDefinition" else {}
    return {"kind": kind, "metadata": meta, "spec": spec, WRITTEN: not declares_bundles(obj)} | {
        key: obj[key] for key in ("webhooks", "endpoints") if key in obj
    }


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(server: str, pki: str, port: str, simulated_range: str, index: str) -> None:
    """Serve and reconcile until the process is killed."""
    authority = Path(pki, "webhook-stub-ca")
    api, directory = Api(server, Path(pki), "webhook-stub"), Path(tempfile.mkdtemp(prefix="webhook-stub-", dir="/run"))
    issued = IssuedPairs(api, directory)
    certificates = Certificates(directory, authority, issued.context)
    bundle = base64.b64encode(authority.with_suffix(".crt").read_bytes()).decode()
    everywhere = "0.0.0.0"  # noqa: S104  in a network namespace of its own
    with ReviewServer((everywhere, int(port)), certificates.context(), answer) as reviews:
        threading.Thread(target=reviews.serve_forever, daemon=True).start()
        Keeper(api, bundle, simulated_range, issued, ImageIndex(Path(index)).names).keep()


if __name__ == "__main__":
    main(*sys.argv[1:])
