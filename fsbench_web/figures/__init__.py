"""Data in, Plotly figure out; no ORM."""
