"""The compiled scanners of the readers: from bytes to arrays, or the place where a text is wrong."""
