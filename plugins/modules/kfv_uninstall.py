"""Documented in kfv_uninstall.yml; the action plugin of the same name does the work."""
