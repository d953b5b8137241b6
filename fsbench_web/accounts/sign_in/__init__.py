"""Signing in and out, by password or an OpenID provider; the account's own pages."""
