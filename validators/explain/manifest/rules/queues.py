"""Rules about the amounts of a queue of Volcano."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.pods.quantities import amounts
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.placement.dynamic_resources import mapping


def shares(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A queue that deserves more than it may have, or is guaranteed more than it deserves or may have.

    Rules: validateResourceOfQueue of pkg/webhooks/admission/queues/validate in Volcano v1.13.3 and on its main branch
    after v1.15.1; versions between take such a queue, and it gets no more than its capability.
    """
    if manifest.ref.group != "scheduling.volcano.sh" or manifest.kind != "Queue":
        return
    spec = mapping(manifest.obj.get("spec"))
    try:
        most, deserved = amounts(mapping(spec.get("capability"))), amounts(mapping(spec.get("deserved")))
        least = amounts(mapping(mapping(spec.get("guarantee")).get("resource")))
    except ValueError:
        return  # the API server refuses it, which the dry run tells
    lower = (("deserved", deserved, "capability", most), ("guarantee", least, "deserved", deserved))
    for name, small, other, large in (*lower, ("guarantee", least, "capability", most)):
        if above := sorted(key for key, amount in small.items() if key in large and amount > large[key]):
            yield flaw(
                "QueueAmounts",
                f"spec.{name} is more than spec.{other} in {few(above)}: some versions of Volcano (1.13.3) refuse such "
                "a queue, and the others give it no more than its capability.",
                needed="guarantee ≤ deserved ≤ capability for each resource.",
                todo=f"lower spec.{name}, or raise spec.{other}.",
                blocks=False,  # where it is refused, the dry run says so
                words=[name],
            )
