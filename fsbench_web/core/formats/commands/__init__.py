"""Small commands that say a rate: dd, hdparm and ioping."""
