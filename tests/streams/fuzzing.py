"""Texts damaged at random, and plain readers that say what is right of them.

``python -m tests.streams.fuzzing svmlight 100000 0`` reads so many texts drawn from a seed, and prints those on which
the compiled readers and the plain ones disagree.
"""

import io
import math
import random
import re
import sys

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers import blocks
from ellipsoid.streams.scan.hashing import hash_name

SEEDS = {
    "svmlight": [
        b"1 1:0.5 3:-2e3 7:12\n-1 2:1\n# a comment\n+3 qid:4 1:1 5:0.000123 # why\n\n2.5 10:1e-5 11:7\r\n",
        b"0 0:1 1:2 2:3.25 3:4\n1 0:5 1:6.125 2:7 3:8\n2 0:9\n",
        b"7\t1:123456789012345678901234567890 2:0.1234567890123456789\n3 1:5e-324 2:1.7976931348623157e308\n",
        b"1 1:1\n" * 20,
    ],
    "vw": [
        b"1 |a x y:2 |b:0.5 z:3.25 w\n2 1.0 'tag |a x\n\n3 'tag| q r:-1e3\n1|a b|c d\r\n",
        b"-1 2 0.5 'x |user age:31 name=joe |item:2 id7 price:9.99\n1 |f 1:2 2:3 3:4\n",
        b"0.5 |n a:123456789012345678901234567890 b:1e-320 |n a\n2 |\n",
        b"1 |a b c d\n" * 20,
    ],
    "csv": [
        b'0.5,-2e3,red,1\n 7 ,"12","a ""b""",2\r\n\n,?,NA,0\n3,4,"x,y",2.5\n1e-5,+.5,n/a,-1\n',
        b"123456789012345678901234567890,0.1234567890123456789,,3\n5e-324,1.7976931348623157e308,z,4\n",
        b"1,2,blue,0\n" * 20,
    ],
}
# The first line of every table is whole: it says which columns are of numbers.
PREFIX = {"csv": b"1,2.5,x,0\n"}
SPLINTERS = rb"""\n \r \t : | # ' - + . , e E5 e999 e-999 \0 \xff \xc3\xa9 nan inf qid: qid:1 0: 1e309
99999999999999999999
0000000000 2147483648:1 16777216:1 \x0b \x7f 1_0 0x10 1| |: |a:0 :: \x22 \x20 \x20|a \x200:1 \x20:1"""
SPLINTERS = [part.decode("unicode_escape").encode("latin-1") for part in SPLINTERS.split()]
BLOCKS = (1, 3, 10, 37, 200, 1 << 20)
BITS = 6


def mutated(kind, rng):
    """A text, damaged in one to five places."""
    text = bytearray(rng.choice(SEEDS[kind]))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text) + 1)
        action = rng.randrange(7)
        if action == 0:
            text[at : at + 1] = bytes([rng.randrange(256)])
        elif action == 1:
            del text[at : at + rng.randrange(1, 12)]
        elif action == 2:
            text[at:at] = rng.choice(SPLINTERS)
        elif action == 3:
            text[at:at] = text[at : at + rng.randrange(1, 30)] * rng.randrange(1, 4)
        elif action == 4:
            del text[at:]
        elif action == 5:
            text[at:at] = b"%d" % rng.getrandbits(rng.randrange(1, 80))
        else:
            other = rng.choice(SEEDS[kind])
            text[at:at] = other[rng.randrange(len(other)) :]
    return PREFIX.get(kind, b"") + text


NUMERAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BLANK = re.compile(rb"[ \t\r]+")


class Wrong(Exception):
    """A line that is wrong."""


class Undecided(Exception):
    """A text of which the plain reader says nothing."""


def number(word):
    if not NUMERAL.fullmatch(word) or not math.isfinite(float(word)):
        raise Wrong(word)
    return float(word)


def plain_svmlight(line):
    """Label and features of a line, None if it is blank."""
    words = [word for word in BLANK.split(line.split(b"#")[0]) if word]
    if not words:
        return None
    label, features, last = number(words[0]), {}, -1
    for word in words[1:]:
        if word.startswith(b"qid:"):
            if any(byte <= 32 for byte in word):
                raise Wrong(word)
            continue
        index, colon, value = word.partition(b":")
        if not colon or not re.fullmatch(rb"[0-9]+", index) or not last < int(index) < 2**24:
            raise Wrong(word)
        last = int(index)
        features[last] = number(value)
    return label, features


def plain_vw(line):
    """Label and hashed features of a line, None if it is blank."""
    line = line.rstrip(b"\r")
    if b"\r" in line:
        raise Wrong(line)
    line = line.strip(b" \t")
    if not line:
        return None
    head, bar, body = line.partition(b"|")
    words = [word for word in BLANK.split(head) if word]
    if not bar or not 1 <= len(words) <= 4:
        raise Wrong(line)
    touching = not head.endswith((b" ", b"\t"))
    for i, word in enumerate(words[1:], start=2):
        tag = i == len(words) and (touching or word.startswith(b"'"))
        if b":" in word or not (tag or (i < 4 and NUMERAL.fullmatch(word))):
            raise Wrong(word)
    if len(words) > 1 and not ((touching and len(words) == 2) or words[1].startswith(b"'")):
        number(words[1])
        if words[1].startswith(b"-"):
            raise Wrong(words[1])
    label, features = number(words[0]), {}
    for part in body.split(b"|"):
        first = BLANK.split(part)[0]
        rest = [word for word in BLANK.split(part[len(first) :]) if word]
        namespace, colon, factor = first.partition(b":")
        scale = number(factor) if colon else 1.0
        if colon and (len(factor) > 17 or (scale and not 1e-290 < abs(scale) < 1e290)):
            raise Undecided
        for word in rest:
            name, colon, value = word.partition(b":")
            if not name:
                raise Wrong(word)
            found = (number(value) if colon else 1.0) * scale
            if not math.isfinite(found):
                raise Wrong(word)
            column = hash_name(name, hash_name(namespace)) & (2**BITS - 1)
            features[column] = features.get(column, 0.0) + found
    return label, features


def cells(line):
    """The cells of a line of a table."""
    found, rest = [], line
    while True:
        rest = rest.lstrip(b" \t\r")
        if rest.startswith(b'"'):
            quoted = re.match(rb'"((?:[^"]|"")*)"[ \t\r]*(?:,|$)', rest)
            if not quoted:
                raise Wrong(line)
            found.append(quoted.group(1).replace(b'""', b'"'))
            rest, more = rest[quoted.end() :], quoted.group().endswith(b",")
        else:
            cell, more, rest = rest.partition(b",")
            found.append(cell.rstrip(b" \t\r"))
        if not more:
            return found


def missing(cell):
    return cell in (b"", b"?") or bytes(byte | 32 for byte in cell) in (b"na", b"n/a", b"nan", b"null", b"none")


def plain_csv(line):
    """Label and features of a line of two numbers, a word and a label; None if it is blank."""
    if not line.strip(b" \t\r"):
        return None
    found = cells(line)
    if len(found) != 4 or missing(found[3]):
        raise Wrong(line)
    numbers = [0.0 if missing(cell) else number(cell) for cell in found[:2]]
    features = {j: value for j, value in enumerate(numbers) if value}
    if not missing(found[2]):
        features[2 + (hash_name(found[2], hash_name("2")) & (2**BITS - 1))] = 1.0
    return number(found[3]), features


PLAIN = {"svmlight": plain_svmlight, "vw": plain_vw, "csv": plain_csv}
OPTIONS = {
    "svmlight": {"zero_based": True},
    "vw": {"bits": BITS},
    "csv": {"bits": BITS, "header": False, "missing": "zero"},
}


def expected(kind, text):
    """The good rows of a text, and the number of the line that is wrong, if one is."""
    rows = []
    for number_, line in enumerate(text.split(b"\n"), start=1):
        try:
            row = PLAIN[kind](line)
        except Wrong:
            return rows, number_
        if row is not None:
            rows.append(row)
    return rows, None


def found(kind, text, size):
    """The same by the reader under test."""
    blocks.BLOCK_BYTES, kept = size, blocks.BLOCK_BYTES
    rows = []
    try:
        for X, y, _ in open_stream(io.BytesIO(text), format=kind, **OPTIONS[kind]):
            for i, label in enumerate(y.tolist()):
                part = slice(X.indptr[i], X.indptr[i + 1])
                rows.append((label, dict(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))))
    except ValueError as error:
        line = re.search(r", line (\d+): ", str(error))
        return rows, int(line.group(1)) if line else None
    finally:
        blocks.BLOCK_BYTES = kept
    return rows, None


def disagreement(kind, text, size):
    """What the two readers say of a text, if it is not the same."""
    try:
        right = expected(kind, text)
    except Undecided:
        return None
    ours = found(kind, text, size)
    if ours[1] == right[1] and len(ours[0]) == len(right[0]) and all(map(_same, ours[0], right[0])):
        return None
    return f"{kind}, blocks of {size}: {text!r}\n  read {ours}\n  right {right}"


def _same(ours, right):
    return (
        ours[0] == right[0]
        and ours[1].keys() == right[1].keys()
        and all(math.isclose(value, right[1][column], rel_tol=1e-12) for column, value in ours[1].items())
    )


def campaign(kind, count, seed):
    """The disagreements among so many damaged texts drawn from a seed."""
    rng = random.Random(f"{kind} {seed}")
    for _ in range(count):
        text, size = mutated(kind, rng), rng.choice(BLOCKS)
        problem = disagreement(kind, text, size)
        if problem:
            yield problem


if __name__ == "__main__":
    chosen, many, start = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    problems = list(campaign(chosen, many, start))
    print(*problems[:20], f"{len(problems)} disagreements among {many} texts", sep="\n")
    sys.exit(bool(problems))
