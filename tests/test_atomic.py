"""Files are replaced as a whole: whatever goes wrong half-way, the old one is still there and nothing is left over."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading

import processes
import pytest

from lambdak import atomic
from lambdak.atomic import building, create_bytes, filling, whole_file, write_bytes, write_text, write_texts

ON_LINUX = pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name of Linux")
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and locks of POSIX")
WAYS = [pytest.param("", marks=ON_LINUX, id="nameless"), pytest.param("atomic._nameless = lambda _: None", id="named")]


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


@pytest.mark.parametrize("error", [ValueError, PermissionError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_file_and_its_own_error(tmp_path, error):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def fail():
        with whole_file(path) as file:
            file.write(b"half of the new one")
            raise error("mine")

    with pytest.raises(error, match=r"^mine$"):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("link", [os.link, None], ids=["nameless", "copied"])
def test_what_a_block_writes_bit_by_bit_is_there_at_its_end(tmp_path, monkeypatch, link):
    path = tmp_path / "model"
    if link is None:  # as on systems that give no names to nameless files
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(PermissionError(1, "no")))
    with whole_file(path) as file:
        for i in range(1000):
            file.write(b"%d\n" % i)
            assert not path.exists()
    assert path.read_bytes().split() == [b"%d" % i for i in range(1000)]
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


def test_of_files_that_belong_together_all_are_written_or_none(tmp_path):
    header, source = tmp_path / "a.h", tmp_path / "a.c"
    write_texts({header: "old", source: "old"})
    source.unlink()
    source.mkdir()  # the last one cannot be written
    with pytest.raises(IsADirectoryError):
        write_texts({header: "new", source: "new"})
    assert header.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.c", "a.h"]


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


@pytest.mark.parametrize("error", [errno.EROFS, errno.ENAMETOOLONG, errno.EIO])
@pytest.mark.parametrize("named", [False, True])
def test_no_error_names_a_half_written_file(tmp_path, monkeypatch, error, named):
    def refuse(path, *_, **__):
        raise OSError(error, os.strerror(error), str(path))

    if named:
        monkeypatch.setattr(os, "replace", refuse)
    else:
        monkeypatch.setattr("lambdak.atomic._nameless", lambda _: None)
        monkeypatch.setattr("lambdak.atomic._locked", refuse)
    with pytest.raises(
        OSError, match=r"model' cannot be written: .* is not writable|it cannot be written.*model'"
    ) as found:
        write_bytes(tmp_path / "model", b"")
    assert ".part" not in str(found.value)
    assert os.listdir(tmp_path) == []


@pytest.fixture
def no_room():
    """No file may become longer than 1,000 bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def by_bits(path):
    with whole_file(path) as file:
        for _ in range(100):
            file.write(bytes(100))


WRITES = {
    "at once": lambda path: write_bytes(path, bytes(100_000)),
    "by bits": by_bits,
    "at the end": lambda path: write_bytes(path, bytes(5_000)),
    "created": lambda path: create_bytes(path, bytes(5_000), 0o600),
    "of several": lambda path: write_texts({path: " " * 5_000, path.parent / "other": ""}),
}


@ON_POSIX
@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("write", WRITES)
def test_a_file_for_which_there_is_no_room_is_named(tmp_path, write):
    with pytest.raises(OSError, match="it cannot be written, file too large") as found:
        WRITES[write](tmp_path / "model")
    assert found.value.filename == str(tmp_path / "model")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full")
def test_a_device_that_is_full_is_named():
    with pytest.raises(OSError, match="it cannot be written, no space left on device: '/dev/full'"):
        write_bytes("/dev/full", b"model")


def test_a_folder_that_cannot_be_filled_is_named_and_not_its_half_written_one(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise OSError(errno.EROFS, "read-only", str(path))

    monkeypatch.setattr("pathlib.Path.mkdir", lambda path, **options: None if options else refuse(path))
    with (
        pytest.raises(PermissionError, match=r"folder' cannot be written: .* is not writable") as found,
        building(tmp_path / "folder"),
    ):
        pass
    assert ".part" not in str(found.value)


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be opened on Windows")
@pytest.mark.parametrize("way", ["replaced", "created", "folder"])
def test_the_folder_is_synced_after_the_new_name_is_in_it(tmp_path, monkeypatch, way):
    synced, sync = [], os.fsync

    def look(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            synced.append((os.fstat(handle).st_ino, sorted(os.listdir(handle))))
        sync(handle)

    monkeypatch.setattr(os, "fsync", look)
    if way == "folder":
        with building(tmp_path / "model") as folder:
            (folder / "part").write_bytes(b"")
    else:
        write_bytes(tmp_path / "model", b"") if way == "replaced" else create_bytes(tmp_path / "model", b"", 0o600)
    assert synced[-1] == (tmp_path.stat().st_ino, ["model"])


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


def stopped(path, where, way, number):
    """A process that is stopped by a signal after it wrote half of a file, or before the file is in its place."""
    code = f"""
import os
from lambdak import atomic
{way}
write = atomic._write_through
def stop(*_):
    os.kill(os.getpid(), {int(number)})
def half(file, data):
    write(file, data)
    file.truncate(1500)
    stop()
{where} = half if {where!r} == "atomic._write_through" else stop
atomic.write_bytes({str(path)!r}, b"new" * 1000)
"""
    return processes.run(code)


@ON_POSIX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", ["atomic._write_through", "os.replace"])
def test_a_writer_that_is_killed_leaves_nothing_once_the_next_one_is_done(tmp_path, where, way, number):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    assert stopped(path, where, way, number).returncode == -number
    assert path.read_bytes() == b"old"
    assert (os.listdir(tmp_path) == ["model"]) == (not way and where == "atomic._write_through")
    write_bytes(tmp_path / "other", b"")
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["model", "other"]


@ON_POSIX
@pytest.mark.parametrize("way", WAYS)
def test_what_a_living_writer_writes_is_not_removed(tmp_path, monkeypatch, way):
    path, replace, seen = tmp_path / "model", os.replace, []
    if way:
        monkeypatch.setattr(atomic, "_nameless", lambda _: None)

    def pause(source, target):  # another thread writes the same file from beginning to end
        monkeypatch.setattr(os, "replace", replace)
        other = threading.Thread(target=write_bytes, args=(path, b"other"))
        other.start()
        other.join()
        seen.append(path.read_bytes())
        replace(source, target)

    monkeypatch.setattr(os, "replace", pause)
    write_bytes(path, b"ours")
    assert seen == [b"other"]
    assert path.read_bytes() == b"ours"
    assert os.listdir(tmp_path) == ["model"]


@ON_LINUX
def test_a_system_that_gives_no_names_to_nameless_files_writes_named_ones(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_bytes(tmp_path / "model", b"new")
    assert (tmp_path / "model").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["model"]


@ON_POSIX
def test_the_longest_name_can_be_written(tmp_path):
    write_bytes(tmp_path / ("m" * 255), b"new")
    assert os.listdir(tmp_path) == ["m" * 255]


def test_a_new_file_has_the_given_rights_and_never_replaces_another(tmp_path, monkeypatch):
    path = tmp_path / "key"
    create_bytes(path, b"ours\n", 0o600)
    assert path.read_bytes() == b"ours\n"
    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        create_bytes(path, b"theirs", 0o600)
    assert path.read_bytes() == b"ours\n"

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        create_bytes(tmp_path / "other", b"", 0o600)
    assert os.listdir(tmp_path) == ["key"]


def test_a_folder_takes_the_place_of_the_old_one_when_it_is_whole(tmp_path):
    folder = tmp_path / "folder"
    for content in ("old", "new"):
        with building(folder) as beside:
            (beside / "file").write_text(content)
            assert folder.exists() == (content == "new")
        assert (folder / "file").read_text() == content
    assert os.listdir(folder) == ["file"]
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("way", [building, filling])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_interruption_leaves_the_old_folder_and_nothing_else(tmp_path, way, error):
    folder = tmp_path / "folder"
    folder.mkdir()

    def stopped():
        with way(folder) as beside:
            (beside / "file").write_text("half")
            raise error("stopped")

    with pytest.raises(error):
        stopped()
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(folder) == []


@ON_POSIX
def test_a_folder_that_is_being_filled_is_not_taken_for_left_over(tmp_path):
    folder = tmp_path / "folder"
    with filling(folder) as one, filling(folder) as other:
        assert one.exists()
        assert one != other
    assert os.listdir(tmp_path) == []


def test_a_folder_that_a_killed_writer_left_is_removed_by_the_next_of_the_same_name_only(tmp_path):
    for name in ("folder", "folder [1]", "other"):
        (tmp_path / f".{name}.0123.part").mkdir()
    with filling(tmp_path / "folder [1]"):
        pass
    assert sorted(os.listdir(tmp_path)) == [".folder.0123.part", ".other.0123.part"]
