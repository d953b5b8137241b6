"""Pages of no app: home, glossary, guide."""
