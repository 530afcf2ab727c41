"""What this machine offers, and whether a rehearsal cluster can run on it."""
