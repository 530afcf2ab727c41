"""Family F: Volcano, its configuration, queues, and what earlier failures left."""
