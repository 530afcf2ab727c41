"""Family A: API server, nodes, images, foreign owners, versions."""
