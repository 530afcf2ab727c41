"""Documented in kfv_volumes.yml; the action plugin of the same name does the work."""
