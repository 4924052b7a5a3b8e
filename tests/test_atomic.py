"""Files are replaced as a whole: whatever goes wrong half-way, the old one is still there and nothing is left over."""

from __future__ import annotations

import os
import stat

import pytest

from lambdak.atomic import write_bytes, write_text


def test_text_and_bytes_arrive_as_they_are(tmp_path):
    write_text(tmp_path / "a.txt", "λ_k\r\n")
    write_bytes(str(tmp_path / "b"), b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == "λ_k\r\n".encode()
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b"]


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, error):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def fail(*_):
        raise error("stopped")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(error):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_the_new_file_is_complete_before_it_takes_the_place_of_the_old_one(tmp_path, monkeypatch):
    path, seen = tmp_path / "model", []
    path.write_bytes(b"old")
    replace = os.replace

    def look(source, target):
        seen.append((source.read_bytes(), path.read_bytes(), source.parent == tmp_path))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    write_bytes(path, b"new")
    assert seen == [(b"new", b"old", True)]
    assert path.read_bytes() == b"new"


def test_an_absent_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"does not exist: create .*nowhere first"):
        write_bytes(tmp_path / "nowhere" / "model", b"")


def test_a_folder_cannot_be_overwritten(tmp_path):
    with pytest.raises(OSError, match=str(tmp_path)):
        write_bytes(tmp_path, b"")


def test_a_folder_that_is_not_writable_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("lambdak.atomic._write_through", refuse)  # root may write anywhere
    with pytest.raises(PermissionError, match=r"'.*model' cannot be written: .* is not writable"):
        write_bytes(tmp_path / "model", b"")


@pytest.mark.skipif(os.name != "posix", reason="rights and links of POSIX")
def test_links_are_followed_and_rights_are_kept(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="the file mode mask of POSIX")
def test_a_new_file_has_the_usual_rights(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    write_bytes(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_a_device_is_written_to_and_stays():
    write_bytes("/dev/null", b"data")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
