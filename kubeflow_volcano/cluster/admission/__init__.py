"""Admission webhooks: which objects they intercept, and objects for dry runs."""
