"""Documented in kfv_backup.yml; the action plugin of the same name does the work."""
