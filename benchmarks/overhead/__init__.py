"""What a run costs beside the benchmark, and whether that changes what is measured."""
