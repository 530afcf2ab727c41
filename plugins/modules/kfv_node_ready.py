"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_node_ready
short_description: Wait until a Node is ready
description:
  - Asks the cluster, from the machine that runs Ansible, whether a Node has the condition Ready and its kubelet has
    renewed its Lease since a given time; the condition alone is kept up to 50 s after a kubelet has stopped.
  - Is skipped, with the reason, where nothing says where a cluster is, and where the cluster has no such Node.
version_added: "0.1.0"
options:
  node:
    description: Name of the Node.
    type: str
    required: true
  kubeconfig:
    description: Kubeconfig; empty takes C($KUBECONFIG), then C(~/.kube/config), then that of the pod.
    type: path
    default: ""
  context:
    description: Context in it; empty takes the current one.
    type: str
    default: ""
  since:
    description: The Lease must be renewed after that, in seconds since the epoch by the node's clock.
    type: float
    default: 0.0
  seconds:
    description: How long to wait.
    type: int
    default: 120
attributes:
  check_mode:
    support: full
    description: It changes nothing anyway.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Wait until the Node is ready
  kfv_node_ready:
    node: "{{ kubeflow_node_name | default(inventory_hostname, true) }}"
    kubeconfig: "{{ kubeflow_kubeconfig }}"
"""

RETURN = r"""
msg:
  description: That it is ready, or why it was not looked at.
  returned: success
  type: str
  sample: the Node worker-1 is ready
"""
