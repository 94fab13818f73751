"""What is written is there whole or not at all, whenever the process is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from macfm._replace import move_file, replace_file, replace_folder

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")

MODULE = Path(__file__).parents[1] / "src" / "macfm" / "_replace.py"

# Writes in a process that is killed before its first, second, ... call of the system,
# until one comes through, and tells what was there after each and after a second run.
KILLED = f"""
import importlib.util, json, os, signal, sys
spec = importlib.util.spec_from_file_location("replace", {str(MODULE)!r})
replace = importlib.util.module_from_spec(spec)
spec.loader.exec_module(replace)
calls = ("open", "os.", "shutil.", "fcntl.")

def tree(folder):
    found = {{}}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            found[os.path.relpath(path, folder)] = open(path).read()
    return found

def write(word):
    if sys.argv[1] == "file":
        replace.replace_file("out.csv", word.encode())
        return
    files = [(f"draw_{{k}}.csv", word.encode()) for k in range(3)]
    replace.replace_folder("out", files, stale=lambda name: name.startswith("draw_"))

def killed_at(n):
    left = n
    def hook(event, args):
        nonlocal left
        if event.startswith(calls):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if not child:
        sys.addaudithook(hook)
        write("new")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

start, n, seen = tree("."), 0, []
while True:
    n += 1
    killed = killed_at(n) != 0
    after = tree(".")
    write("newer")
    seen.append((after, tree(".")))
    if not killed:
        break
    for name in tree("."):
        os.remove(name)
    for name, text in start.items():
        with open(name, "w") as file:
            file.write(text)
print(json.dumps(seen))
"""


def states(folder, what):
    """What lay in a folder after each kill, and after the run that followed it."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", KILLED, what],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def finished(tree):
    return {name: text for name, text in tree.items() if not name.startswith(".")}


@pytest.mark.parametrize("start", [{}, {"out.csv": "old"}], ids=["new", "replaced"])
def test_a_killed_process_leaves_a_whole_file(tmp_path, start):
    for name, text in start.items():
        (tmp_path / name).write_text(text)
    seen = states(tmp_path, "file")
    assert len(seen) > 5
    for after, then in seen:
        assert finished(after) in (start, {"out.csv": "new"})
        assert then == {"out.csv": "newer"}
    assert any(finished(after) != after for after, _ in seen)


def test_a_killed_process_leaves_all_files_of_a_folder(tmp_path):
    (tmp_path / "out" / "sub").mkdir(parents=True)
    old = {f"out/draw_{k}.csv": "old" for k in range(5)}
    new = {f"out/draw_{k}.csv": "new" for k in range(3)}
    mine = {"out/mine.txt": "mine", "out/sub/mine.txt": "mine"}
    for name, text in (old | mine).items():
        (tmp_path / name).write_text(text)
    seen = states(tmp_path, "folder")
    assert len(seen) > 20
    n_between = 0
    for after, then in seen:
        # Between two renames the folder is away, and the next run puts it back.
        n_between += finished(after) == {}
        assert finished(after) in (old | mine, new | mine, {})
        assert then == dict.fromkeys(new, "newer") | mine
    assert n_between == 1


def unfinished(folder):
    return sorted(path for path in os.listdir(folder) if path.startswith("."))


def test_work_in_progress_stays(tmp_path):
    def files():
        yield "a", b"1"
        replace_file(tmp_path / "other", b"2")
        replace_folder(tmp_path / "out", [("b", b"2")], stale=lambda name: True)
        left.extend(unfinished(tmp_path))
        yield "c", b"3"

    left = []
    replace_folder(tmp_path / "out", files(), stale=lambda name: True)
    # Writing to another place, and to the same, spared what was still being written.
    assert len(left) == 1
    assert sorted(os.listdir(tmp_path / "out")) == ["a", "c"]
    assert sorted(os.listdir(tmp_path)) == ["other", "out"]


def test_a_leftover_of_another_place_stays(tmp_path):
    seen = states(tmp_path, "file")
    leftover = next(name for after, _ in seen for name in after if name[0] == ".")
    (tmp_path / leftover).write_text("")
    replace_file(tmp_path / "out.csv.gz", b"")
    replace_file(tmp_path / "out", b"")
    assert (tmp_path / leftover).exists()
    replace_file(tmp_path / "out.csv", b"")
    assert not (tmp_path / leftover).exists()


def test_errors_name_the_place(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (
        lambda path: replace_file(path, b"x"),
        lambda path: replace_folder(path, [("a", b"x")], stale=lambda name: True),
    ):
        with pytest.raises(OSError, match="No space left on device") as caught:
            write(tmp_path / "out")
        assert caught.value.filename == str(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_finished_file_takes_the_place_of_another(tmp_path):
    for before in (None, b"old"):
        (tmp_path / "new").write_bytes(b"new")
        if before is not None:
            (tmp_path / "out").write_bytes(before)
        move_file(tmp_path / "new", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["out"]
    with pytest.raises(FileNotFoundError) as caught:
        move_file(tmp_path / "new", tmp_path / "out")
    assert caught.value.filename == str(tmp_path / "out")
