"""A training script that its authors publish as a package: the lock pins its version by hashes.

It is looked at again before each run, as a repository's checkout is: each installed file against
the hash that the wheel gave for it (https://packaging.python.org, "Recording installed projects").
"""

import base64
import hashlib
from importlib.metadata import Distribution, distributions
from pathlib import Path

from results.errors import InputError
from runners.upstream import the_first_of


def verify_package(name: str, site_packages: Path) -> None:
    """Refuse an installed package that is not as it was published.

    Raises `InputError` where it is not there, a file of it differs or is gone, or there is a module
    too many.
    """
    remedy = f"Remove {_environment_of(site_packages)}, and it is built again."
    found = next(iter(distributions(name=name, path=[str(site_packages)])), None)
    if found is None:
        raise InputError(f"There is no package {name} in {site_packages}. {remedy}")
    wrong = _changed(found) or _too_many(found, site_packages)
    if wrong:
        raise InputError(
            f"{the_first_of(wrong)} in {site_packages} is not as {name} was published. {remedy}"
        )


def _environment_of(site_packages: Path) -> Path:
    return site_packages.parents[2]  # ENVIRONMENT/lib/pythonX.Y/site-packages


def _changed(package: Distribution) -> list[str]:
    """Return the files that are gone, or have other hashes than the wheel gave."""
    wrong = []
    for file in package.files or []:
        if file.hash is None:  # RECORD itself, and what was compiled here
            continue
        try:
            content = Path(str(file.locate())).read_bytes()
        except OSError:
            wrong.append(str(file))
            continue
        digest = base64.urlsafe_b64encode(hashlib.new(file.hash.mode, content).digest())
        if digest.decode().rstrip("=") != file.hash.value:
            wrong.append(str(file))
    return wrong


def _too_many(package: Distribution, site_packages: Path) -> list[str]:
    """Return the modules in the package's folders that did not come with it."""
    known = {str(file) for file in package.files or []}
    folders = {name.partition("/")[0] for name in known if name.endswith(".py") and "/" in name}
    modules = (path for folder in folders for path in (site_packages / folder).rglob("*.py"))
    return sorted({str(path.relative_to(site_packages)) for path in modules} - known)
