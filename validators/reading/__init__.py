"""Reading one snapshot of a cluster, with no more rights than the chosen checks need."""
