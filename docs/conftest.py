"""The scripts that draw the pictures hold no examples, and import one another by bare names."""

collect_ignore = ["figures"]
