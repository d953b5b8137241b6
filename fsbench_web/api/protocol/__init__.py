"""What all calls of the API share: bodies, pages of lists, errors, ETags, limits, description."""
