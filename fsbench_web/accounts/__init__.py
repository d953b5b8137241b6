"""Who somebody is and what they may do: accounts, tokens, rights, teams, audit log."""
