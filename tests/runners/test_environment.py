"""Environments, built by the real uv from tiny locks; nothing is fetched from anywhere."""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from toy_bench import TOY

from results.errors import InputError
from runners.environment import ensure_environment, environment_folder, python_of
from runners.implementations import load_manifest

BUILDING = "Building the environment of toy"


@pytest.fixture
def toy(tmp_path, monkeypatch, capfd):
    """Make a copy of the toy whose lock can be changed, and a home for its environments."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    folder, home = shutil.copytree(TOY, tmp_path / "toy"), tmp_path / "environments"

    def lock(text):
        (folder / "requirements.lock").write_text(text)

    def rename(old, new):
        path = folder / "benchmark.toml"
        path.write_text(path.read_text().replace(old, new))

    def manifest():
        return load_manifest(str(folder))

    def ensure(named=None):
        """Return the environment's folder, and how often it was built."""
        capfd.readouterr()
        built = ensure_environment(manifest(), home, named)
        return built, capfd.readouterr().err.count(BUILDING)

    return SimpleNamespace(
        home=home,
        files=folder,
        lock=lock,
        rename=rename,
        manifest=manifest,
        ensure=ensure,
        folder=lambda: environment_folder(manifest(), home),
    )


def test_an_environment_is_built_once_and_used_again(toy):
    first, builds = toy.ensure()
    assert (first, builds) == (toy.folder(), 1)
    asked = subprocess.run(
        [python_of(first), "-c", "import sys; print(sys.prefix, *sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout.split() == [str(first), "3", "11"]
    assert toy.ensure() == (first, 0)


def test_a_lock_that_has_changed_gives_a_new_one_and_the_old_one_is_removed(toy):
    old, _ = toy.ensure()
    toy.lock("# other\n")
    new, builds = toy.ensure()
    assert builds == 1
    assert new != old
    assert new.exists()
    assert not old.exists()


def test_one_of_another_implementation_of_the_framework_is_kept(toy):
    first, _ = toy.ensure()
    toy.rename('\nname = "toy"', '\nname = "other"')
    toy.lock("# other\n")
    second = ensure_environment(toy.manifest(), toy.home)
    assert first != second
    assert first.exists()


def test_a_tool_that_changes_the_build_changes_the_environment(toy, monkeypatch):
    build = '[build]\npackages = ["x"]\noptional_tools = ["toy-mpicc"]\n'
    toy.rename("[on.cpu]\n", f"{build}[on.cpu]\n")
    toy.lock("x==1.0 --hash=sha256:00\n")
    without = toy.folder()
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    assert toy.folder() != without


def test_another_python_version_gives_another_one(toy):
    before = toy.folder()
    toy.rename('python = "3.11"', 'python = "3.12"')
    assert toy.folder() != before


def environment_like(folder):
    folder.mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    return folder


def test_those_of_other_implementations_are_kept(toy):
    pytorch = load_manifest("pytorch")
    toy.rename('framework = "toy"', f'framework = "{pytorch.about.framework}"')
    others = [
        environment_folder(pytorch, toy.home),  # the same framework, another lock
        toy.home / f"{pytorch.about.framework}-xla-0123456789ab",
    ]
    for other in others:
        environment_like(other)
    old = environment_like(toy.home / f"{pytorch.about.framework}-0123456789ab")
    toy.ensure()
    assert all(other.exists() for other in others)
    assert not old.exists()


def test_a_half_built_one_is_not_taken_for_whole(toy):
    half = environment_like(toy.folder())
    (half / "bin").mkdir()
    (half / "bin/python").write_text("half")
    (half / "left-over").touch()
    assert toy.ensure() == (half, 1)
    assert not (half / "left-over").exists()


def test_one_whose_python_has_gone_is_built_again(toy):
    folder, _ = toy.ensure()
    python = python_of(folder)
    python.unlink()
    python.symlink_to("/nowhere/python3.11")
    assert toy.ensure() == (folder, 1)
    assert python.exists()


def test_two_builders_at_once_build_one(toy, capfd):
    with ThreadPoolExecutor(2) as pool:
        builders = [pool.submit(ensure_environment, toy.manifest(), toy.home) for _ in range(2)]
    assert {builder.result() for builder in builders} == {toy.folder()}
    assert capfd.readouterr().err.count(BUILDING) == 1


METADATA = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
ABOUT = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(folder):
    """Write a wheel of one module, `tiny`, and return its path."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    contents = {"METADATA": METADATA, "WHEEL": ABOUT, "RECORD": ""}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("tiny.py", "")
        for name, content in contents.items():
            file.writestr(f"tiny-1.0.dist-info/{name}", content)
    return path


def test_what_the_lock_names_is_installed(toy, tmp_path):
    path = wheel(tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    toy.lock(f"tiny @ file://{path} --hash=sha256:{digest}\n")
    folder, _ = toy.ensure()
    subprocess.run([python_of(folder), "-c", "import tiny"], check=True)


def refused(toy, **options):
    with pytest.raises(InputError) as caught:
        toy.ensure(**options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_hash_that_does_not_fit_is_refused(toy, tmp_path):
    toy.lock(f"tiny @ file://{wheel(tmp_path)} --hash=sha256:{'0' * 64}\n")
    assert "`uv pip` failed as shown above" in refused(toy)
    toy.lock("")
    assert toy.ensure()[1] == 1


def test_a_line_without_a_hash_is_refused(toy, tmp_path):
    toy.lock(f"tiny @ file://{wheel(tmp_path)}\n")
    assert "could not be built" in refused(toy)


def test_without_a_network_it_says_so(toy, capfd):
    toy.lock(f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
    assert "Mend what it names (network, disk, hash, Python)" in refused(toy)
    assert "network" in capfd.readouterr().err


def test_a_python_that_is_nowhere_is_refused(toy):
    toy.rename('python = "3.11"', 'python = "3.99"')
    assert "(Python 3.99, " in refused(toy)


def test_a_named_python_of_another_version_is_refused_even_where_one_is_built(toy):
    toy.ensure()
    assert "/bin/false does not run: name a Python 3.11" in refused(toy, named="/bin/false")


def test_a_home_that_cannot_be_written_is_refused(toy):
    toy.home.touch()
    assert "cannot be built: File exists" in refused(toy)


BACKEND = """\
MODULE = ""
import os
import zipfile

import tiny  # installed before, and at hand without build isolation

assert os.environ["BUILT_WITH"] == "all"
assert os.environ["PATH"].startswith({home!r})

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "built-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as file:
        file.writestr("built.py", MODULE)
        file.writestr("built-1.0.dist-info/METADATA", {metadata!r})
        file.writestr("built-1.0.dist-info/WHEEL", {about!r})
        file.writestr("built-1.0.dist-info/RECORD", "")
    return name
"""
PROJECT = """
[project]
name = "built"
version = "1.0"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BUILD = """
[build]
packages = ["built"]
environment = { BUILT_WITH = "all" }
tools = ["a-tool"]
"""


@pytest.fixture
def built(toy, tmp_path):
    """Let the toy's lock name a wheel, and before it a source that needs the wheel."""
    toy.rename("[on.cpu]", f"{BUILD}\n[on.cpu]")
    metadata = METADATA.replace("tiny", "built")
    backend = BACKEND.format(metadata=metadata, about=ABOUT, home=str(toy.home))
    source = tmp_path / "built-1.0.tar.gz"
    with tarfile.open(source, "w:gz") as file:
        for name, text in {
            "backend.py": backend,
            "pyproject.toml": PROJECT,
            "PKG-INFO": metadata,
        }.items():
            member = tarfile.TarInfo(f"built-1.0/{name}")
            member.size = len(text)
            file.addfile(member, io.BytesIO(text.encode()))
    lines = [f"--find-links {tmp_path}", "--no-index"]
    for name, path in {"built": source, "tiny": wheel(tmp_path)}.items():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        lines += [f"{name}==1.0 \\", f"    --hash=sha256:{digest}"]
    toy.lock("\n".join(lines) + "\n")
    return toy


def test_a_package_is_built_from_source_against_the_others(built, tmp_path, monkeypatch):
    tool = tmp_path / "a-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    folder, _ = built.ensure()
    subprocess.run([python_of(folder), "-c", "import built, tiny"], check=True)
    built.rename('"all" }', '"some" }')
    assert built.folder() != folder


def test_a_tool_that_a_build_needs_is_named(built):
    assert "needs a-tool, and it is not on PATH" in refused(built)


PATCH = """\
--- a/backend.py
+++ b/backend.py
@@ -1,2 +1,2 @@
-MODULE = ""
+MODULE = "changed = True"
 import os
"""


@pytest.fixture
def patched(built):
    """Let the source be changed before it is built."""
    built.rename('tools = ["a-tool"]', 'patches = { built = "built.patch" }')
    (built.files / "built.patch").write_text(PATCH)
    return built


def test_a_source_is_patched_before_it_is_built(patched):
    folder, _ = patched.ensure()
    subprocess.run([python_of(folder), "-c", "import built; assert built.changed"], check=True)
    assert not (folder / "source").exists()
    (patched.files / "built.patch").write_text(PATCH.replace("True", "1"))
    assert patched.folder() != folder


def test_a_patch_that_does_not_fit_is_refused(patched):
    (patched.files / "built.patch").write_text(PATCH.replace("import os", "import sys"))
    assert "built.patch does not fit built-1.0.tar.gz: `patch` failed as shown" in refused(patched)


def test_a_source_to_patch_has_the_hash_of_the_lock(patched):
    lock = patched.files / "requirements.lock"
    text = lock.read_text()
    where = text.index("--hash=sha256:") + len("--hash=sha256:")
    lock.write_text(text[:where] + "0" * 64 + text[where + 64 :])
    assert "built.patch is for could not be fetched: `pip download` failed" in refused(patched)


def test_patch_itself_is_named_where_it_is_not_there(patched, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _tool: None)
    assert "needs patch, and it is not on PATH" in refused(patched)


def test_a_strategy_that_needs_more_has_an_environment_of_its_own(toy, tmp_path):
    own = '[strategy.own]\nstart = []\nbackends = { cpu = ["gloo"] }\nrequirements = "own.lock"\n'
    toy.rename("[on.cpu]\n", f"{own}[on.cpu]\n")
    digest = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    options = f"--find-links {tmp_path}\n--no-index\n"
    (toy.files / "own.lock").write_text(f"{options}tiny==1.0 --hash=sha256:{digest}\n")
    mine = toy.manifest().for_strategy("own")
    folders = [toy.ensure()[0], ensure_environment(mine, toy.home), toy.ensure()[0]]
    assert folders[0] == folders[2]
    has_tiny = [(one / "lib/python3.11/site-packages/tiny.py").exists() for one in folders[:2]]
    assert has_tiny == [False, True]
    toy.lock("tiny==1.0 --hash=sha256:00\n")  # what both name is the implementation's
    assert toy.manifest().for_strategy("own").lock_text.count("tiny==") == 1
