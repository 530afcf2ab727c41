"""Reports of runs: the document of one cluster or of several, and its formats."""
