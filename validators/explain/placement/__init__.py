"""What keeps the pods off the nodes: claims, node rules, and too little room for the whole gang."""
