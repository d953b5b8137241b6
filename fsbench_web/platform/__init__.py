"""What Django and every process need: environment, log lines, security, errors, the clock."""
