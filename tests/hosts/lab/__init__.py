"""Test hosts: several openEuler-like hosts on one machine, reached over SSH.

Each has its own network, mount, process, host name and IPC namespaces, its own root file system and sshd. What is not
openEuler there: the packages below the RPM database are Debian's, the kernel is the machine's, systemd is a stand-in
that knows services only, crictl is a stand-in, there is no SELinux and no firewalld.
"""

from __future__ import annotations

from tests.hosts.lab.host import Host
from tests.hosts.lab.lab import Lab
from tests.hosts.lab.registry import Registry

__all__ = ["Host", "Lab", "Registry"]
