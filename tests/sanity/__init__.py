"""`ansible-test sanity` on the built collection, with packages of requirements/sanity.txt and of no other place."""
