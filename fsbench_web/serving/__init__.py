"""`manage.py serve`: the whole of fsbench on one machine, from an empty data folder."""
