"""The account of the first user, as a roll-out hands it to the manifests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

__all__ = ["Account"]


@dataclass(frozen=True, slots=True)
class Account:
    """Who may sign in first, and owns the first profile. `password` is kept only where it was made here."""

    email: str
    namespace: str
    password: str | None = field(repr=False)
    password_hash: str = field(repr=False)
    client_secret: str = field(repr=False)
    """What Dex and the service that signs in through it have in common."""

    @property
    def cookie_secret(self) -> str:
        """Key of the session cookies, 32 characters as oauth2-proxy asks; follows from the client's secret."""
        return hashlib.sha256(f"cookie {self.client_secret}".encode()).hexdigest()[:32]

    @property
    def sum(self) -> str:
        """Changes whenever one of the secrets does, and tells nothing about them."""
        text = f"{self.email} {self.password_hash} {self.client_secret}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]
