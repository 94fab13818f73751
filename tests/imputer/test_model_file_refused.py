"""Files that are no model, damaged or forged: one sentence each, and no code run."""

import copy
import hashlib
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import torch

from macfm import MACFMImputer, ModelFileError, describe_model
from macfm.flow import Atoms
from macfm.imputer import _saved_polish
from macfm.imputer._model_file import _container, pack, read


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model of one column of numbers and one of categories, as bytes."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=60)
    wards = np.array(["A", "B", "C"])[np.digitize(z, [-0.5, 0.5])]
    frame = pd.DataFrame({"weight": z, "ward": wards})
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    fitted = MACFMImputer(
        numeric_transform="quantile",
        max_steps=10,
        d_model=16,
        n_blocks=1,
        n_frequencies=2,
        verbose=False,
        device="cpu",
        random_state=0,
    ).fit(frame)
    path = tmp_path_factory.mktemp("models") / "small.macfm"
    fitted.save(path)
    return path.read_bytes()


def refusal(path, reader=MACFMImputer.load):
    """The one sentence with which a file is refused."""
    with pytest.raises(ModelFileError) as caught:
        reader(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    assert caught.value.__suppress_context__
    return message.removeprefix(f"{path} ")


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def foreign_files(folder, trap):
    with zipfile.ZipFile(folder / "zip", "w") as archive:
        archive.writestr("a", "b")
    torch.save({"weight": torch.zeros(3)}, folder / "torch")
    safetensors.numpy.save_file({"a": np.zeros(3)}, folder / "safetensors")
    safetensors.numpy.save_file(
        {"a": np.zeros(3)}, folder / "metadata", metadata={"format": "pt"}
    )
    metadata = {"macfm": '{"some": "other"}'}
    safetensors.numpy.save_file({"a": np.zeros(3)}, folder / "namesake", metadata)
    (folder / "pickle").write_bytes(pickle.dumps(Bomb(trap)))
    (folder / "empty").write_bytes(b"")
    (folder / "short").write_bytes(b"\x02")
    (folder / "text").write_text("a,b\n1,2\n" * 100)
    (folder / "json").write_bytes((2).to_bytes(8, "little") + b"{}")
    (folder / "list").write_bytes((2).to_bytes(8, "little") + b"[]")
    (folder / "huge").write_bytes((2**63).to_bytes(8, "little") + b"{}")
    (folder / "zeros").write_bytes(bytes(1000))


def test_foreign_files_are_refused_and_run_nothing(tmp_path):
    trap = tmp_path / "trap"
    folder = tmp_path / "files"
    folder.mkdir()
    foreign_files(folder, trap)
    for path in folder.iterdir():
        said = refusal(path)
        assert said.startswith("is not a macfm model; give a file"), path
        assert refusal(path, describe_model) == said
    assert not trap.exists()


def test_a_folder_and_a_pipe_are_refused(tmp_path):
    assert refusal(tmp_path) == "is a folder; give the path of a model file"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert refusal(tmp_path / "pipe").startswith("is no regular file")


def test_a_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        MACFMImputer.load(tmp_path / "nothing")


def test_every_flipped_byte_is_refused(small):
    n_head = 8 + int.from_bytes(small[:8], "little")
    places = [*range(n_head), *range(n_head, len(small), 5), len(small) - 1]
    for place in places:
        flipped = bytearray(small)
        flipped[place] ^= 1 << place % 8
        with pytest.raises(ModelFileError):
            read(bytes(flipped))


@pytest.mark.parametrize("share", [0, 0.1, 0.3, 0.6, 0.99])
@pytest.mark.parametrize("bit", [0, 7])
def test_a_flipped_file_gives_one_sentence(small, tmp_path, share, bit):
    flipped = bytearray(small)
    flipped[int(share * len(small))] ^= 1 << bit
    (tmp_path / "m").write_bytes(flipped)
    assert refusal(tmp_path / "m").startswith(("is damaged", "is not a macfm model"))


def test_no_white_space_can_be_exchanged_in_the_header(small):
    n_head = 8 + int.from_bytes(small[:8], "little")
    padding = small[:n_head].rstrip(b" ")
    body = small[n_head:]
    for header in (
        padding[8:] + b"\n" * (n_head - len(padding)),
        padding[8:] + b" " * 64,
    ):
        changed = len(header).to_bytes(8, "little") + header + body
        if changed != small:
            with pytest.raises(ModelFileError, match="is damaged"):
                read(changed)


def test_a_truncated_or_prolonged_file_is_refused(small, tmp_path):
    for length in [*range(0, 200), *range(200, len(small), 97), len(small) - 1]:
        with pytest.raises(ModelFileError):
            read(small[:length])
    with pytest.raises(ModelFileError, match="is damaged"):
        read(small + b"\0")
    (tmp_path / "m").write_bytes(small[: len(small) // 2])
    assert refusal(tmp_path / "m") == (
        "is damaged or incomplete; copy it again from where it came, or fit and save "
        "again"
    )


def test_a_newer_format_asks_for_an_upgrade(small, tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(_container, "VERSION", 9)
        (tmp_path / "m").write_bytes(pack(*read(small)[:2]))
    assert refusal(tmp_path / "m") == (
        "has format 9, written by a newer macfm, and this one reads up to format 8; "
        "upgrade macfm"
    )


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        '{"format": NaN}',
        '{"version": 1e999}',
        '{"format": "macfm model", "format": "macfm model"}',
        "[" * 100_000,
        '{"version": ' + "9" * 5000 + "}",
        '{"format": "macfm model", "version": true, "header_sha256": ""}',
        '{"format": "macfm model", "version": 0, "header_sha256": ""}',
        '{"format": "macfm model", "version": 1, "header_sha256": 3}',
        '{"format": "macfm model", "version": 1, "header_sha256": ""}',
        '{"format": "macfm model", "version": 1}',
        '{"format": "macfm modem", "version": 1}',
    ],
)
def test_malformed_json_is_refused(tmp_path, text):
    data = safetensors.numpy.save({}, metadata={"macfm": text})
    (tmp_path / "m").write_bytes(data)
    assert refusal(tmp_path / "m").startswith("is damaged")


def column(fields, j=0):
    return fields["schema"]["columns"][j]


def put(place, key, value):
    def edit(fields, tensors):
        place(fields)[key] = value

    return edit


def tensor(name, change):
    def edit(fields, tensors):
        tensors[name] = change(tensors[name])

    return edit


def at(*keys):
    def place(fields):
        for key in keys:
            fields = fields[key]
        return fields

    return place


def rule(column, text):
    return ["dict", [[["str", column], ["str", text]]]]


WEIGHT = "network.0.network.project.weight"
FORGERIES = {
    "huge network": (
        put(at("settings"), "d_model", 10**12),
        "d_model must be an integer up to",
    ),
    "many blocks": (put(at("settings"), "n_blocks", 10**9), "n_blocks must be"),
    "beyond int64": (
        put(at("settings"), "max_steps", 10**30),
        "'max_steps' is no plain value",
    ),
    "other width": (put(at("settings"), "d_model", 32), "weights do not fit"),
    "other backbone": (
        put(at("settings"), "backbone", "transformer"),
        "weights do not fit",
    ),
    "unknown backbone": (
        put(at("settings"), "backbone", "rnn"),
        "backbone must be one of",
    ),
    "unknown setting": (put(at("settings"), "shell", "rm"), "unknown setting 'shell'"),
    "nested setting": (put(at("settings"), "gamma", [[1]]), "no plain value"),
    "unknown preset": (put(at("settings"), "preset", "mine"), "preset must be one of"),
    "long text": (put(at("settings"), "grid", "x" * 1001), "no plain value"),
    "read-out": (put(at("read_out"), "extra", 1), "read_out has"),
    "unknown parameter": (
        put(at("parameters"), "shell", ["str", "rm"]),
        "unknown parameter",
    ),
    "wrong parameter": (
        put(at("parameters"), "n_trials", ["int", -1]),
        "n_trials must be",
    ),
    "unknown tag": (
        put(at("parameters"), "n_trials", ["eval", "1"]),
        "unknown type tag",
    ),
    "tag and payload": (put(at("parameters"), "n_trials", ["int", "1"]), "wrong value"),
    "a rule that calls": (
        put(at("parameters"), "leave", rule("weight", "open('x') == 1")),
        "leave of column 'weight'",
    ),
    "a rule about nothing": (
        put(at("parameters"), "leave", rule("weight", "wrad == 'A'")),
        "did you mean 'ward'",
    ),
    "a mask": (put(at("parameters"), "leave", ["list", []]), "must be rules"),
    "a formula that reaches out": (
        put(at("parameters"), "derive", rule("weight", "().__class__")),
        "derive of column 'weight'",
    ),
    "a formula of text": (
        put(at("parameters"), "derive", rule("weight", "ward + 1")),
        "a formula takes columns of numbers",
    ),
    "no pair": (put(at("parameters"), "n_trials", 3), "a pair of type"),
    "bad ticks": (
        put(at("parameters"), "bounds", ["datetime64", [1, "Y"]]),
        "number of ticks",
    ),
    "unknown field": (put(at(), "extra", 1), "unknown field 'extra'"),
    "parameters no object": (
        put(at(), "parameters", []),
        "parameters must be an object",
    ),
    "no model": (lambda f, t: f.clear(), "missing or unknown field"),
    "negative seed": (put(at("training"), "seed", -1), "seed must be an integer"),
    "flag as seed": (put(at("training"), "seed", True), "seed must be an integer"),
    "too many networks": (
        put(at("training"), "n_networks", 10**9),
        "n_networks must be",
    ),
    "absent network": (put(at("training"), "n_networks", 2), "more networks than"),
    "missing network": (put(at("training"), "n_networks", 0), "belongs to nothing"),
    "history": (put(at("training"), "history", ["step"]), "the history has other"),
    "holes": (put(at("input"), "had_holes", [7]), "beyond the last"),
    "holes fall": (put(at("input"), "had_holes", [1, 0]), "must rise"),
    "output": (put(at("input"), "output", "os"), "output must be"),
    "frame": (put(at("input"), "frame", 1), "must be flags"),
    "version of numpy": (
        put(at("versions"), "numpy", 2),
        "version of numpy must be a text",
    ),
    "name not text": (put(column, "name", ["int", 3]), "names that are texts"),
    "name a list": (put(column, "name", ["list", []]), "stored wrongly: unhashable"),
    "name twice": (put(column, "name", ["str", "ward"]), "names a column twice"),
    "kind": (put(column, "kind", "secret"), "stored wrongly: kind"),
    "family": (put(column, "family", "string"), "stored wrongly: family"),
    "width": (put(column, "width", 10**9), "stored wrongly: encoding"),
    "field of a column": (put(column, "extra", 1), "other fields"),
    "unit": (put(column, "unit", "D"), "stored wrongly: unit"),
    "zone": (put(column, "tz", "../../etc/passwd"), "stored wrongly: tz"),
    "bounds": (put(column, "bounds", [["float", "inf"], ["none", None]]), "bounds"),
    "bounds fall": (put(column, "bounds", [["float", "2"], ["float", "1"]]), "bounds"),
    "limits": (put(column, "limits", [["int", 0], ["int", 1]]), "limits"),
    "category twice": (
        put(at("schema", "columns", 1, "categories"), 0, ["str", "C"]),
        "stored wrongly: categories",
    ),
    "category of another type": (
        put(at("schema", "columns", 1, "categories"), 0, ["int", 3]),
        "stored wrongly: categories",
    ),
    "schema format": (put(at("schema"), "format", 2), "a schema of format 1"),
    "columns no list": (put(at("schema"), "columns", {}), "list of columns"),
    "other shape": (tensor(WEIGHT, lambda w: w.T.copy()), "weights do not fit"),
    "other type": (
        tensor(WEIGHT, lambda w: w.astype(np.float64)),
        "weights do not fit",
    ),
    "tensor gone": (lambda f, t: t.pop(WEIGHT), "weights do not fit"),
    "tensor more": (
        lambda f, t: t.update({"network.0.more": np.zeros(3)}),
        "weights do not",
    ),
    "tensor of nothing": (
        lambda f, t: t.update({"more": np.zeros(3)}),
        "belongs to nothing",
    ),
    "table of nothing": (
        lambda f, t: t.update({"encoder.9.std": np.zeros(3)}),
        "no column for",
    ),
    "table gone": (lambda f, t: t.pop("encoder.0.std"), "stored wrongly: its fields"),
    "negative scale": (tensor("encoder.0.std", lambda s: -s), "stored wrongly: std"),
    "NaN": (tensor("encoder.0.mean", lambda s: s * np.nan), "stored wrongly: mean"),
    "unsorted": (
        tensor("encoder.0.landmarks", lambda s: s[::-1]),
        "wrongly: landmarks",
    ),
    "too few": (tensor("encoder.0.scores", lambda s: s[:-1]), "wrongly: landmarks"),
    "origin": (tensor("encoder.0.origin", lambda s: s + 60), "stored wrongly: origin"),
    "frequencies": (tensor("encoder.1.frequencies", lambda s: s[:-1]), "frequencies"),
    "exponent": (tensor("encoder.0.exponent", lambda s: s + 10**6), "exponent"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_with_right_digests_is_refused(small, tmp_path, name):
    edit, message = FORGERIES[name]
    fields, tensors, _ = copy.deepcopy(read(small))
    edit(fields, tensors)
    (tmp_path / "m").write_bytes(pack(fields, tensors))
    said = refusal(tmp_path / "m")
    assert said.startswith("holds no valid model (")
    assert message in said


@pytest.mark.parametrize(
    "forge",
    [
        lambda share: share[:-1],
        lambda share: share.astype(np.float64),
        lambda share: share + 1,
        lambda share: -share,
        lambda share: share * np.nan,
    ],
)
def test_a_forged_calm_path_is_refused(tmp_path, forge):
    kept = Path(__file__).parents[1] / "data" / "model-v7.macfm"
    fields, tensors, _ = read(kept.read_bytes())
    share = tensors["guide.calm"]
    assert share.any()
    (tmp_path / "m").write_bytes(pack(fields, {**tensors, "guide.calm": forge(share)}))
    assert "the calm path does not fit" in refusal(tmp_path / "m")
    fields["settings"]["mean_steps"] = 1  # there is none to follow
    (tmp_path / "m").write_bytes(pack(fields, tensors))
    assert "the calm path does not fit" in refusal(tmp_path / "m")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"dtype":"F32"', b'"dtype":"F16"'),
        (b'"dtype":"F32"', b'"dtype":"F64"'),
        (b'"data_offsets":[0,', b'"data_offsets":[1,'),
        (b'"shape":[16,16]', b'"shape":[16,-1]'),
        (b'"shape":[16,16]', b'"shape":[16,1e]'),
        (b'"shape":[16,16]', b'"shape":[99,99]'),
    ],
)
def test_forged_places_of_tensors_are_refused(small, old, new):
    """Digests are made to fit, so that it is the places that are refused."""
    n_head = 8 + int.from_bytes(small[:8], "little")
    head, body = small[:n_head], small[n_head:]
    stated = re.search(rb'header_sha256\\":\\"([0-9a-f]{64})', head)[1]
    assert old in head
    head = head.replace(old, new, 1).replace(stated, b"0" * 64, 1)
    digest = hashlib.sha256(head).hexdigest().encode()
    with pytest.raises(ModelFileError):
        read(head.replace(b"0" * 64, digest, 1) + body)


NO_ATOMS = Atoms(
    *(torch.zeros(0, dtype=torch.int64) for _ in range(2)),
    *(torch.zeros(0) for _ in range(3)),
)


def polish_arrays():
    arrays = {"share": np.ones(3), "spread": np.ones(3)}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return arrays | {"moves": np.ones(3, dtype=np.uint8)}


def read_polish(arrays, group):
    return _saved_polish.from_arrays(arrays, group=group, atoms=NO_ATOMS)


def test_trees_of_before_have_no_bounds_and_no_say_in_medians():
    polish = read_polish(polish_arrays(), np.arange(3))
    assert polish.in_median is None
    assert (polish.reach == np.inf).all()
    assert not polish.stretch.acts.any()


def test_how_far_draws_go_with_trees_was_a_flag_before():
    arrays = polish_arrays() | {"moves": np.array([1, 0, 1], dtype=np.uint8)}
    assert read_polish(arrays, np.arange(3)).follows.tolist() == [1, 0, 1]
    del arrays["moves"]
    with pytest.raises(ValueError, match="follows"):
        read_polish(arrays, np.arange(3))
    arrays["follows"] = np.array([1, 0.25, 0], dtype=np.float32)
    polish = read_polish(arrays, np.arange(3))
    assert polish.follows.tolist() == [1, 0.25, 0]
    assert _saved_polish.to_arrays(polish)["follows"].tolist() == [1, 0.25, 0]


def stretched_arrays(**parts):
    known = {"bend": 1.2, "unit": 0.5, "lean": 0.1} | parts
    return {name: np.full(3, value, dtype=np.float32) for name, value in known.items()}


def test_what_stretches_draws_comes_whole():
    arrays = polish_arrays() | stretched_arrays()
    polish = read_polish(arrays, np.arange(3))
    assert polish.stretch.bend.tolist() == pytest.approx([1.2] * 3)
    assert polish.stretch.lean.tolist() == pytest.approx([0.1] * 3)
    for name in stretched_arrays():
        some = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(ValueError, match=name):
            read_polish(some, np.arange(3))


@pytest.mark.parametrize(
    "wrong", [{"bend": -0.1}, {"bend": 11}, {"unit": 0}, {"lean": -1}, {"lean": np.nan}]
)
def test_what_would_bend_draws_out_of_shape_is_refused(wrong):
    with pytest.raises(ValueError, match=r"range|finite"):
        read_polish(polish_arrays() | stretched_arrays(**wrong), np.arange(3))


@pytest.mark.parametrize("name", ["in_median", "reach", "spread", "share"])
@pytest.mark.parametrize("value", [-0.1, np.nan])
def test_shares_and_bounds_out_of_their_range_are_refused(name, value):
    said = {name: np.full(3, value, dtype=np.float32)}
    with pytest.raises(ValueError, match=r"median|finite|reach|spread|share"):
        read_polish(polish_arrays() | said, np.arange(3))


SCORED = np.array([0, 0, 1])


def score_arrays(**parts):
    known = {
        "number": np.array([0]),
        "score": np.array([1]),
        "at": np.array([[-1.0, 0.0, 1.0]], dtype=np.float32),
        "value": np.array([[0.0, 1.0, 9.0]], dtype=np.float32),
    }
    told = {f"scores.{name}": array for name, array in (known | parts).items()}
    return {name: array for name, array in told.items() if array is not None}


def test_scores_come_whole():
    arrays = polish_arrays() | score_arrays()
    assert len(read_polish(arrays, SCORED).scores) == 1
    assert len(read_polish(polish_arrays(), SCORED).scores) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": None},
        {"score": np.array([1], dtype=np.int32)},
        {"score": np.array([2])},  # of another column
        {"score": np.array([9])},
        {"number": np.array([-3])},
        {"number": np.array([1])},
        {"number": np.array([0, 0]), "score": np.array([1, 1])},
        {"at": np.array([[1.0, 0.0, 2.0]], dtype=np.float32)},
        {"value": np.array([[1.0, 0.0, 2.0]], dtype=np.float32)},
        {"value": np.array([[1.0, np.nan, 2.0]], dtype=np.float32)},
        {"value": np.zeros((1, 2), dtype=np.float32)},
        {"at": np.zeros((1, 0), dtype=np.float32)},
    ],
)
def test_scores_that_no_fit_gives_are_refused(wrong):
    with pytest.raises(ValueError, match="scores"):
        read_polish(polish_arrays() | score_arrays(**wrong), SCORED)


def margin_arrays(**parts):
    known = {
        "flag": np.array([1]),
        "low": np.array([-0.5], dtype=np.float32),
        "high": np.array([2.0], dtype=np.float32),
        "cut": np.array([[0.4, 0.1]], dtype=np.float32),
        "place": np.array([0, 2]),
        "at": np.array([[-1.0, 0.0, 1.0]] * 2, dtype=np.float32),
        "value": np.array([[0.0, 1.0, 9.0]] * 2, dtype=np.float32),
    }
    told = {f"margins.{name}": array for name, array in (known | parts).items()}
    return {name: array for name, array in told.items() if array is not None}


@pytest.mark.parametrize(
    ("without", "n_flags", "n_places"),
    [
        ((), 1, 2),
        (("flag", "low", "high", "cut"), 0, 2),
        (("place", "at", "value"), 1, 0),
    ],
)
def test_margins_of_atoms_and_of_numbers_come_whole(without, n_flags, n_places):
    arrays = polish_arrays() | margin_arrays(**dict.fromkeys(without))
    margins = read_polish(arrays, np.arange(3)).margins
    assert (len(margins.flag), len(margins.place)) == (n_flags, n_places)
    back = _saved_polish.to_arrays(read_polish(arrays, np.arange(3)))
    for name in margin_arrays(**dict.fromkeys(without)):
        np.testing.assert_array_equal(back[name], arrays[name])


@pytest.mark.parametrize(
    "wrong",
    [
        {"cut": None},
        {"value": None},
        {"flag": np.array([1], dtype=np.int32)},
        {"flag": np.array([3])},
        {"flag": np.array([-1])},
        {"high": np.array([-0.5], dtype=np.float32)},
        {"low": np.array([np.nan], dtype=np.float32)},
        {"cut": np.array([[0.4]], dtype=np.float32)},
        {"cut": np.array([[0.4, np.inf]], dtype=np.float32)},
        {"place": np.array([0, 0])},
        {"place": np.array([0])},
        {"place": np.array([0, 3])},
        {"at": np.array([[1.0, 0.0, 2.0]] * 2, dtype=np.float32)},
        {"value": np.array([[1.0, 0.0, 2.0]] * 2, dtype=np.float32)},
        {"value": np.array([[1.0, np.nan, 2.0]] * 2, dtype=np.float32)},
        {"value": np.zeros((2, 2), dtype=np.float32)},
    ],
)
def test_margins_that_no_fit_gives_are_refused(wrong):
    arrays = polish_arrays() | margin_arrays(**wrong)
    with pytest.raises(ValueError, match="margins"):
        read_polish(arrays, np.arange(3))


LEVELED = np.array([0, 0, 1])


def level_arrays(**parts):
    known = {
        "place": np.array([0, 1]),
        "codes": np.eye(2, dtype=np.float32),
        "power": np.array([1.2]),
        "offset": np.array([0.1, -0.1]),
    }
    told = {f"levels.0.{name}": array for name, array in (known | parts).items()}
    return {name: array for name, array in told.items() if array is not None}


def test_levels_may_come_without_the_law_of_draws():
    arrays = polish_arrays() | level_arrays()
    (levels,) = read_polish(arrays, LEVELED).levels
    assert float(levels.power) == 1.2
    assert levels.offset.tolist() == [0.1, -0.1]
    arrays = polish_arrays() | level_arrays(power=None, offset=None)
    (levels,) = read_polish(arrays, LEVELED).levels
    assert levels.power is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"power": None},
        {"offset": None},
        {"power": np.array([np.nan])},
        {"power": np.array([1.2], dtype=np.float32)},
        {"offset": np.array([0.1])},
        {"offset": np.array([0.1, np.inf])},
    ],
)
def test_laws_of_draws_that_no_fit_gives_are_refused(wrong):
    arrays = polish_arrays() | level_arrays(**wrong)
    with pytest.raises(ValueError, match="levels"):
        read_polish(arrays, LEVELED)


@pytest.mark.parametrize("limit", ["MAX_STEP", "MAX_COORDINATES"])
def test_trees_too_large_to_be_walked_are_refused(limit, monkeypatch):
    group, arrays = np.arange(3), polish_arrays()
    tree = {  # a root with two leaves
        "place": np.array([0]),
        "roots": np.array([0]),
        "feature": np.array([1, 1, 1], dtype=np.int32),
        "right": np.array([2, 1, 2], dtype=np.int32),
        "threshold": np.array([0, -np.inf, -np.inf], dtype=np.float32),
        "value": np.zeros((3, 1), dtype=np.float32),
        "depth": np.array([1]),
    }
    arrays |= {f"tree.0.{name}": array for name, array in tree.items()}
    assert len(read_polish(arrays, group).trees) == 1
    monkeypatch.setattr(_saved_polish, limit, 1)
    with pytest.raises(ValueError, match="not sound"):
        read_polish(arrays, group)
