"""Work profiles of people: their pages, and the job that measures what is missing."""
