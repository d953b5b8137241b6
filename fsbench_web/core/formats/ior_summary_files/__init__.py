"""What IOR writes with ``-O summaryFormat=JSON`` or ``CSV``, and mdtest with rank details."""
