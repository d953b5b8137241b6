"""The answer as an image, and the addresses of slides that lead to it."""
