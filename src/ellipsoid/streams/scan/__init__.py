"""From bytes to arrays: the compiled scanners of the readers, which allocate nothing and say where a text is wrong."""
