"""Comparisons: delta tables, pictures, permalinks, watches, exports, reports."""
