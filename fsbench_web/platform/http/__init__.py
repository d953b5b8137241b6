"""What every answer passes: headers, compression, errors, and whom to believe about a request."""
