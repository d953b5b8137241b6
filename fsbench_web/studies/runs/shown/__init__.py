"""What the page of one run says of it: conditions, quality, scores, probe. No HTTP here."""
