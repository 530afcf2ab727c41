"""From archives and addresses to Kubernetes objects: sources, unpacked trees, kustomize, rendering."""
