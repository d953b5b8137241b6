"""Charts that need no browser: laid out once, drawn as SVG or as pixels."""
