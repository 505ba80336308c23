"""`dlscale list`: the implementations, their versions and what each supports."""

import argparse
import shlex
import shutil
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runners.description import Elsewhere, Strategy
    from runners.manifest import Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `list`."""
    parser.add_argument("--edition", help="show its upstream scripts, such as dlperf-v1.0")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Run `dlscale list`."""
    import msgspec

    from runners.implementations import editions, implementations, load_manifest

    edition = args.edition or ""
    manifests = [load_manifest(name, edition) for name in implementations(edition)]
    if args.json:
        described = [
            {
                **msgspec.to_builtins(manifest.about),
                "version": manifest.version,
                "pins": manifest.pins,
            }
            for manifest in manifests
        ]
        print(msgspec.json.format(msgspec.json.encode(described), indent=2).decode())
        return 0
    between = "\n\n" if edition else "\n"
    print(between.join("\n".join(_describe(manifest)) for manifest in manifests))
    if not edition:
        print(f"Upstream scripts: `dlscale list --edition NAME` shows {', '.join(editions())}")
    return 0


def _describe(manifest: "Manifest") -> list[str]:
    about = manifest.about
    rows = _pinned(manifest) if about.upstream else []
    rows.append(("network", about.network))
    rows += _told(manifest) if about.upstream else []
    for device, support in about.on.items():
        amp = f"amp ({' or '.join(support.amp_dtypes)})"
        precisions = [amp if one == "amp" else one for one in support.precisions]
        layouts = dict.fromkeys(", ".join(support.layouts_with(one)) for one in support.precisions)
        loaders = f"loaders {', '.join(support.loaders)}"
        rows.append((device, f"{', '.join(precisions)}; {loaders}; {' or '.join(layouts)}"))
    for name, strategy in about.strategy.items():
        through = [f"{device} {' or '.join(some)}" for device, some in strategy.backends.items()]
        where = f", {_elsewhere(strategy.elsewhere)}" if strategy.elsewhere else ""
        rows.append(("strategy", f"{name}: {', '.join(through)}{where}"))
        rows += _started(strategy) if about.upstream else []
    if about.compiler:
        rows.append(("compiler", about.compiler))
    notes = dict(about.unavailable)
    for name, strategy in about.strategy.items():
        notes |= {f"{name} with {what}": why for what, why in strategy.unavailable.items()}
    rows += [("note", f"{what}: {why}") for what, why in notes.items()]
    title = f"{about.name}: {about.title}"
    if not about.upstream:
        title += f" {manifest.version} on {_environment(manifest)}"
    return [title, *(line for label, text in rows for line in _wrapped(label, text))]


def _pinned(manifest: "Manifest") -> list[tuple[str, str]]:
    """Return what pins an upstream script."""
    about, upstream = manifest.about, manifest.about.upstream
    assert upstream is not None  # noqa: S101 - for the type checker
    rows = [
        ("framework", f"{about.framework} {manifest.pinned_version}"),
        ("environment", _environment(manifest)),
    ]
    if upstream.package:
        rows.append(("package", manifest.upstream_source))
    else:
        rows += [("repository", upstream.repository), ("commit", upstream.commit)]
        rows += [("path", path) for path in upstream.paths]
    if upstream.patch:
        rows.append(("changed by", upstream.patch))
    return [*rows, ("log format", upstream.log_format)]


def _told(manifest: "Manifest") -> list[tuple[str, str]]:
    """Return what an upstream script is told, places and all."""
    about, upstream = manifest.about, manifest.about.upstream
    assert upstream is not None  # noqa: S101 - for the type checker
    return [
        ("script", about.script),
        ("arguments", _line(upstream.arguments)),
        *((f"  for {what}", _line(some)) for what, some in upstream.by_choice if some),
        *([(f"  for {about.compiler}", _line(upstream.compile))] if upstream.compile else []),
        *(("differs", one) for one in upstream.differences),
    ]


def _started(strategy: "Strategy") -> list[tuple[str, str]]:
    """Return what starts an upstream script, and what it is told with a strategy."""
    nodes = {"one node": strategy.one_node, "more nodes": strategy.more_nodes}
    launches = {"": strategy.launch(2, 2)}
    launches |= {kind.replace("_", " "): one for kind, one in strategy.instead.items()}
    rows = []
    for kind, one in launches.items():
        start = [one.program or "python", *one.start, "SCRIPT", *one.arguments]
        rows.append((f"  {kind or 'start'}", _line(start)))
    return rows + [(f"  {kind}", _line(some)) for kind, some in nodes.items() if some]


def _environment(manifest: "Manifest") -> str:
    if manifest.about.elsewhere:
        return _elsewhere(manifest.about.elsewhere)
    return f"Python {manifest.about.python}, {len(manifest.pins)} packages locked"


def _elsewhere(elsewhere: "Elsewhere") -> str:
    if elsewhere.gone:
        return f"cannot be installed any more: {elsewhere.gone}"
    return f"container {elsewhere.container}"


def _line(arguments: "Sequence[str]") -> str:
    """Return arguments in a line, with quotes where one holds blanks."""
    return " ".join(shlex.quote(one) if len(one.split()) != 1 else one for one in arguments)


def _wrapped(label: str, text: str) -> list[str]:
    """Return a row in the width of the terminal; where there is none, in one line."""
    return textwrap.wrap(
        text,
        width=shutil.get_terminal_size(fallback=(100_000, 0)).columns,
        initial_indent=f"    {label:<12} ",
        subsequent_indent=" " * 17,
        break_long_words=False,
        break_on_hyphens=False,
    )
