"""What pages show of rights: navigation, and what is offered to whom."""
