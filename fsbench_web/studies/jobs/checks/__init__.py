"""Why a job cannot be carried out, part by part."""
