"""Runs in the profile controller of Pipelines (1.11 and later) in place of sync.py, which it uses.

sync.py makes a user in SeaweedFS for a namespace whose Secret it does not see, and then sets or deletes the lifecycle
of the bucket. So it is shown the Secret, with the key of the inventory, and of its answer the addresses are changed.
"""

import base64
import importlib
import json
import os
from typing import Any

sync: Any = importlib.import_module("sync")  # beside it in the pod
STORE = json.loads(os.environ["KUBEFLOW_STORE"])
SECRET = {"secretName": "mlpipeline-minio-artifact", "accessKeyKey": "accesskey", "secretKeyKey": "secretkey"}


def secret_for(namespace: str) -> Any:
    """The Secret with the key, for the programs of that namespace."""
    texts = {"accesskey": os.environ["AWS_ACCESS_KEY_ID"], "secretkey": os.environ["AWS_SECRET_ACCESS_KEY"]}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET["secretName"], "namespace": namespace},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }


def with_store(obj: Any) -> Any:
    """An object of a namespace with the addresses of the store."""
    data = obj.get("data") or {}
    if obj["metadata"]["name"] == "artifact-repositories":
        repository = json.loads(data["default-namespaced"])
        repository["s3"].update(STORE["s3"])
        data["default-namespaced"] = json.dumps(repository)
    elif obj["metadata"]["name"] == "kfp-launcher":
        default = dict(STORE["provider"], credentials={"fromEnv": False, "secretRef": SECRET})
        data["providers"] = json.dumps({"minio": {"default": default}})
    return obj


def main() -> None:
    """Serve what metacontroller asks, as sync.py does."""
    sync.S3_BUCKET_NAME = STORE["bucket"]
    server = sync.server_factory(**sync.get_settings_from_env())
    handler = server.RequestHandlerClass
    of_upstream = handler.sync

    def answer(self: Any, parent: Any, attachments: Any) -> Any:
        namespace = parent["metadata"]["name"]
        secrets = dict(attachments["Secret.v1"], **{f"{namespace}/{SECRET['secretName']}": secret_for(namespace)})
        given = of_upstream(self, parent, dict(attachments, **{"Secret.v1": secrets}))
        return dict(given, attachments=[with_store(obj) for obj in given["attachments"]])

    handler.sync = answer
    server.serve_forever()


if __name__ == "__main__":
    main()
