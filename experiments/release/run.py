"""Whether the wheel and the sdist work alone: built twice to the same bytes, installed in an empty environment, used.

`python experiments/release/run.py` needs `build`, and pip as it is configured here. The wheel that is installed is
built from the sdist, in a folder of its own; neither the checkout nor its working directory is on any path.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).resolve().with_name("smoke.py")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def commit_time() -> str:
    """SOURCE_DATE_EPOCH: when the last commit was made."""
    found = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.strip()


def copy_tracked(folder: Path, mode: int) -> None:
    """The files that git knows, with other times and permissions than they have here."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        target.chmod(mode)
        os.utime(target, (mode, mode))


def build(kind: str, source: Path, out: Path, epoch: str) -> Path:
    """The wheel or sdist of a folder, built in an environment of its own."""
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "build", f"--{kind}", "--outdir", str(out), str(source)], check=True, cwd=out,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (made,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


def build_twice(folder: Path, epoch: str) -> tuple[Path, Path]:
    """The sdist and its wheel, each the same from two copies of the checkout."""
    found = []
    for number, mode in ((1, 0o644), (2, 0o600)):
        copy_tracked(folder / f"copy{number}", mode)
    for number in (1, 2):
        sdist = build("sdist", folder / f"copy{number}", folder / f"out{number}", epoch)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / f"unpacked{number}", filter="data")
        (unpacked,) = (folder / f"unpacked{number}").iterdir()
        found.append((sdist, build("wheel", unpacked, folder / f"out{number}", epoch)))
    for one, other in zip(*found, strict=True):
        print(f"{digest(one)}  {one.name}", flush=True)
        if digest(one) != digest(other):
            raise SystemExit(f"two builds of {one.name} differ: {digest(one)} and {digest(other)}")
    return found[0]


def main() -> None:
    """Build, install, use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constraint", type=Path, default=ROOT / "constraints.txt", help="of what is installed")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for the sdist and the wheel")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = build_twice(folder, os.environ.get("SOURCE_DATE_EPOCH") or commit_time())
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--constraint", options.constraint.resolve(), made[1]],
            check=True, cwd=folder,
        )  # fmt: skip
        shutil.copyfile(SMOKE, folder / "smoke.py")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        status = subprocess.run([python, "smoke.py"], cwd=folder, env=environment, check=False).returncode
        if status == 0 and options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in made:
                shutil.copyfile(path, options.keep / path.name)
    sys.exit(status)


if __name__ == "__main__":
    main()
