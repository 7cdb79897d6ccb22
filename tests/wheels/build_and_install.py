"""Build every wheel and sdist, then install the wheels, and nothing from the checkout, into a clean environment.

Usage: python build_and_install.py DIST_DIR ENVIRONMENT_DIR
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = {"omnigraph_spark": "[pyspark,jre]"}
"""What makes a wheel of use by itself, by the beginning of its name."""
MEMBERS = [*sorted((ROOT / "packages").iterdir()), ROOT / "examples" / "omnigraph-storage-example"]


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


def extras_of(wheel: Path) -> str:
    return EXTRAS.get(wheel.name.partition("-")[0], "")


def main(dist: Path, environment: Path) -> None:
    shutil.rmtree(dist, ignore_errors=True)
    for member in MEMBERS:
        # An sdist first and the wheel from that sdist: what a release would be.
        run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", dist, member)
    wheels, sdists = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    if not len(wheels) == len(sdists) == len(MEMBERS):
        raise SystemExit(f"expected {len(MEMBERS)} wheels and sdists, got {wheels} and {sdists}")
    run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, environment)
    names = ("test", "oracles", "conversions", "telemetry", "s3-servers")
    groups = [f"{ROOT / 'pyproject.toml'}:{name}" for name in names]
    run(
        "uv", "pip", "install", "--quiet", "--python", environment / "bin" / "python",
        "--constraints", ROOT / "constraints.txt", *(f"{wheel}{extras_of(wheel)}" for wheel in wheels),
        *(word for group in groups for word in ("--group", group)),
    )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
