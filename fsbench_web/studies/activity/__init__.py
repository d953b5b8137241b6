"""What devices, processors and memory did during runs: stored, drawn and described."""
