"""Documented in kfv_kustomize.yml; the action plugin of the same name does the work."""
