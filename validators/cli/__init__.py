"""`python -m validators`: options, commands, permissions of a run, and the manual of checks."""
