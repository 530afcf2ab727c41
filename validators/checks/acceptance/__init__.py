"""Family J: acceptance, by examples that run on the cluster. Only on request."""
