"""The SELinux label of the directory of volumes on a host. Runs on the host with Python 3.9 or later."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_directory_label
short_description: Let containers write to the directory of volumes where SELinux is on
description:
  - Where SELinux is enforcing or permissive, adds the rule that a directory and all below it have the type
    C(container_file_t), or changes an own rule for it that says something else, and relabels what has another type.
  - Labels keep their level, so that volumes which a container runtime has set apart by categories stay so.
  - Where SELinux is disabled or absent, nothing is done.
version_added: "0.1.0"
options:
  path:
    description: The directory.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Says whether the rule or a label would change, and changes nothing.
  diff_mode:
    support: full
    description: Shows the rule and the directory's type before and after.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Let containers write to the directory where SELinux is on
  kfv_directory_label:
    path: /opt/local-path-provisioner
"""

RETURN = r"""
mode:
  description: enforcing, permissive or disabled.
  returned: success
  type: str
relabelled:
  description: How many files and directories got the type, or in check mode would get it.
  returned: success
  type: int
"""

ARGUMENTS: dict[str, Any] = {"path": {"type": "path", "required": True}}
TYPE = "container_file_t"
PACKAGES = {"semanage": "policycoreutils-python-utils", "restorecon": "policycoreutils"}
_ENFORCE = Path("/sys/fs/selinux/enforce")
_MODES = {"1": "enforcing", "0": "permissive"}


def mode() -> str:
    """What SELinux does on this host."""
    try:
        return _MODES.get(_ENFORCE.read_text("ascii").strip(), "disabled")
    except OSError:
        return "disabled"


def pattern_of(path: str) -> str:
    """The regular expression of file contexts for a directory and all below it."""
    return re.sub(r"([.^$?*+|\[({\\})\]])", r"\\\1", path) + "(/.*)?"


def type_in(context: str) -> str:
    """The type of a context such as system_u:object_r:container_file_t:s0."""
    parts = context.split(":")
    return parts[2] if len(parts) > 2 else ""  # noqa: PLR2004  user, role, type


def rule_type(listed: str, pattern: str) -> str:
    """Type that the own rule for that pattern gives, by `semanage fcontext -l -C -n`; empty where there is none."""
    for line in listed.splitlines():
        words = line.split()
        if words and words[0] == pattern:
            return type_in(words[-1])
    return ""


def label_of(path: str) -> str:
    """Type of the directory's own label; empty where it has none."""
    try:
        return type_in(os.getxattr(path, "security.selinux", follow_symlinks=False).rstrip(b"\0").decode())
    except OSError:
        return ""


def tools(module: AnsibleModule) -> dict[str, str]:
    """Paths of the programs; ends the module where one is missing."""
    places = ["/usr/sbin", "/sbin"]
    found = {name: module.get_bin_path(name, opt_dirs=places) for name in PACKAGES}
    missing = [name for name in PACKAGES if not found[name]]
    if missing:
        packages = " ".join(PACKAGES[name] for name in missing)
        module.fail_json(
            msg=f"Found: SELinux is {mode()}, and there is no {' and no '.join(missing)}. "
            f"Needed: both programs, or containers may not write to {module.params['path']}. "
            f"Do: dnf install {packages}"
        )
    return {name: str(path) for name, path in found.items()}


def asked(module: AnsibleModule, *command: str) -> str:
    """What a program prints; ends the module where it fails."""
    code, out, err = module.run_command(list(command), environ_update={"LC_ALL": "C"})
    if code:
        module.fail_json(
            msg=f"Found: {' '.join(command)} ended with {code}: {(err or out).strip()} "
            "Needed: a policy that takes a rule for the directory of volumes. "
            "Do: resolve what it names (semanage fcontext -l -C), and run again."
        )
    return str(out)


def main() -> None:
    """Add or change the rule, and relabel."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    path = os.path.normpath(module.params["path"])
    found = mode()
    if found == "disabled":
        module.exit_json(changed=False, mode=found, relabelled=0)
    programs, pattern = tools(module), pattern_of(path)
    rule = rule_type(asked(module, programs["semanage"], "fcontext", "-l", "-C", "-n"), pattern)
    label = label_of(path)
    if rule != TYPE and not module.check_mode:
        asked(module, programs["semanage"], "fcontext", "-m" if rule else "-a", "-t", TYPE, pattern)
    dry = ["-n"] if module.check_mode else []
    lines = asked(module, programs["restorecon"], "-R", "-v", *dry, path) if Path(path).is_dir() else ""
    relabelled = sum("elabel" in line for line in lines.splitlines())
    if module.check_mode and rule != TYPE:
        relabelled = max(relabelled, int(label != TYPE))  # a dry run goes by the rules of now
    module.exit_json(
        changed=rule != TYPE or relabelled > 0,
        mode=found,
        relabelled=relabelled,
        diff={
            "before": f"rule {rule or 'none'}, label {label or 'none'}\n",
            "after": f"rule {TYPE}, label {TYPE}\n",
        },
    )


if __name__ == "__main__":
    main()
