"""Rules about InferenceServices of KServe."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.placement.dynamic_resources import mapping

_SERVERS = (
    *("model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm"),
    *("paddle", "containers"),
)


def predictors(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A predictor with two model servers, or none.

    Rules: pkg/apis/serving/v1beta1/predictor.go and component.go of KServe, v0.8.0 to v0.15.0.
    """
    if manifest.kind != "InferenceService" or manifest.ref.api_version != "serving.kserve.io/v1beta1":
        return
    predictor = mapping(manifest.obj.get("spec")).get("predictor")
    if not isinstance(predictor, dict) or "workerSpec" in predictor:
        return
    named = [name for name in _SERVERS if name in predictor and name != "containers"]
    if len(named) > 1 or not (named or "containers" in predictor):
        yield flaw(
            "PredictorInvalid",
            f"spec.predictor has {few(named) if named else 'no model server'}, and KServe takes exactly one.",
            needed="one of model (with modelFormat and storageUri), containers, or a field of one model server.",
            todo="keep one; make a second InferenceService for the other." if named else "add model.",
            words=["Exactly one of"],
        )
