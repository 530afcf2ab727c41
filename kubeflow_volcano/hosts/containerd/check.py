"""containerd reads a changed configuration before any file of it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tomlkit

from kubeflow_volcano.hosts.containerd import dump as dumps
from kubeflow_volcano.hosts.containerd.loaded import loaded_files
from kubeflow_volcano.hosts.containerd.look import Look
from kubeflow_volcano.hosts.containerd.plan import Plan
from kubeflow_volcano.hosts.containerd.sections import sections
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.redaction import redacted
from kubeflow_volcano.text import few


def candidate_files(look: Look, result: Plan) -> Mapping[str, str]:
    """The new configuration by file name, for one directory from which containerd can read it beforehand.

    `0.toml` is the main file. It imports the others in the order in which containerd loads them; they import nothing.
    """
    files = loaded_files(look)
    texts = {f"{number}.toml": result.files.get(file.path, file).text for number, file in enumerate(files)}
    names = [*texts]
    return {name: _importing(text, names[1:] if name == names[0] else []) for name, text in texts.items()}


def require_accepted(result: Plan, dump: str, error: str, path: str) -> None:
    """Require that containerd reads the new configuration, and that nothing but registries changes.

    Args:
        result: the plan, with the expected dump.
        dump: what containerd makes of the candidate files.
        error: why it cannot read them, empty where it can.
        path: the main file, for messages.

    Raises:
        InvalidInput: it cannot read it, or other settings change.
    """
    if error:
        raise InvalidInput.problem(
            f"containerd cannot read the new configuration: {redacted(error)}.",
            f"a change of {path} that containerd accepts; nothing was written.",
            f"set config_path by hand in {path}, and run this again.",
        )
    parsed = dumps.parse_dump(dump, path)
    problems = [*dumps.plugin_problems(parsed, path)]
    if result.expected is not None and (keys := dumps.differences(result.expected, parsed)):
        problems.append(
            Problem(
                f"the change would also affect {few(keys)} in containerd's configuration; nothing was written.",
                "a configuration in which nothing but registries changes.",
                f"compare {path} and the files that it imports: two files may have the same table, or other versions.",
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
