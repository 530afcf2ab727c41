"""What is wrong with commands and variables of a page, as far as that is seen without running them."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.command.main import COMMANDS
from kubeflow_volcano.rollout.settings.variables import complete
from tests.pages.blocks import without_heredocs
from tests.places import ROOT

_PROGRAMS = frozenset(["$EDITOR", "base64", "cat", "cd", "cp", "date", "echo", "export", "git", "grep", "kubectl"])
_PROGRAMS |= {".", "ansible-builder", "ansible-galaxy", "kustomize", "pip", "python3", "sed", "sha256sum"}
_PROGRAMS |= {"podman", "skopeo", "sleep"}
_PUNCTUATION = "();&|"
_MADE_BY_READERS = ("catalog", "mine", "new")
"""Inventories, and the directory of entries in one, that pages tell to make."""
INSTALLED = "~/.ansible/collections/ansible_collections/kubeflow_volcano/platform/"
"""Where ansible-galaxy installs the collection, whose files are those of the checkout."""
_COLLECTION = "kubeflow_volcano.platform."
_CONSOLE_COMMAND = "import sys; from kubeflow_volcano.command.start import main; sys.exit(main())"
_GROUPS = frozenset(("all", "control_plane", "kubernetes", "nodes"))
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_COMMAND_OPTION = re.compile(r"--[a-z][a-z-]+")


def commands(text: str) -> list[list[str]]:
    """The words of each command in a block, without what its heredocs contain.

    Raises:
        ValueError: a quotation has no end.
    """
    text = without_heredocs(text)
    found: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
        words.whitespace_split = True
        current: list[str] = []
        for word in words:
            if set(word) <= set(_PUNCTUATION):
                found.append(current)
                current = []
            else:
                current.append(word)
        found.append(current)
    return [words for words in found if words]


def problems_of_commands(text: str) -> Iterator[str]:
    """Programs, options, targets, paths and variables of a block that do not exist."""
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"bash: {done.stderr.strip()}"
    for words in commands(text):
        yield from _problems(words)


def problems_of_variables(document: Any) -> Iterator[str]:
    """Variables that no role reads, or whose values do not fit the schema."""
    if not isinstance(document, Mapping):
        yield f"{document!r} is no mapping of variables"
        return
    if _GROUPS & document.keys():
        return
    yield from (f"{name} is no variable" for name in document if name not in _variables())
    yield from (str(problem) for problem in complete(document)[1])


def _problems(words: Sequence[str]) -> Iterator[str]:
    words = words[next((at for at, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words)) :]
    if not words:
        return
    program, *rest = words
    if program == "sudo":
        yield from _problems([word for word in rest if not word.startswith("--")])
    elif program == "make":
        yield from _of_make(rest)
    elif program == "requirements/setup.sh":
        yield from (f"no requirements/{name}.txt" for name in rest if not (ROOT / f"requirements/{name}.txt").is_file())
    elif program.removeprefix(".venv/bin/") in {"ansible", "ansible-playbook", "kubeflow-volcano", "python"}:
        yield from _of_environment(program.removeprefix(".venv/bin/"), rest)
    elif program.startswith(".venv/bin/"):
        if not Path(sys.executable).with_name(program.removeprefix(".venv/bin/")).exists():
            yield f"no {program}"
    elif program not in _PROGRAMS:
        yield f"{program} is no known program"
    if program in {"cp", "$EDITOR"}:
        yield from _missing_paths(rest)


def _of_make(words: Sequence[str]) -> Iterator[str]:
    text = (ROOT / "Makefile").read_text("utf-8")
    for word in words:
        if found := _ASSIGNMENT.fullmatch(word):
            if f"({found[1]})" not in text:
                yield f"the Makefile has no variable {found[1]}"
            if found[1] == "INVENTORY":
                yield from _missing_paths([found[2]])
        elif not re.search(rf"^{re.escape(word)}:", text, re.MULTILINE):
            yield f"the Makefile has no target {word}"


def _of_environment(program: str, words: Sequence[str]) -> Iterator[str]:
    if program == "kubeflow-volcano":
        yield from _of_console_command(words)
        return
    if program == "python":
        if words[:1] != ["-m"] or importlib.util.find_spec(words[1]) is None:
            yield f"python cannot run {' '.join(words[:2])}"
            return
        yield from _unknown_options(("python", "-m", words[1], *_subcommand(words)), words[2:])
        return
    yield from _unknown_options((program,), words)
    for option, value in itertools.pairwise(words):
        if option == "-i":
            yield from _missing_paths([value])
        elif option == "-e":
            yield from _unknown_variables(value)
        elif option == "--tags":
            yield from (f"no task has the tag {tag}" for tag in value.split(",") if tag not in _tags())
    yield from _missing_paths(word for word in words if word.startswith("playbooks/"))
    named = [word.removeprefix(_COLLECTION) for word in words if word.startswith(_COLLECTION)]
    yield from _missing_paths(f"playbooks/{name}.yml" for name in named)


def _of_console_command(words: Sequence[str]) -> Iterator[str]:
    if words[0] not in COMMANDS:
        yield f"kubeflow-volcano has no command {words[0]}"
        return
    inside = words[1:2] if words[0] == "catalog" else ()
    yield from _unknown_options(("kubeflow-volcano", words[0], *inside), words[1:])


def _subcommand(words: Sequence[str]) -> tuple[str, ...]:
    known = {"validators": {"explain", "list", "rbac", "support-bundle"}}.get(words[1], set())
    return tuple(word for word in words[2:3] if word in known)


def _unknown_options(command: tuple[str, ...], words: Sequence[str]) -> Iterator[str]:
    options = {word.partition("=")[0] for word in words if _COMMAND_OPTION.match(word)}
    if options:
        yield from (f"{' '.join(command)} has no {option}" for option in sorted(options - _options(command)))


@cache
def _options(command: tuple[str, ...]) -> frozenset[str]:
    """The long options in the help of a command."""
    program, *rest = command
    own = {"python": [sys.executable], "kubeflow-volcano": [sys.executable, "-c", _CONSOLE_COMMAND]}
    done = subprocess.run(
        [*own.get(program, [Path(sys.executable).with_name(program)]), *rest, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
    )
    return frozenset(_COMMAND_OPTION.findall(done.stdout))


def _missing_paths(paths: Iterator[str] | Sequence[str]) -> Iterator[str]:
    for given in paths:
        path = given.removeprefix(INSTALLED)
        parts = Path(path).parts
        made = parts[1] if parts[0] == "inventory" else parts[0]
        if path.startswith("-") or made in _MADE_BY_READERS:
            continue
        if not (ROOT / path).exists():
            yield f"no {path}"


def _unknown_variables(value: str) -> Iterator[str]:
    given = json.loads(value) if value.startswith("{") else dict([value.split("=", 1)])
    for name in given:
        if name not in _variables():
            yield f"{name} is no variable"


@cache
def _variables() -> frozenset[str]:
    """The arguments of all roles, and the variables of playbooks."""
    names: set[str] = set()
    for file in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(file.read_text("utf-8"))["argument_specs"].values():
            names |= (entry.get("options") or {}).keys()
    played = "".join(file.read_text("utf-8") for file in ROOT.glob("playbooks/*.yml"))
    return frozenset(names) | {name for name in ("clusters_serial", "gang_demo_scenarios") if name in played}


@cache
def _tags() -> frozenset[str]:
    files = [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("roles/*/tasks/*.yml")]
    texts = [file.read_text("utf-8") for file in files]
    return frozenset(
        tag.strip() for text in texts for group in re.findall(r"tags: \[([^\]]*)\]", text) for tag in group.split(",")
    )
