"""elbencho's results: CSV (--csvfile), JSON (--jsonfile), and the table that it prints."""
