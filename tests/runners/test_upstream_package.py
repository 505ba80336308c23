"""Upstream scripts in packages: what is installed is what was published, or is named."""

import base64
import hashlib
import shutil

import pytest

from results.errors import InputError
from runners.upstream_package import verify_package

FILES = {"theirs/__init__.py": "", "theirs/train.py": "print('step')\n", "theirs/a.txt": "a"}


@pytest.fixture
def packages(tmp_path):
    """An environment's packages, of which one is the script's, as an installer leaves it."""
    folder = tmp_path / "theirs-env" / "lib" / "python3.11" / "site-packages"
    about = folder / "theirs-1.2.dist-info"
    about.mkdir(parents=True)
    (folder / "theirs").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.2\n")
    lines = ["theirs-1.2.dist-info/RECORD,,", "theirs/__pycache__/train.cpython-311.pyc,,"]
    for name, text in FILES.items():
        (folder / name).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        lines.append(f"{name},sha256={digest.decode().rstrip('=')},{len(text)}")
    (about / "RECORD").write_text("\n".join(lines))
    return folder


def test_what_was_published_is_taken(packages):
    (packages / "theirs" / "__pycache__").mkdir()
    (packages / "theirs" / "__pycache__" / "train.cpython-311.pyc").write_text("compiled")
    (packages / "others.py").write_text("")
    verify_package("theirs", packages)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "theirs/train.py").write_text("pass"), "theirs/train.py in"),
        (lambda folder: (folder / "theirs/a.txt").unlink(), "theirs/a.txt in"),
        (lambda folder: (folder / "theirs/sub.py").write_text(""), "theirs/sub.py in"),
        (lambda folder: shutil.rmtree(folder / "theirs-1.2.dist-info"), "no package theirs"),
    ],
)
def test_what_differs_is_named_and_the_way_out(packages, change, said):
    change(packages)
    with pytest.raises(InputError) as caught:
        verify_package("theirs", packages)
    assert said in str(caught.value)
    assert f"Remove {packages.parents[2]}," in str(caught.value)
