"""The pairs that a real cert-manager has issued to simulated webhooks, read when the API server connects."""

from __future__ import annotations

import base64
import http.client
import ssl
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kubeflow_volcano.rehearsal.inside.stub_api import Api, RefusedError


class IssuedPairs:
    """Server contexts with the Secrets of Certificates, as the simulated pods would mount them.

    `certificates` has namespace and name of the Certificate by the name of the server. `directory` is private.
    """

    def __init__(self, api: Api, directory: Path) -> None:
        self.certificates: Mapping[str, tuple[str, str]] = {}
        self._api = api
        self._directory = directory
        self._contexts: dict[str, tuple[str, ssl.SSLContext]] = {}

    def context(self, server: str) -> ssl.SSLContext | None:
        """The context of `server`, a DNS name; None if nothing has been issued to it, which is logged."""
        if server not in self.certificates:
            return None
        namespace, name = self.certificates[server]
        try:
            within = f"namespaces/{namespace}"
            certificate = self._api.request("GET", f"/apis/cert-manager.io/v1/{within}/certificates/{name}")
            secret = self._api.request("GET", f"/api/v1/{within}/secrets/{certificate['spec']['secretName']}")
            version = secret["metadata"]["uid"] + secret["metadata"]["resourceVersion"]
            if server not in self._contexts or self._contexts[server][0] != version:
                self._contexts[server] = version, self._loaded(secret["data"])
        except (OSError, http.client.HTTPException, RefusedError, LookupError, ValueError) as error:
            sys.stdout.write(f"{server} has no certificate from {namespace}/{name}: {error!r}\n")
            sys.stdout.flush()
            return None
        return self._contexts[server][1]

    def _loaded(self, data: Mapping[str, str]) -> ssl.SSLContext:
        """A context with the pair of a Secret; the ssl module reads pairs from files only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile(dir=self._directory) as stream:
            stream.writelines(base64.b64decode(data[key]) + b"\n" for key in ("tls.crt", "tls.key"))
            stream.flush()
            context.load_cert_chain(stream.name)
        return context
