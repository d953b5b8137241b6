"""An app of the tests alone: how a test with transactions of its own leaves an empty database."""
