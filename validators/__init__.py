"""The judging half: checks of a cluster by family, probes that find out by experiment, and the report."""
