"""containerd is asked what it makes of a changed configuration, before any file of it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tomlkit

from kubeflow_volcano.hosts.containerd import dump as dumps
from kubeflow_volcano.hosts.containerd.loaded import loaded_files
from kubeflow_volcano.hosts.containerd.look import Look
from kubeflow_volcano.hosts.containerd.plan import Plan
from kubeflow_volcano.hosts.containerd.sections import sections
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["accepted", "check_files"]


def check_files(look: Look, result: Plan) -> Mapping[str, str]:
    """The configuration as it is to be, as files of one directory that containerd can be asked about beforehand.

    `0.toml` is the main one; it imports the others in the order in which containerd loads them, and they nothing.
    """
    files = loaded_files(look)
    texts = {f"{number}.toml": result.files.get(file.path, file).text for number, file in enumerate(files)}
    names = [*texts]
    return {name: _importing(text, names[1:] if name == names[0] else []) for name, text in texts.items()}


def accepted(result: Plan, dump: str, error: str, path: str) -> None:
    """See that containerd itself reads the new configuration as it is meant.

    Raises:
        InvalidInput: it does not read it, or anything else changes as well.
    """
    if error:
        raise InvalidInput(
            Problem(
                f"containerd cannot read the configuration that was to be written: {error}.",
                f"a change of {path} that containerd accepts; nothing was written.",
                f"set config_path by hand in {path}, and run this again.",
            )
        )
    found = dumps.parsed(dump, path)
    problems = [*dumps.refused(found, path)]
    if result.expected is not None and (strange := dumps.differences(result.expected, found)):
        problems.append(
            Problem(
                f"with the change, containerd would read {', '.join(strange[:5])} otherwise than meant; nothing was "
                "written.",
                "a configuration of which only the registries change.",
                f"see {path} and what it imports: a table that another file gives anew, or the version of a file.",
            )
        )
    if problems:
        raise InvalidInput(problems)


def _importing(text: str, names: Sequence[str]) -> str:
    above, *tables = sections(text)
    keys = tomlkit.parse(above.body)
    keys.pop("imports", None)
    head = f"imports = [{', '.join(map(repr, names))}]\n" if names else ""
    return head + tomlkit.dumps(keys) + "".join(map(str, tables))
