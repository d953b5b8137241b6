"""Commands as argument lists, from closed lists of what they may hold. Pure: no Django."""
