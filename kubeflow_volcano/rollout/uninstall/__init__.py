"""Uninstallation: which objects go and which stay, as a plan, and its execution under the lock of roll-outs."""
