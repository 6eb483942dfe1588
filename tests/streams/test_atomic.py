"""Files written whole or not at all take the place of old ones without changing what else is known of them."""

import os
import stat
import threading

import numpy as np
import pytest

from ellipsoid import MIRA, load
from ellipsoid.streams.atomic import atomic_write, check_folder

unix = pytest.mark.skipif(os.name == "nt", reason="modes, links and pipes of Unix")


@unix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444, 0o664])
def test_the_mode_of_an_old_file_stays(mode, tmp_path):
    path = tmp_path / "m"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path) as file:
        file.write("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@unix
@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_one(exists, tmp_path):
    """Also one that points to nothing yet, and one to a link."""
    (tmp_path / "store").mkdir()
    target, link, other = tmp_path / "store" / "m", tmp_path / "link", tmp_path / "link to a link"
    if exists:
        target.write_text("old")
        target.chmod(0o600)
    link.symlink_to(os.path.join("store", "m"))
    other.symlink_to(link)
    with atomic_write(other) as file:
        file.write("new")
    assert link.is_symlink()
    assert other.is_symlink()
    assert target.read_text() == link.read_text() == "new"
    assert os.listdir(tmp_path / "store") == ["m"]
    assert not exists or stat.S_IMODE(target.stat().st_mode) == 0o600


@unix
def test_a_failure_leaves_a_linked_file_as_it_was(tmp_path):
    target, link = tmp_path / "m", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)

    def fail():
        with atomic_write(link) as file:
            file.write("half of")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["link", "m"]


@unix
def test_a_pipe_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    model = MIRA().fit(np.eye(2), ["a", "b"])
    model.save(pipe)
    reader.join(10.0)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]
    (tmp_path / "m").write_bytes(read[0])
    assert load(tmp_path / "m").predict(np.eye(2)).tolist() == ["a", "b"]


@unix
def test_a_file_that_a_process_holds_open_is_written_into(tmp_path):
    check_folder("/dev/null")
    with open(tmp_path / "out", "w+b") as file:
        with atomic_write(f"/dev/fd/{file.fileno()}", "wb") as out:
            out.write(b"new")
        assert os.fstat(file.fileno()).st_ino == (tmp_path / "out").stat().st_ino
        assert (tmp_path / "out").read_bytes() == b"new"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        check_folder(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"), atomic_write(tmp_path):
        pass


def test_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("old")

    def fail():
        with atomic_write(path) as file:
            file.write("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@unix
def test_a_file_without_room_is_named(tmp_path):
    """The system does not say of which file it ran out of room."""
    import resource

    path = tmp_path / "m"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match=f"too large: '{path}'"), atomic_write(path) as file:
            file.write("new" * 10000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["m"]


def test_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"the folder of .* does not exist"),
        atomic_write(tmp_path / "no" / "a"),
    ):
        pass


@unix
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_is_as_readable_as_any_other_new_one(tmp_path, mask):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "a") as file:
            file.write("1")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~mask
