"""The programs and images of a rehearsal cluster: generations as data, builds, downloads, caches."""
