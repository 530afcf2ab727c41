"""The one place where values leave Ansible's templating: whatever they are there, plugins get plain Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Variables", "plain"]


class Variables(Mapping[str, Any]):
    """Variables of a host; each is templated, decrypted and made plain when it is read."""

    def __init__(self, raw: Mapping[str, Any], templar: Any) -> None:
        self._raw, self._templar = raw, templar

    def __getitem__(self, name: str) -> Any:
        return plain(self._templar.template(self._raw[name]))

    def __contains__(self, name: object) -> bool:
        """Without templating it, as the base class would."""
        return name in self._raw

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
    if getattr(value, "__ENCRYPTED__", False):  # before ansible-core 2.19; templating leaves it as it is
        return str.__str__(str(value))
    kind = next((kind for kind in (bool, int, float) if isinstance(value, kind)), None)
    return kind(value) if kind else value
