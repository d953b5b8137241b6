"""Why an order cannot be carried out, part by part."""
