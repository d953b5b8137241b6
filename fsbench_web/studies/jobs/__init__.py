"""From what somebody asks for to runs: jobs, their checks, forms and documents."""
