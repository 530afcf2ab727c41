"""The Python library that does the work of this collection: importable, and of the collection's own version."""

from __future__ import annotations

import sys

from ansible.errors import AnsibleError

__all__ = ["COLLECTION", "VERSION"]

COLLECTION = "kubeflow_volcano.platform"
"""Name of the collection; its plugins call each other by full names, which are found wherever a task is."""

VERSION = "0.1.0"
"""Version of the collection, as in galaxy.yml. Plugins and library of different versions do not fit together."""

_TODO = f"install the wheel kubeflow-volcano {VERSION} there with pip, or the collection that belongs to the library."

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
