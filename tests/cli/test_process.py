"""The command as a process: start-up, pipes, interruptions."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import macfm as package

SOURCE = str(Path(package.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}
QUICK = ["--set", "max_steps=4", "--set", "d_model=8"]


def macfm(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "macfm", *words],
        capture_output=True,
        check=False,
        **{"env": ENVIRONMENT} | options,
    )


def test_help_needs_neither_torch_nor_pandas():
    probe = (
        "import sys; from macfm.cli._main import macfm\n"
        "macfm.main(['--help'], standalone_mode=False)\n"
        "print({'torch', 'pandas', 'numpy', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_help_of_a_command_needs_no_torch():
    probe = (
        "import sys; from macfm.cli._main import COMMANDS, macfm\n"
        "for name in COMMANDS:\n"
        "    if name != 'bench':\n"
        "        macfm.main([name, '--help'], standalone_mode=False)\n"
        "print({'torch', 'pandas', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_bytes_go_through_a_pipe(folder):
    text = "a;b\r\n1,50;x\r\n;\xe4\r\n2,25;\r\n".encode("cp1252")
    done = macfm("impute", "-", "-o", "-", *QUICK, input=text)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split(b"\r\n")
    assert lines[1] == b"1,50;x"
    assert lines[2].endswith(b";\xe4")
    assert lines[3].startswith(b"2,25;")
    assert lines[4] == b""


@pytest.mark.skipif(os.name != "posix", reason="pipes of a POSIX shell")
@pytest.mark.parametrize(
    "words", ["inspect big.csv --quick -v", "inspect big.csv --json"]
)
def test_a_closed_pipe_ends_quietly(folder, words):
    names = ",".join(f"column_{k}" for k in range(800))
    rows = "\n".join(",".join("1" for _ in range(800)) for _ in range(3))
    (folder / "big.csv").write_text(f"{names}\n{rows}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "macfm", *words.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert error == b""


CLOSED = "standard output: cannot be written (it is closed)"
FULL = "standard output: cannot be written (No space left on device)"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="devices of Linux")
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("impute numbers.csv -o - >&-", 1, CLOSED),
        ("impute numbers.csv -o - > /dev/full", 1, FULL),
        ("impute patients.csv --only age -q -o out.csv >&-", 0, ""),
        ("impute patients.csv --only age -o out.csv 2>&-", 0, ""),
        ("info none.macfm <&- >&- 2>&-", 1, ""),
        ("inspect numbers.csv --quick > /dev/full", 1, FULL),
        ("--help >&-", 1, CLOSED),
        ("--version > /dev/full", 1, FULL),
    ],
)
def test_streams_that_are_closed_or_full(folder, words, code, message):
    if words.startswith("impute"):
        words = words.replace(" -o", f" {' '.join(QUICK)} -o", 1)
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m macfm {words}"],
        capture_output=True,
        check=False,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == code, done.stderr
    assert done.stderr == (f"Error: {message}\n" if message else "")
    assert done.stdout == ""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("name", "words"), [("SIGTERM", "-o out/ --draws 3"), ("SIGHUP", "-o out.csv")]
)
@pytest.mark.parametrize("how", ["{}", "exec({!r})"], ids=["plainly", "within exec"])
def test_being_told_to_end_while_writing_leaves_no_debris(folder, name, words, how):
    before = sorted(folder.iterdir())
    script = (
        "import os, signal, sys\n"
        "from macfm.cli._main import main\n"
        f"os.fsync = lambda _: {how.format(f'os.kill(os.getpid(), signal.{name})')}\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "impute", "numbers.csv", *words.split(), *QUICK],
        capture_output=True,
        check=False,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == 128 + getattr(signal, name)
    assert done.stderr.splitlines()[-1] == "terminated"
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_an_interruption_leaves_no_debris(folder, number, word):
    before = sorted(folder.iterdir())
    words = ["impute", "numbers.csv", "-o", "out.csv", "--model", "m.macfm", "-v"]
    process = subprocess.Popen(
        [sys.executable, "-m", "macfm", *words, "--set", "evaluate_every=2",
         "--set", "max_steps=1000000", "--set", "stopping=none"],
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )  # fmt: skip
    # Well into training: the library alone would now keep what it has learned.
    for line in process.stderr:
        if "step" in line:
            break
    process.send_signal(number)
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 128 + number
    assert said.splitlines()[-1] == word
    assert "Traceback" not in said
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_comparison_does_not_go_on(folder, number):
    script = (
        "import os, sys\nimport macfm.judge as judge\n"
        "def interrupted(*args, progress, **kwargs):\n"
        "    try:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "    except KeyboardInterrupt:\n"
        "        progress(1, 2, 'macfm')\n"
        "    print('went on')\n"
        "judge.compare = interrupted\n"
        "from macfm.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "compare", "numbers.csv", "--methods", "mean"],
        capture_output=True,
        check=False,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == 128 + number, done.stderr
    assert done.stdout == ""


def test_errors_have_their_codes(folder):
    assert macfm("impute", "patients.csv").returncode == 2
    assert macfm("inspect", "none.csv").returncode == 1
    done = macfm(
        "inspect", "none.csv", env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    )
    assert done.stderr == b"Error: none.csv: no such file\n"


def test_a_terminal_without_unicode_is_enough(folder):
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    done = macfm("inspect", "numbers.csv", "--quick", env=environment)
    assert done.returncode == 0
    assert done.stdout.isascii()
