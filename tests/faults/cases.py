"""The fault cases: which there are, and within how many seconds each must have its verdict.

A test declares the cases that it proves by the mark `fault`, wherever it is. The oracle of all cases: no traceback, an
exit code of docs/report.md, a message that names object, cause and next step, a second run that converges, and nothing
left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A fault that is done on purpose; `seconds` are the most that one test of it may take."""

    title: str
    seconds: float = 120.0


CASES: Mapping[int, Case] = {
    1: Case("the API server is killed during a roll-out"),
    2: Case("the API server is killed during a validation"),
    3: Case("30 % of requests get 503"),
    4: Case("429 with Retry-After"),
    5: Case("500 from etcd: leader changed, request timed out"),
    6: Case("409 conflict, 20 in a row"),
    7: Case("another manager owns a field"),
    8: Case("slow answers, hung connections"),
    9: Case("a watch is cut, 410 Gone"),
    10: Case("the token expires in mid-run"),
    11: Case("permissions are lost in mid-run"),
    12: Case("the backend of an admission webhook is down"),
    13: Case("a caBundle is empty or of another CA"),
    14: Case("a CRD's names are not accepted"),
    15: Case("what is waited for is deleted"),
    16: Case("immutable fields differ"),
    17: Case("a manifest too large for an annotation"),
    18: Case("a namespace is stuck in termination"),
    19: Case("webhooks of a partial installation"),
    20: Case("two roll-outs at once, a stale lock"),
    21: Case("SIGINT, SIGTERM, SIGKILL at ten phases", 300.0),
    22: Case("the disk of the control host is full"),
    23: Case("downloads truncated, altered, or a web page"),
    24: Case("mirrors unreachable, unknown, forbidden, slow"),
    25: Case("a mirror lacks images"),
    26: Case("manifests that are no valid YAML"),
    27: Case("wrong types and names in the inventory"),
    28: Case("variables that cannot be evaluated"),
    29: Case("a pod flaps"),
    30: Case("crash loops, OOM kills, init failures, absent images"),
    31: Case("pods that have ended well, evicted and replaced ones"),
    32: Case("status of an older generation"),
    33: Case("an empty cluster, the wrong context"),
    34: Case("no default StorageClass, or two"),
    35: Case("volumes that cannot be written"),
    36: Case("queue closed, plugin gone, scheduler down"),
    37: Case("training operator: wrong flag, no rights, too early"),
    38: Case("a probe's pod is evicted"),
    39: Case("quota or admission refuses probes"),
    40: Case("clocks differ or jump"),
    41: Case("a kubeconfig that cannot be used"),
    42: Case("IPv6; 500 nodes with 10,000 pods", 300.0),
    43: Case("hostile names and logs"),
    44: Case("secrets in objects"),
}
