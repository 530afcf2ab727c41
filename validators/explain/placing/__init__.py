"""Why pods fit on no node: predicates, room, claims."""
