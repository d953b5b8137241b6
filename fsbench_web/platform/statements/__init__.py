"""SQL whose text is made once in a process, and planned once a connection."""
