import re
import shutil

import pytest
from toy_bench import TOY

from results.errors import InputError
from runners import paths
from runners.implementations import editions, every_manifest, implementations, load_manifest


def test_pytorch_comes_with_dlscale():
    assert "pytorch" in implementations()


@pytest.mark.parametrize("name", implementations())
class TestEveryImplementation:
    def test_has_the_name_of_its_folder(self, name):
        assert load_manifest(name).about.name == load_manifest(name).folder.name == name

    def test_has_its_framework_among_its_pins(self, name):
        manifest = load_manifest(name)
        assert manifest.version == manifest.pins[manifest.about.framework]
        assert re.match(r"\d+\.\d+", manifest.version)

    def test_has_a_lock_with_hashes(self, name):
        manifest = load_manifest(name)
        assert manifest.lock.read_text().count("--hash=") >= len(manifest.pins) > 0


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(TOY, tmp_path / "mine")


def change(folder, old, new):
    path = folder / "benchmark.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def fault(folder):
    with pytest.raises(InputError) as caught:
        load_manifest(str(folder))
    assert str(folder / "benchmark.toml") in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_elsewhere_can_be_loaded(folder):
    manifest = load_manifest(str(folder))
    assert (manifest.about.name, manifest.folder) == ("toy", folder)


def test_pins_are_read_from_the_lock(folder):
    lines = [
        "# made by uv",
        "--index-url https://example.org",
        "toy==1.2.3+cpu ; sys_platform == 'linux' \\",
        "    --hash=sha256:00",
        "other==4.5 \\",
        "    # via toy==1.2.3",
    ]
    (folder / "requirements.lock").write_text("\n".join(lines))
    manifest = load_manifest(str(folder))
    assert manifest.pins == {"toy": "1.2.3+cpu", "other": "4.5"}
    assert manifest.version == "1.2.3+cpu"


def test_a_framework_that_the_lock_does_not_hold_has_no_version(folder):
    assert load_manifest(str(folder)).version == "-"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "toy"', 'name = "toy', "is not a valid manifest"),
        ('name = "toy"', "", "missing required field `name`"),
        ('name = "toy"', 'nmae = "toy"', "unknown field `nmae`"),
        ('name = "toy"', "name = 3", "Expected `str`, got `int` - at `$.name`"),
        ("workers = 1", "worker = 1", "unknown field `worker`"),
        ('["fp32", "amp"]', '["fp23"]', "Invalid enum value 'fp23'"),
        ('["fp32", "amp"]', "[]", "length >= 1 - at `$.on[...].precisions`"),
        ("[strategy.ddp]", "[[strategy]]", "Expected `object`, got `array` - at `$.strategy`"),
        ("[strategy.ddp]", "[strategy.ddp]\nper = 'rank'", "Invalid enum value 'rank'"),
        ('{ cpu = ["gloo"] }', "{ cpu = [] }", "length >= 1 - at `$.strategy[...].backends[...]`"),
        ('{ cpu = ["gloo"] }', '{ cuda = ["nccl"] }', "no strategy has backends on cpu"),
        ("[on.cpu]", "[on.tpu]", "Invalid enum value 'tpu'"),
        ("train.py", "no.py", "names 'no.py', which is not in its folder"),
        ("requirements.lock", "no.lock", "names 'no.lock', which is not in its folder"),
        ("[on.cpu]", "[forms]\nnone = 'tfrecord'\n[on.cpu]", "loader 'none', which no device has"),
        ("[on.cpu]", "[forms]\ntorchvision = 'zip'\n[on.cpu]", "'zip', which is none of tfrecord"),
        ("{nodes}", "{nods}", "'--nodes={nods}' holds braces, but none of folder, nodes"),
        ("{nodes}", "{}", "'--nodes={}' holds braces"),
        ("{nodes}", "{nodes", "'--nodes={nodes' holds braces"),
        ("{threads}", "{cores}", "'{cores}' holds braces"),
    ],
)
def test_a_fault_is_named(folder, old, new, said):
    change(folder, old, new)
    assert said in fault(folder)


def test_a_file_that_is_not_text(folder):
    (folder / "benchmark.toml").write_bytes(b"\xff\xfe")
    assert "is not a valid manifest" in fault(folder)


@pytest.mark.parametrize("name", ["", ".", "..", "nonsense", "common", "./nothing", "/"])
def test_an_unknown_name(name):
    with pytest.raises(InputError, match=r"Unknown framework .* choose one of .*pytorch"):
        load_manifest(name)


def test_a_package_that_is_not_locked_pins_nothing(tmp_path):
    folder = shutil.copytree(load_manifest("tf-models-official").folder, tmp_path / "theirs")
    change(folder, 'package = "tf-models-official"', 'package = "tf-models-nightly"')
    assert fault(folder).endswith("requirements.lock does not lock 'tf-models-nightly'.")


def test_every_lock_is_made_by_the_script_that_locks_all():
    script = (paths.ROOT / "scripts" / "lock.sh").read_text()
    globs = re.findall(r"benchmarks/\S*\bbenchmark\.toml", script)
    covered = {path.parent for glob in globs for path in paths.ROOT.glob(glob)}
    assert covered == {manifest.folder for manifest in every_manifest()}


@pytest.mark.parametrize("edition", editions())
def test_what_an_edition_pins_is_whole(edition):
    for name in implementations(edition):
        manifest = load_manifest(name, edition)
        assert manifest.about.name == manifest.folder.name == name
        assert manifest.about.upstream
        if manifest.about.elsewhere:
            assert manifest.version == manifest.about.elsewhere.version
            assert manifest.pins == {}
            continue
        assert manifest.version == manifest.pins[manifest.about.framework]
        assert manifest.lock.read_text().count("--hash=") >= len(manifest.pins) > 0


def test_a_compiler_of_an_upstream_script_is_switched_on_by_arguments(tmp_path):
    theirs = load_manifest("ngc-tensorflow", "dlperf-v1.0").folder
    folder = shutil.copytree(theirs, tmp_path / "theirs")
    change(folder, 'compile = ["--use_xla"]', "")
    assert fault(folder).endswith("compiler and upstream.compile are given both, or none.")


def test_braces_of_every_launch_are_looked_at(tmp_path):
    theirs = load_manifest("ngc-tensorflow", "dlperf-v1.0").folder
    folder = shutil.copytree(theirs, tmp_path / "theirs")
    change(folder, '"-np", "{ranks}", "{python}"]', '"-np", "{rank}", "{python}"]')
    assert "'{rank}' holds braces, but none of" in fault(folder)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("tf32 = []\n", "upstream.precision has no arguments for tf32."),
        ("channels_first = []\n", "upstream.layout has no arguments for channels_first."),
    ],
)
def test_a_script_is_told_each_precision_and_layout_that_it_has(tmp_path, told, said):
    folder = shutil.copytree(load_manifest("timm").folder, tmp_path / "theirs")
    change(folder, told, "")
    assert fault(folder).endswith(said)
