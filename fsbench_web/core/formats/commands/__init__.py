"""Commands that say a rate in a few lines: dd, hdparm, ioping and compilebench."""
