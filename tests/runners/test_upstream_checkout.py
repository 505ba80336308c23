"""Upstream scripts: fetched by git at one commit, verified, patched, kept for later."""

import os

import msgspec
import pytest
from repositories import commit_all, git

from results.errors import InputError
from runners.upstream import Upstream
from runners.upstream_checkout import checkout_folder, ensure_checkout

SCRIPT = "print('Epoch')\n"
PATCH = """Says more.

--- a/train/main.py
+++ b/train/main.py
@@ -1 +1,2 @@
 print('Epoch')
+print('patched')
"""


@pytest.fixture
def repository(tmp_path):
    """A repository with two commits, of which the first is to be fetched."""
    folder = tmp_path / "theirs"
    for name, text in {"train/main.py": SCRIPT, "train/a.txt": "a", "other/b.txt": "b"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    commit_all(folder)
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(folder, "config", "uploadpack.allowFilter", "true")
    (folder / "train" / "main.py").write_text("raise SystemExit('newer')\n")
    git(folder, "commit", "--quiet", "-am", "second")
    return folder


@pytest.fixture
def upstream(repository):
    return Upstream(
        repository=f"file://{repository}",
        commit=git(repository, "rev-parse", "HEAD~1"),
        paths=["train"],
        log_format="pytorch-examples",
        arguments=[],
        data={"synthetic": []},
    )


@pytest.fixture
def patch(tmp_path):
    path = tmp_path / "more.patch"
    path.write_text(PATCH)
    return path


def fault(upstream, patch, home):
    with pytest.raises(InputError) as caught:
        ensure_checkout(upstream, patch, home)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_commit_is_fetched_and_no_newer_one(upstream, tmp_path):
    folder = ensure_checkout(upstream, None, tmp_path / "home")
    assert (folder / "train" / "main.py").read_text() == SCRIPT
    assert git(folder, "rev-parse", "HEAD") == upstream.commit


def test_only_the_paths_that_are_named_are_fetched(upstream, tmp_path):
    folder = ensure_checkout(upstream, None, tmp_path / "home")
    assert {path.name for path in folder.iterdir()} == {".git", "train"}


def test_what_was_fetched_needs_no_repository_again(upstream, repository, tmp_path):
    folder = ensure_checkout(upstream, None, tmp_path / "home")
    repository.rename(tmp_path / "gone")
    assert ensure_checkout(upstream, None, tmp_path / "home") == folder


def test_without_it_the_repository_is_named_and_the_way_to_a_mirror(upstream, repository, tmp_path):
    repository.rename(tmp_path / "gone")
    said = fault(upstream, None, tmp_path / "home")
    assert upstream.commit in said
    assert f"insteadOf {upstream.repository}" in said
    assert not checkout_folder(upstream, None, tmp_path / "home").exists()


def test_a_mirror_of_gits_own_is_used(upstream, repository, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{repository}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://example.invalid/theirs")
    elsewhere = msgspec.structs.replace(upstream, repository="https://example.invalid/theirs")
    folder = ensure_checkout(elsewhere, None, tmp_path / "home")
    assert (folder / "train" / "main.py").read_text() == SCRIPT


def test_a_repository_that_the_environment_names_is_left_alone(
    upstream, repository, tmp_path, monkeypatch
):
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    ensure_checkout(upstream, None, tmp_path / "home")
    monkeypatch.delenv("GIT_DIR")
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "remote") == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"commit": "0" * 40}, "cannot be fetched"),
        ({"paths": ["nothing"]}, "has no nothing at commit"),
    ],
)
def test_what_is_not_there_is_named(upstream, tmp_path, change, said):
    wrong = msgspec.structs.replace(upstream, **change)
    assert said in fault(wrong, None, tmp_path / "home")


class TestAChangedCheckout:
    """Each change is named and refused, and a removed checkout is fetched again."""

    @pytest.fixture
    def folder(self, upstream, tmp_path):
        return ensure_checkout(upstream, None, tmp_path / "home")

    def test_a_file_with_another_content(self, upstream, folder):
        (folder / "train" / "main.py").write_text("print('faster')\n")
        assert fault(upstream, None, folder.parent).startswith("train/main.py in")

    def test_also_with_its_size_and_time(self, upstream, folder):
        path = folder / "train" / "main.py"
        was = path.stat()
        path.write_text(SCRIPT.replace("E", "e"))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        assert fault(upstream, None, folder.parent).startswith("train/main.py in")

    def test_a_file_that_is_missing(self, upstream, folder):
        (folder / "train" / "a.txt").unlink()
        assert fault(upstream, None, folder.parent).startswith("train/a.txt in")

    def test_a_file_that_was_added(self, upstream, folder):
        (folder / "train" / "torch.py").write_text("")
        assert fault(upstream, None, folder.parent).startswith("train/torch.py in")

    def test_a_change_that_was_committed(self, upstream, folder):
        (folder / "train" / "a.txt").write_text("other")
        git(folder, "commit", "--quiet", "-am", "mine")
        assert "is at commit" in fault(upstream, None, folder.parent)

    def test_a_change_that_waits_to_be_committed(self, upstream, folder):
        (folder / "train" / "a.txt").write_text("other")
        git(folder, "add", "train/a.txt")
        assert "is not as in commit" in fault(upstream, None, folder.parent)

    def test_what_is_no_checkout_any_more(self, upstream, folder):
        (folder / ".git" / "HEAD").write_text("nonsense")
        assert "is no checkout any more" in fault(upstream, None, folder.parent)


def test_a_patch_is_applied_and_belongs_to_it(upstream, patch, tmp_path):
    folder = ensure_checkout(upstream, patch, tmp_path / "home")
    assert (folder / "train" / "main.py").read_text() == f"{SCRIPT}print('patched')\n"
    assert ensure_checkout(upstream, patch, tmp_path / "home") == folder
    assert ensure_checkout(upstream, None, tmp_path / "home") != folder


def test_a_patched_checkout_can_be_changed_no_further(upstream, patch, tmp_path):
    folder = ensure_checkout(upstream, patch, tmp_path / "home")
    (folder / "train" / "main.py").write_text(SCRIPT)
    said = fault(upstream, patch, tmp_path / "home")
    assert said.startswith("train/main.py in")
    assert "patched" in said


def test_a_patch_that_does_not_fit_is_named(upstream, patch, tmp_path):
    patch.write_text(PATCH.replace(" print('Epoch')", " print('another')"))
    said = fault(upstream, patch, tmp_path / "home")
    assert said.startswith(f"{patch} does not fit commit {upstream.commit}")


@pytest.mark.parametrize(
    "key",
    [
        {"commit": "main"},
        {"commit": "49EC0BD72B85BE55579AE8CEB278C66145F593E1"},
        {"repository": "--upload-pack=touch /tmp/x"},
        {"repository": "ext::sh -c id"},
        {"paths": []},
        {"data": {}},
    ],
)
def test_what_pins_nothing_is_refused(upstream, key):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**msgspec.to_builtins(upstream), **key}, Upstream)
