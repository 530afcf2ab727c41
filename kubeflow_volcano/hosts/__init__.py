"""What is known about hosts, as pure data and rules: no connection, no Ansible."""
