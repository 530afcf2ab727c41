"""Declarative Kubeflow with gang scheduling: the library behind the roles. Knows nothing of Ansible."""

__version__ = "0.1.0"
