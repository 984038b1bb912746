import os
import signal
import zipfile
from pathlib import Path

import pytest

from hinge.files.model_files import load, save
from hinge.files.replacing import replacing

# --- whole or not at all ---------------------------------------------------------------------------


@pytest.fixture(autouse=True, params=["unnamed", "named"])
def way(request, monkeypatch):
    """Files without a name while they are written, where the system has such, and files with one."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    return request.param


class Trouble(BaseException):
    """As hard to catch as Ctrl-C."""


def at_once(real):
    def broken(*args, **options):
        raise Trouble

    return broken


def after_three_calls(real):
    calls = []

    def broken(*args, **options):
        calls.append(args)
        if len(calls) > 3:
            raise Trouble
        return real(*args, **options)

    return broken


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("owner", "name", "break_it"),
    [
        (os, "replace", at_once),
        (os, "fsync", at_once),
        (os, "open", at_once),
        (os, "fdopen", at_once),
        (zipfile.ZipFile, "writestr", after_three_calls),
    ],
)
def test_a_failed_write_leaves_what_was_there(there, owner, name, break_it, fitted, tmp_path, monkeypatch):
    path = tmp_path / "m.hinge"
    if there:
        path.write_bytes(b"what was there")
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, break_it(getattr(owner, name)))
        with pytest.raises(Trouble):
            save(fitted, path)
    assert [file.name for file in tmp_path.iterdir()] == (["m.hinge"] if there else [])
    if there:
        assert path.read_bytes() == b"what was there"


def test_the_old_file_is_there_until_the_new_one_is(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with replacing(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_links_are_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "f").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "there" / "f")
    with replacing(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "f").read_bytes() == b"new"


def test_devices_are_written_and_stay(fitted):
    save(fitted, os.devnull)
    assert not Path(os.devnull).is_file()


def test_places_that_are_none(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        save(fitted, tmp_path / "none" / "m.hinge")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(fitted, tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        load(tmp_path / "m.hinge")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed in a fork")
def test_a_killed_writer_leaves_nothing_but_what_the_next_one_removes(way, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    child = os.fork()
    if child == 0:
        with replacing(path) as stream:
            stream.write(b"new")
            stream.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    left = [file.name for file in tmp_path.iterdir() if file != path]
    assert path.read_bytes() == b"old" and len(left) == (way == "named")
    with replacing(path) as stream:
        stream.write(b"newest")
    assert path.read_bytes() == b"newest" and list(tmp_path.iterdir()) == [path]
