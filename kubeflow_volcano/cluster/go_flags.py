"""Command lines, parsed like Go's flag package does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def read_flags(words: Sequence[str]) -> Mapping[str, str]:
    """Values by flag, in the spelling with two dashes. One dash means the same as two, the last one wins.

    A flag without `=` takes the next word unless that is a flag; a boolean one then reads as true.
    """
    return dict(_flags(words))


def values_of(flag: str, words: Sequence[str]) -> tuple[str, ...]:
    """All values of a flag that may be given several times, or once with commas (pflag's StringArray, StringSlice)."""
    return tuple(item for name, value in _flags(words) if name == flag for item in value.split(","))


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, mark, value = word.lstrip("-").partition("=")
        following = words[index + 1] if index + 1 < len(words) else "-"
        yield f"--{name}", value if mark else "true" if following.startswith("-") else following
