"""CRDs that cannot be changed in one request: stored versions that disappear, conversions by webhook that end."""
