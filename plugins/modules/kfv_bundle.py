"""Documented in kfv_bundle.yml; the action plugin of the same name does the work."""
