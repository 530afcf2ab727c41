"""Access to one Kubernetes API: client, discovery, watches, readiness. Knows nothing of Kubeflow."""
