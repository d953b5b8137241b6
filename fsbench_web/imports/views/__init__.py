"""Pages of uploads, column mappings and reading again."""
