"""What runs set on their host and give back: I/O schedulers, and the speed of processors."""
