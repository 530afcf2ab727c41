"""What the stub says in place of admission and conversion webhooks. Pure; nothing but the standard library.

Nothing is validated, defaulted or injected: every request is admitted as it is, and a conversion changes no more than
the version that an object claims to have.
"""

from __future__ import annotations

from typing import Any

__all__ = ["answer"]


def answer(review: dict[str, Any]) -> dict[str, Any]:
    """The answer to an AdmissionReview or a ConversionReview of any version, in that version.

    Sources: the types of admission.k8s.io and apiextensions.k8s.io, v1beta1 and v1.

    Raises:
        ValueError: it is neither.
        LookupError: it lacks what every request has.
    """
    request = review["request"]
    if review["kind"] == "AdmissionReview":
        response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    elif review["kind"] == "ConversionReview":
        version = request["desiredAPIVersion"]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [{**item, "apiVersion": version} for item in request["objects"]],
        }
    else:
        message = f"{review['kind']} is no review"
        raise ValueError(message)
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
