"""What is known of the kinds that releases bring."""
