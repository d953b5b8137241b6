"""Charts that need no browser: laid out once, drawn as SVG, on a PDF page, or as pixels."""
