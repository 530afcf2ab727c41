"""Roll-out of an installation: settings, sources, manifests, patches, state, plan, and one run over all of it."""
