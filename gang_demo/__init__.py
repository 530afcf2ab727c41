"""Experiments that show what gang scheduling changes: a manifest, a control, and an oracle over the watch history."""
