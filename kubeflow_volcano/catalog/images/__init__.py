"""What is known about images: where they hide, which are gone, which mirrors serve them, what they were built for."""
