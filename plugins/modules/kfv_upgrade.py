"""Documented in kfv_upgrade.yml; the action plugin of the same name does the work."""
