"""Objects of earlier roll-outs that nothing declares any more: found, shown, and removed when asked."""
