"""What reaches beneath numba: machine code written by hand, its cache on disk, and a server that compiles."""
