"""Files that were made to do harm, each refused by the one error of archives."""

import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from sk_equivae import ArchiveError, EquiVAEClassifier, load
from sk_equivae.files import archive

ARCHIVES = Path(__file__).parent / "archives"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(20, 4))
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0)
    path = tmp_path_factory.mktemp("good") / "model.equivae"
    model.fit(X, np.arange(20) % 2).save(path)
    return path.read_bytes()


@pytest.fixture
def read(tmp_path):
    """Write bytes to a file and load it; nothing else may be written."""

    def check(content):
        path = tmp_path / "model.equivae"
        path.write_bytes(content)
        try:
            return load(path)
        finally:
            assert [p.name for p in tmp_path.iterdir()] == ["model.equivae"]
            assert path.read_bytes() == content

    return check


def parts(content):
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def joined(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def with_manifest(content, change):
    header, data = parts(content)
    manifest = json.loads(header["__metadata__"]["manifest"])
    text = change(manifest)
    header["__metadata__"]["manifest"] = text if isinstance(text, str) else json.dumps(manifest)
    return joined(header, data)


def test_the_good_file_is_read(read, good):
    assert read(good).classes_.tolist() == [0, 1]
    assert read(with_manifest(good, lambda m: None)).classes_.tolist() == [0, 1]


class Harm:
    def __reduce__(self):
        return (exec, ("raise SystemExit('executed')",))


def test_a_pickle_or_a_zip_under_our_name(read, tmp_path_factory):
    archive_path = tmp_path_factory.mktemp("zip") / "a.zip"
    with zipfile.ZipFile(archive_path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../escape.json", "{}")
        file.writestr("bomb", b"0" * 10**6)
    for content in (pickle.dumps(Harm()), archive_path.read_bytes(), b"", b"\0" * 7, b"\0" * 64):
        with pytest.raises(
            ArchiveError, match=r"no archive of sk_equivae.*or a checkpoint of `fit`"
        ):
            read(content)


def test_a_plain_safetensors_file(read, tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "a.safetensors"
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ArchiveError, match="not an archive of sk_equivae"):
        read(path.read_bytes())


@pytest.mark.parametrize("n_cut", [1, 100, 2000])
def test_a_truncated_file(read, good, n_cut):
    with pytest.raises(ArchiveError):
        read(good[:-n_cut])


def test_a_header_beyond_the_limits(read, good):
    _, data = parts(good)
    with pytest.raises(ArchiveError):
        read(struct.pack("<Q", 2**62) + good[8:])
    header, _ = parts(good)
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header |= {f"t{i}": entry for i in range(archive.MAX_TENSORS + 1)}
    with pytest.raises(ArchiveError, match="at most"):
        read(joined(header, data))


def change_tensor(header, name="module.decoder.dense.weight", **changes):
    header[name] = header[name] | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [2**31, 2**31, 4]},
        {"shape": [2**62, 2**62]},
        {"shape": [-1, -64]},
        {"shape": [1.5]},
        {"shape": "many"},
        {"dtype": "F16"},
        {"dtype": "object"},
        {"data_offsets": [0, 2**60]},
        {"data_offsets": [8, 4]},
        {"data_offsets": [-8, 0]},
        {"data_offsets": None},
    ],
    ids=str,
)
def test_tensors_that_lie(read, good, changes):
    header, data = parts(good)
    change_tensor(header, **changes)
    with pytest.raises(ArchiveError):
        read(joined(header, data))


def test_a_covariance_that_is_none(read, good):
    header, data = parts(good)
    start, stop = header["v_covariance"]["data_offsets"]
    values = -np.frombuffer(data[start:stop])
    with pytest.raises(ArchiveError, match="distribution of v"):
        read(joined(header, data[:start] + values.tobytes() + data[stop:]))


def test_tensors_that_overlap(read, good):
    header, data = parts(good)
    other = header["module.decoder.dense.weight"]["data_offsets"]
    entry = header["module.decoder.dense.weight"] | {"data_offsets": list(other)}
    header["copy"] = entry
    with pytest.raises(ArchiveError, match="overlap"):
        read(joined(header, data))


def test_a_name_twice(read, good):
    header, data = parts(good)
    text = json.dumps(header)
    doubled = text[:-1] + ', "trained": ' + json.dumps(header["trained"]) + "}"
    with pytest.raises(ArchiveError, match="twice"):
        read(joined(doubled.encode(), data))


@pytest.mark.parametrize(
    "text", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "null", "[]"]
)
def test_deep_or_odd_json(read, good, text):
    with pytest.raises(ArchiveError):
        read(with_manifest(good, lambda m: text))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_numbers_that_are_none(read, good, number):
    with pytest.raises(ArchiveError):
        read(with_manifest(good, lambda m: json.dumps(m).replace('"lr": 0.003', f'"lr": {number}')))


def set_in(*path_and_value):
    *path, value = path_and_value

    def change(manifest):
        for name in path[:-1]:
            manifest = manifest[name]
        manifest[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in("estimator", "os.system"),
        set_in("params", "augment", {"custom": "os.system"}),
        set_in("params", "augment", {"import": "os.system"}),
        set_in("params", "callbacks", [{"settings": ["Popen", {"args": "true"}]}]),
        set_in("params", "objective", {"settings": ["Objective", {"__class__": "x"}]}),
        set_in("params", "networks", {"settings": ["Networks", {"decoder": "os.system"}]}),
        set_in("params", "device", ["/dev/sda"]),
        set_in("params", "m_max", -1),
        set_in("params", "unknown", 1),
        set_in("params", None),
        set_in("module", "n_classes", 10**9),
        set_in("module", "n_latents", [10**9, 2]),
        set_in("module", "input_shape", [1, 10**6, 10**6]),
        set_in("module", "input_shape", [5]),
        set_in("module", "likelihood", "__import__"),
        set_in("sizes", "hidden", {"tuple": [10**9, 10**9]}),
        set_in("sizes", "dense", 10**9),
        set_in("sizes", "filters", {"tuple": [10**9]}),
        set_in("sizes", "decoder", {"custom": "os.system"}),
        set_in("rows", "dtype", "object"),
        set_in("rows", "row_shape", [10**12]),
        set_in("classes", {"dtype": "object", "values": [{"a": 1}, 2]}),
        set_in("classes", {"dtype": "V8", "values": [0, 1]}),
        set_in("classes", {"dtype": "int64", "values": [0, 1, 2]}),
        set_in("history", 3),
        set_in("format_version", 99),
        set_in("format_version", "1"),
        set_in("n_features_in", "four"),
        set_in("trained_with", []),
    ],
    ids=range(29),
)
def test_a_manifest_that_lies(read, good, change):
    content = with_manifest(good, change)
    try:
        model = read(content)
    except ArchiveError:
        return
    except UserWarning:  # an object of the user that is only named
        return
    assert callable(model.predict)
    raise AssertionError("it was read")


@pytest.mark.parametrize(
    "name, value",
    [
        ("dtype", "datetime64[ns]"), ("dtype", "read_csv"), ("category_dtype", "object; import os"),
        ("categories", {"tuple": ["a", {"custom": "os.system"}]}), ("categories", "abc"),
        ("categories", {"tuple": ["a"] * 400}), ("low", "low"), ("has_gaps", 1),
        ("name", None), ("unknown", 1),
    ],
)  # fmt: skip
def test_columns_that_lie(read, name, value):
    good = (ARCHIVES / "mixed_2.equivae").read_bytes()

    def change(manifest):
        manifest["rows"]["columns"]["columns"][2][name] = value

    with pytest.raises(ArchiveError):
        read(with_manifest(good, change))
    for wrong in (None, {"library": "os", "columns": []}, {"library": None, "columns": []}, 3):
        with pytest.raises(ArchiveError):
            read(with_manifest(good, set_in("rows", "columns", wrong)))


def test_what_is_missing_is_named(read, good):
    header, data = parts(good)
    del header["prototypes"]
    with pytest.raises(ArchiveError):
        read(joined(header, data))
