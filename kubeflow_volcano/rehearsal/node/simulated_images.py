"""Repositories of images that are not built here and whose pods are simulated. `*` matches as in the shell, also `/`.

Volcano is not among them: it always runs for real, and fails if its image is missing. A training operator whose image
is not built here is simulated: the rest of its release can be rolled out then, but its jobs cannot run.
"""

from __future__ import annotations

_TRAINING = ("darts-*", "enas-*", "jaxjob-*", "mxnet-*", "pytorch-*", "simple-pbt", "tf-*", "xgboost-*")
_HOMES = ("docker.io/kubeflow", "docker.io/kubeflowkatib", "ghcr.io/kubeflow/katib", "ghcr.io/kubeflow/training-v1")
TRAINING_IMAGES = (
    *(f"{home}/{name}" for home in _HOMES for name in _TRAINING),
    "docker.io/mpioperator/mpi-pi",
    "docker.io/mpioperator/tensorflow-benchmarks",
    "docker.io/nvidia/cuda",
    "docker.io/paddlepaddle/paddle",
    "docker.io/pytorch/*",
    "docker.io/tensorflow/*",
    "docker.io/volcanosh/dist-mnist-tf-example",
    "docker.io/volcanosh/example-*",
    "docker.io/volcanosh/horovod-tf-mnist",
    "docker.io/volcanosh/pytorch-mnist-*",
    "gcr.io/kubeflow-ci/*",
    "gcr.io/kubeflow-examples/*",
    "nvcr.io/nvidia/cuda",
    "nvcr.io/nvidia/pytorch",
    "nvcr.io/nvidia/tensorflow",
)
"""Training workloads and examples; their pods run on the simulated nodes with GPUs."""

PLATFORM_IMAGES = (
    "docker.io/alpine/k8s",
    "docker.io/chrislusf/seaweedfs",
    "docker.io/istio/*",
    "docker.io/kserve/*",
    "docker.io/kubeflowkatib/*",
    "docker.io/kubeflowmanifestswg/*",
    "docker.io/kubeflownotebookswg/*",
    "docker.io/kubeflow/training-operator",
    "docker.io/library/mysql",
    "docker.io/library/postgres",
    "docker.io/library/python",
    "docker.io/metacontrollerio/*",
    "docker.io/minio/minio",
    "docker.io/seldonio/mlserver",
    "gcr.io/arrikto/*",
    "gcr.io/istio-release/*",
    "gcr.io/knative-releases/*",
    "gcr.io/kubebuilder/kube-rbac-proxy",
    "gcr.io/ml-pipeline/*",
    "gcr.io/tfx-oss-public/ml_metadata_store_server",
    "ghcr.io/dexidp/dex",
    "ghcr.io/kserve/*",
    "ghcr.io/kubeflow/dashboard/*",
    "ghcr.io/kubeflow/hub/*",
    "ghcr.io/kubeflow/katib/*",
    "ghcr.io/kubeflow/kfp-*",
    "ghcr.io/kubeflow/kubeflow/*",
    "ghcr.io/kubeflow/notebooks/*",
    "ghcr.io/kubeflow/spark-operator/*",
    "ghcr.io/kubeflow/trainer/trainer-controller-manager",
    "ghcr.io/kubeflow/training-v1/training-operator",
    "ghcr.io/metacontroller/*",
    "nvcr.io/nvidia/tritonserver",
    "public.ecr.aws/docker/library/python",
    "quay.io/argoproj/*",
    "quay.io/brancz/kube-rbac-proxy",
    "quay.io/jetstack/cert-manager-*",
    "quay.io/oauth2-proxy/oauth2-proxy",
    "registry.istio.io/release/*",
    "registry.k8s.io/jobset/jobset",
    "registry.k8s.io/kubebuilder/kube-rbac-proxy",
)
"""Components of Kubeflow 1.6.1 to 26.03.1, and replacements of images that upstream deleted.

Source: the renders of the releases' `example`; a test compares them.
"""
