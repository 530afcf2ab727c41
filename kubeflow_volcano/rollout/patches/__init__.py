"""Changes to the manifests of upstream, each a pure function of settings and objects."""
