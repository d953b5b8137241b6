"""Why one contender is slower: what differs most in what its runs cost, and how they waited."""
