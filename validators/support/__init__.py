"""The support bundle: objects, events and logs of the platform without credentials, in one archive for maintainers."""
