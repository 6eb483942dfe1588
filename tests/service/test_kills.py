"""``kill -9`` at any moment: nothing that was acknowledged is lost, nothing is learned twice, and the model is the one
that ``ellipsoid learn`` makes of the journal's examples, byte for byte.
"""

import json
import random
import time
from collections import Counter

import pytest
from click.testing import CliRunner

from ellipsoid.cli import main

from .conftest import COMMAND, Server
from .load import Load

PATH = "/v1/models/colours"


def learned_from_the_journal(folder, target):
    """The numbers of the journal's examples, and the model file that the command line makes of them."""
    runner = CliRunner()
    rows = runner.invoke(main, ["replay", str(folder), "colours", "--rows", "-"])
    assert rows.exit_code == 0, rows.output
    if not rows.stdout:
        return [], None
    learned = runner.invoke(
        main,
        ["learn", "-", "--format", "jsonl", "--model", "MIRA", "--save", str(target)],
        input=rows.stdout,
    )
    assert learned.exit_code == 0, learned.output
    return [int(json.loads(line)["x"][0]) for line in rows.stdout.splitlines()], target.read_bytes()


def kill_again_and_again(tmp_path, kills, seed):
    chance = random.Random(seed)
    server = Server(tmp_path / "store", "--snapshot-seconds", 1, "--snapshot-rows", 300, compiled=True)
    try:
        server.start()
        assert server.call("PUT", PATH, {"learner": "MIRA"})[0] == 201
        load = Load(server, PATH, seed)
        for kill in range(kills):
            load.begin()
            time.sleep(chance.uniform(0.05, 1.0))
            server.kill()
            load.end()
            # Sometimes as a new program, and not as a copy of one that has everything imported.
            server.program = COMMAND if kill % 8 == 7 else None
            if kill % 5 == 4:  # also while it is starting
                server.start(wait=False)
                time.sleep(chance.uniform(0.02, 0.6))
                server.kill()
            server.start()
            numbers, expected = learned_from_the_journal(server.folder, tmp_path / "expected.model")
            often = Counter(numbers)
            assert [number for number in load.acknowledged if often[number] == 0] == [], "acknowledged and lost"
            assert [number for number in numbers if often[number] > 1] == [], "learned twice"
            assert set(numbers) <= load.sent
            if expected is not None:
                status, file = server.call("GET", f"{PATH}/file")
                assert (status, file == expected) == (200, True), f"another model after kill {kill + 1}"
        assert load.faults == []
        assert len(load.acknowledged) > 20 * kills
        assert load.predictions > kills
        code, _ = server.stop()
        assert code == 0
    finally:
        server.close()


def test_five_kills_lose_nothing(tmp_path):
    kill_again_and_again(tmp_path, kills=5, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_a_hundred_kills_lose_nothing(tmp_path, seed):
    kill_again_and_again(tmp_path, kills=25, seed=seed)
