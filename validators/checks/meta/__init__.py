"""Family I: the run itself."""
