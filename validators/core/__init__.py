"""What everything else builds on: outcomes, rights, facts, checks, results."""
