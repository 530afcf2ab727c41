"""Images: every reference found, renamed by override and mirror rule, judged without a registry, listed for tools."""
