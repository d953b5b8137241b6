"""The site under load: its clients, its runs, and what both say of it."""
