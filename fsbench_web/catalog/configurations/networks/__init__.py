"""A file system that a guest exports and mounts over itself: by NFS, or by SMB. Pure."""
