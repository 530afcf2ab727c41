"""Jobs before they are created: manifests, judged by rules that each are one function."""
