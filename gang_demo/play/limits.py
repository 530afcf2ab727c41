"""What is known not to hold with a gang scheduler, of the claims of the cases that can be played with it.

Such a case is played all the same, and its table says what happened.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS

# As played with 0.30.6, but for preemption-whole, which came out as claimed: with four pods each evicts one.
# pkg/coscheduling of scheduler-plugins v0.30.6 and v0.34.7: PreFilter refuses the pods of a gang whose minResources are
# not free, which the training operator sets; EventsToRegister names new pods and changes of PodGroups, but not the end
# of pods. kube-scheduler 1.30 tries such pods again after podMaxInUnschedulablePodsDuration.
_ASLEEP = "Coscheduling does not notice that other pods end; kube-scheduler tries again after 5 minutes"
# PostFilter of DefaultPreemption comes first, and looks at one pod.
_ONE_BY_ONE = "kube-scheduler evicts for each pod by itself, before Coscheduling looks at the gang"

LIMITS: Mapping[tuple[str, str], str] = {
    (SCHEDULER_PLUGINS.name, case): why
    for case, why in {
        "elastic-all": _ASLEEP,
        "elastic-gang": _ASLEEP,
        "job-kinds-gang": _ASLEEP,
        "preemption-whole": _ONE_BY_ONE,
        "preemption-no-remainder": "its PodGroups cannot say that a gang is evicted as a whole",
        "preemption-fits-not": _ONE_BY_ONE,
    }.items()
}
"""Why, by the names of scheduler and case."""
