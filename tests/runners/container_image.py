"""A container image with this machine's own Python, which the tests make and remove."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

LEFT_OUT = re.compile(r"/(test|tests|idlelib|ensurepip|site-packages|dist-packages|config-.*)(/|$)")


def make_image(runtime, name, scratch, packages):
    """Import an image of Python, the libraries it needs, and packages that are names alone."""
    archive = scratch / "image.tar"
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    program = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    with tarfile.open(archive, "w") as tar:
        for path in [program, *libraries(program, *stdlib.glob("lib-dynload/*.so"))]:
            tar.add(path.resolve(), arcname=str(path))
        tar.add(stdlib, filter=lambda one: None if LEFT_OUT.search(f"/{one.name}") else one)
        link = tarfile.TarInfo("opt/theirs/python")
        link.type, link.linkname = tarfile.SYMTYPE, str(program)
        tar.addfile(link)
        for package, version in packages.items():
            about = scratch / "METADATA"
            about.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
            place = stdlib / "site-packages" / f"{package}-{version}.dist-info" / "METADATA"
            tar.add(about, arcname=str(place))
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(folder)
    command = [runtime, "import", "--change=ENV PATH=/opt/theirs", str(archive), name]
    subprocess.run(command, check=True, capture_output=True)
    archive.unlink()


def settings_within_limits():
    """Return settings for podman with which it raises no limit of this process's.

    It may not, where a test machine is itself confined; and its newer runtime knows no cgroups of
    both versions side by side.
    """
    runtime = '[engine]\nruntime = "runc"\n' if shutil.which("runc") else ""
    return f'[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n{runtime}'


def libraries(*programs):
    """Return the shared libraries that programs are linked with, by the paths they are found at."""
    found = set()
    for program in programs:
        asked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
        found |= {Path(word) for word in asked.stdout.split() if word.startswith("/")}
    return sorted(found)
