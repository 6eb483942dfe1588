"""Where examples come from: named data sets, files, and any iterable, all read as chunks of rows."""
