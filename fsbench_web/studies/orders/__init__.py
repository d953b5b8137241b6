"""From what somebody asks for to runs: orders, their checks, forms and documents."""
