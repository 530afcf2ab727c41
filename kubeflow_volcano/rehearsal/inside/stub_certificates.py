"""A certificate for every name that the API server requests, signed at the first request by `openssl` (>= 1.1.1)."""

from __future__ import annotations

import secrets
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

_SECONDS = 20.0
_CONFIGURATION = "[req]\nprompt = no\ndistinguished_name = name\n[name]\nCN = rehearsal-webhook-stub\n"
_EXTENSIONS = "basicConstraints = critical,CA:false\nextendedKeyUsage = serverAuth\nsubjectAltName = DNS:{}\n"


class Certificates:
    """Server contexts by name; all share one key in `directory`.

    `authority` is the path of the signing pair without .crt and .key. `issued` returns the context that is used
    instead, of a name with a certificate from another authority.
    """

    def __init__(
        self, directory: Path, authority: Path, issued: Callable[[str], ssl.SSLContext | None] = lambda _: None
    ) -> None:
        self._directory = directory
        self._authority = authority
        self._issued = issued
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (directory / "openssl.cnf").write_text(_CONFIGURATION)
        self._openssl("ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", "key")
        self._openssl("req", "-new", "-key", "key", "-config", "openssl.cnf", "-out", "request")

    def context(self) -> ssl.SSLContext:
        """A context that chooses the certificate by the name that the client sends (SNI), and refuses without one."""
        first = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        first.sni_callback = self._choose
        return first

    def issue(self, name: str) -> ssl.SSLContext:
        """The context of a server called `name`, a DNS name."""
        with self._lock:
            if name not in self._contexts:
                self._contexts[name] = self._signed(name)
            return self._contexts[name]

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        if name is None or not name.endswith(".svc"):
            return ssl.AlertDescription.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = self._issued(name) or self.issue(name)
        return None

    def _signed(self, name: str) -> ssl.SSLContext:
        certificate, extensions = self._directory / f"{name}.crt", self._directory / f"{name}.ext"
        extensions.write_text(_EXTENSIONS.format(name))
        signer = ("-CA", f"{self._authority}.crt", "-CAkey", f"{self._authority}.key")
        serial = ("-set_serial", f"0x{secrets.token_hex(16)}")
        about = ("-days", "365", "-extfile", str(extensions), "-out", str(certificate))
        self._openssl("x509", "-req", "-in", "request", "-sha256", *signer, *serial, *about)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, self._directory / "key")
        return context

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self._directory, timeout=_SECONDS)
