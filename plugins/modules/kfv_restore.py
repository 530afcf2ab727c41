"""Documented in kfv_restore.yml; the action plugin of the same name does the work."""
