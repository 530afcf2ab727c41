"""Under which domains CoreDNS answers for Services, by its Corefile, read leniently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_PLUGIN = "kubernetes"
_VARIABLE = re.compile(r"\{[$%]|\$\(|__")
"""Of the environment, and of templates whose values were not filled in."""
_REVERSE = ".arpa"

_Line = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the files of a CoreDNS answer for Services.

    `zones` are those of its plugin kubernetes, which knows no name under another one (parseRequest in
    plugin/kubernetes/parse.go of coredns/coredns). `lines` are all directives. `whole`: nothing else is imported.
    """

    zones: frozenset[str]
    lines: tuple[_Line, ...]
    whole: bool

    def knows(self, domain: str) -> bool | None:
        """Whether Services have names under `domain`; None where the files do not say it."""
        said = [_is_about(line, domain) for line in self.lines]
        if domain in self.zones or True in said:
            return True
        if None in said or not self.whole or not self.zones or any(map(_VARIABLE.search, self.zones)):
            return None
        return False


def answers(files: Iterable[str], *, whole: bool = True) -> Answers:
    """What these files answer; not `whole` if they may import others."""
    parsed = [tuple(_lines(text)) for text in files]
    lines = tuple(line for each in parsed for line in each)
    imports = any(line[0] == "import" for line in lines)
    return Answers(frozenset(zone for each in parsed for zone in _zones(each)), lines, whole or not imports)


def _lines(text: str) -> Iterator[_Line]:
    for line in text.lower().splitlines():
        if words := line.partition("#")[0].split():
            yield tuple(words)


def _zones(lines: Iterable[_Line]) -> Iterator[str]:
    """The zones of each directive kubernetes; where it names none, those of the server block that it is in."""
    depth = 0
    block: _Line = ()
    for line in lines:
        if depth == 0:
            block = line
        elif line[0] == _PLUGIN:
            own = [word for word in line[1:] if word not in {"{", "}"}]
            yield from (_zone(word) for word in own or block if word != "{" and not _is_reverse(word))
        depth += line.count("{") - line.count("}")


def _zone(word: str) -> str:
    word = word.rstrip(",")
    return re.sub(r":\d+$", "", word.rpartition("://")[2]).rstrip(".") or "."


def _is_reverse(word: str) -> bool:
    return _zone(word).endswith(_REVERSE) or "/" in _zone(word)


def _is_about(line: _Line, domain: str) -> bool | None:
    """Whether a directive answers names under the domain in some way; None if that is not known.

    A zone of its own, a forwarded one, or a rewrite of it: whether what answers then knows Services is its own affair.
    """
    if line[0] == "rewrite":
        return _rewrites(line, domain)
    if line[0] == "template":
        return None
    return any(f".{domain}".endswith(f".{_zone(word)}") for word in line)


def _rewrites(line: _Line, domain: str) -> bool | None:
    words = [word.replace("\\", "") for word in line[1:] if word not in {"continue", "stop"}]
    if words[:1] == ["{"]:
        return None  # a block: its lines name no directive
    if words[:1] != ["name"]:
        return False
    if any(domain in word for word in words):
        return True
    match words[1:]:
        case ["suffix", suffix, *_]:
            return f".{domain}".endswith(suffix)
        case ["prefix" | "substring" | "regex", *_]:
            return None
    return False
