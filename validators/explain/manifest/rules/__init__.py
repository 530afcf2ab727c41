"""Rules about manifests: each is a function from a manifest and facts to flaws."""
