"""Documented in kfv_validate_clusters.yml; the action plugin of the same name does the work."""
