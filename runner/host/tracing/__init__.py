"""What the kernel itself says of one device and one file system while a benchmark runs."""
