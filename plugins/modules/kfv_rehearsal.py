"""Documented in kfv_rehearsal.yml; the action plugin of the same name does the work."""
