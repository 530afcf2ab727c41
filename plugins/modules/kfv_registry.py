"""Documented in kfv_registry.yml; the action plugin of the same name does the work."""
