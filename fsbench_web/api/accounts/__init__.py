"""Accounts, teams and the audit log, for administrators; and one's own account."""
