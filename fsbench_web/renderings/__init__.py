"""Workbooks, documents, pictures: drawn once for the same content, in a process beside the web."""
