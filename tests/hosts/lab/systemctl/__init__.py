"""Stand-in for systemctl on a test host, where systemd does not run: it starts and stops services from unit files.

Runs on the host's own Python, 3.9 or newer, with nothing but the standard library.
"""
