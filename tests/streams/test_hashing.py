"""The hash of names is the published one, on every machine and in every session."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ellipsoid.streams.scan.hashing import hash_name

# The reference implementation's values of MurmurHash3_x86_32.
PUBLISHED = [
    (b"", 0, 0x00000000),
    (b"", 1, 0x514E28B7),
    (b"", 0xFFFFFFFF, 0x81F16F39),
    (b"\xff\xff\xff\xff", 0, 0x76293B50),
    (b"\x21\x43\x65\x87", 0, 0xF55B516B),
    (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE),
    (b"\x21\x43\x65", 0, 0x7E4A8634),
    (b"\x21\x43", 0, 0xA0F7B07A),
    (b"\x21", 0, 0x72661CF4),
    (b"\x00\x00\x00\x00", 0, 0x2362F9DE),
    (b"\x00", 0, 0x514E28B7),
    (b"test", 0, 0xBA6BD213),
    (b"test", 0x9747B28C, 0x704B81DC),
    (b"Hello, world!", 0, 0xC0363E43),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"The quick brown fox jumps over the lazy dog", 0, 0x2E4FF723),
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
]


@pytest.mark.parametrize(("key", "seed", "value"), PUBLISHED)
def test_published_values(key, seed, value):
    assert hash_name(key, seed) == value


@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_agrees_with_another_implementation(key, seed):
    from sklearn.utils import murmurhash3_32

    assert hash_name(key, seed) == murmurhash3_32(key, seed, positive=True)


def test_another_session_with_another_hash_seed_gives_the_same():
    code = "from ellipsoid.streams.scan.hashing import hash_name; print(hash_name('naïve'))"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert done.stdout == f"{hash_name('naïve')}\n"
