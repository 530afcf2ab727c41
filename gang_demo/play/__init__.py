"""Playing a case on a cluster, and recording it."""
