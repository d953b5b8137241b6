"""What is derived of a run when it ends, beside the numbers that its tool printed."""
