"""The one place where values leave Ansible's templating: whatever they are there, plugins get plain Python values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.parsing.vault import AnsibleVaultError

try:
    from ansible.parsing.vault import EncryptedString
except ImportError:  # before ansible-core 2.19
    from ansible.parsing.yaml.objects import AnsibleVaultEncryptedUnicode as EncryptedString

_NO_PASSWORD = re.compile(r"no vault secrets found")
_OF_VAULT = re.compile(r"no vault secrets|undecryptable|Decryption failed")
"""Also what Ansible makes of its own error when the value is part of a template."""


class Variables(Mapping[str, Any]):
    """Variables of a host; each is templated, decrypted and made plain when it is read."""

    def __init__(self, raw: Mapping[str, Any], templar: Any) -> None:
        self._raw, self._templar = raw, templar

    def __getitem__(self, name: str) -> Any:
        return plain(self._templar.template(self._raw[name]))

    def __contains__(self, name: object) -> bool:
        """Without templating it, as the base class would."""
        return name in self._raw

    def is_encrypted(self, name: str) -> bool:
        """Whether it is a value of ansible-vault; False for a template with one."""
        return isinstance(self._raw[name], EncryptedString)

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def plain(value: Any) -> Any:
    """The value without Ansible's own types, which remember where a value came from, template lazily, or are encrypted.

    Raises:
        AnsibleError: a part of it cannot be templated or decrypted.
    """
    if isinstance(value, str):
        return str.__str__(value)  # str(…) of an AnsibleUnsafeText is one again, before ansible-core 2.19
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, EncryptedString):  # templating leaves it as it is before ansible-core 2.19
        return str.__str__(str(value))
    kind = next((kind for kind in (bool, int, float) if isinstance(value, kind)), None)
    return kind(value) if kind else value


def undecryptable(error: BaseException) -> str:
    """Why ansible-vault could not decrypt a value, which the error is about; empty where it is about something else."""
    at: BaseException | None = error
    while at is not None and not isinstance(at, AnsibleVaultError):
        at = at.__cause__ or at.__context__
    if at is None and not _OF_VAULT.search(str(error)):
        return ""
    return "no password of it is given" if _NO_PASSWORD.search(str(error)) else "no given password of it fits"
