"""Workbooks, documents, pictures: made once for the same content, in another process."""
