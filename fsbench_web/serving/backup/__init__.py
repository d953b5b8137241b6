"""The whole installation as a folder: the database, which holds raw output too, and a manifest."""
