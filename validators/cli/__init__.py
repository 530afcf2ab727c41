"""The command line: options, RBAC manifests, the manual of checks."""
