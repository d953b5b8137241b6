"""Hardware profiles: what storage delivers, who uses them."""
