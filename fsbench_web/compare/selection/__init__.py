"""What a comparison shows, as a query string and in words."""
