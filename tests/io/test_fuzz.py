"""Archives with random damage end in the one error of archives, or are read as they were.

The number of files is small here. `SK_EQUIVAE_FUZZ=5000 python -m pytest tests/io/test_fuzz.py`
tries more.
"""

import contextlib
import copy
import json
import os
import random
import resource
import struct
import warnings

import numpy as np
import pytest

from sk_equivae import ArchiveError, EquiVAEClassifier, load

N_FILES = int(os.environ.get("SK_EQUIVAE_FUZZ", 300))
ODD = [
    None, True, -1, 0, 1, 2**31, 2**63, 1e308, -0.5, "", "x" * 1000, "../../etc/passwd",
    "os.system", [], {}, [[]], {"tuple": []}, {"custom": "os.system"},
    {"settings": ["Objective", {}]}, {"float": "nan"}, {"RandomState": []},
]  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    rng = np.random.RandomState(0)
    path = tmp_path_factory.mktemp("good") / "model.equivae"
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0)
    model.fit(rng.normal(size=(20, 4)), np.arange(20) % 2).save(path)
    return path.read_bytes()


def flip(content, rng):
    changed = bytearray(content)
    # most of the file is weights, in which any number is a number: aim at the header
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(min(len(content), 12_000))] = rng.randrange(256)
    return bytes(changed)


def cut(content, rng):
    return content[: rng.randrange(len(content))]


def insert(content, rng):
    place = rng.randrange(len(content))
    return content[:place] + rng.randbytes(rng.randint(1, 64)) + content[place:]


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))
        else:
            yield (*path, key)


def put(value, path, new):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


def forge(content, rng):
    """Change values of the header or of the manifest, and keep both valid JSON."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["manifest"])
    for _ in range(rng.randint(1, 3)):
        target = rng.choice([header, manifest])
        path = rng.choice([p for p in places(target) if p])
        if rng.random() < 0.2:
            parent = target
            for key in path[:-1]:
                parent = parent[key]
            del parent[path[-1]]
        else:
            put(target, path, copy.deepcopy(rng.choice(ODD)))
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"]["manifest"] = json.dumps(manifest)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


@pytest.mark.parametrize("damage", [flip, cut, insert, forge])
def test_damaged_archives(good, tmp_path, damage):
    rng = random.Random(0)
    path = tmp_path / "model.equivae"
    X = np.random.RandomState(0).normal(size=(3, 4))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n_read = 0
    for _ in range(-(-N_FILES // 4)):
        content = damage(good, rng)
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = load(path)
        except ArchiveError:
            pass
        else:
            n_read += 1
            assert model.model_.module.n_latents == (2, 2)
            if len(model.classes_) == 2 and model.n_features_in_ == 4:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    with contextlib.suppress(ValueError):  # what a wrong parameter raises
                        model.predict_proba(X)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 2 * len(good) / 2**20 + 50
    assert n_read < -(-N_FILES // 4)
