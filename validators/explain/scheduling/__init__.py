"""What keeps a scheduler from admitting or scheduling the gang: scheduler, queue, shares, priorities."""
