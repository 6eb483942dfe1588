"""MurmurHash3 (Appleby 2011, the 32-bit variant x86_32): the hash that gives a feature's name its column.

Its value depends on nothing but the bytes of the name and the seed: not on the machine's byte order, the version of
Python or the session. Arithmetic is done in 64 bits and cut to 32, so that no sum or product overflows on the way.
"""

import numpy as np

from .compiled import at, inlined, scanner

_BITS = 0xFFFFFFFF


@inlined
def _rotated(x, by):
    return ((x << by) | (x >> (32 - by))) & _BITS


@inlined
def _times(x, factor):
    """A product cut to 32 bits; by halves, since 64 bits with a sign do not hold it."""
    return ((x & 0xFFFF) * factor + ((((x >> 16) * factor) & 0xFFFF) << 16)) & _BITS


@inlined
def _scrambled(k):
    return _times(_rotated(_times(k, 0xCC9E2D51), 15), 0x1B873593)


@inlined
def murmur3(text, start, stop, seed, quoted):
    """The hash of ``text[start:stop]``, 0 <= hash < 2^32; if ``quoted``, of each doubled quotation mark only one."""
    h, k, n = np.int64(seed), np.int64(0), 0
    p = start
    while p < stop:
        k |= np.int64(text[at(p)]) << (8 * (n & 3))
        n += 1
        if n & 3 == 0:
            h = (_times(_rotated(h ^ _scrambled(k), 13), 5) + 0xE6546B64) & _BITS
            k = np.int64(0)
        p += 2 if quoted and text[at(p)] == 34 else 1
    h ^= _scrambled(k)
    h ^= n
    h = _times(h ^ (h >> 16), 0x85EBCA6B)
    h = _times(h ^ (h >> 13), 0xC2B2AE35)
    return h ^ (h >> 16)


@scanner
def hash_strings(data, offsets, seeds, mask, out):
    """The hashes of the strings between consecutive offsets, each with its own seed, cut by the mask."""
    for i in range(out.size):
        out[i] = murmur3(data, offsets[i], offsets[i + 1], seeds[i], False) & mask


def hash_name(name: str | bytes, seed: int = 0) -> int:
    """The 32-bit hash of a name (UTF-8).

    >>> hash_name("Hello, world!", seed=1234), hash_name("")
    (4210478515, 0)
    """
    text = bytearray(name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name)
    out = np.empty(1, dtype=np.int64)
    hash_strings(np.frombuffer(text, dtype=np.uint8), np.array([0, len(text)]), np.array([seed]), _BITS, out)
    return int(out[0])
