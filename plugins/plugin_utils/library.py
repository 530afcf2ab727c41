"""What runs this collection: a Python and an ansible-core that it supports, and its library in its own version.

Imported before the library is, of which an older Python makes a traceback.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from ansible.errors import AnsibleError
from ansible.release import __version__ as _core

COLLECTION = "kubeflow_volcano.platform"
"""Name of the collection; its plugins call each other by full names, which are found wherever a task is."""

VERSION = "0.1.0"
"""Version of the collection, as in galaxy.yml. Plugins and library of different versions do not fit together."""

_TODO = f"install the wheel kubeflow-volcano {VERSION} there with pip, or the collection that belongs to the library."

_PYTHON, _CORE = (3, 11), (2, 18)
"""The oldest ones, as in pyproject.toml and meta/runtime.yml."""


def unsupported(python: Sequence[int], core: str) -> str:
    """Why this Python or ansible-core cannot run the collection; empty where both can.

    Args:
        python: the parts of its version.
        core: the version of ansible-core.
    """
    if tuple(python[:2]) >= _PYTHON and tuple(map(int, re.findall(r"\d+", core)[:2])) >= _CORE:
        return ""
    needed = f"ansible-core {_CORE[0]}.{_CORE[1]} or later on Python {_PYTHON[0]}.{_PYTHON[1]} or later"
    return (
        f"Found: ansible-core {core} on Python {'.'.join(map(str, python[:3]))} ({sys.executable}). "
        f"Needed: {needed}, on the machine that runs Ansible. "
        "Do: make a virtual environment of such a Python there, install ansible-core and the wheel kubeflow-volcano "
        f"{VERSION} into it with pip, and run its ansible-playbook."
    )


if message := unsupported(sys.version_info[:3], _core):
    raise AnsibleError(message)

try:
    from kubeflow_volcano import __version__ as _found
except ImportError as error:
    message = (
        f"Found: {sys.executable}, which runs Ansible, cannot import kubeflow_volcano. "
        f"Needed: the Python library of {COLLECTION} {VERSION}. Do: {_TODO}"
    )
    raise AnsibleError(message) from error

if _found != VERSION:
    message = (
        f"Found: version {_found} of the Python library kubeflow-volcano in {sys.executable}. "
        f"Needed: {VERSION}, the version of the collection {COLLECTION}. Do: {_TODO}"
    )
    raise AnsibleError(message)
