"""The temporary environment of the other engines, and the C program as a library."""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

from report import say

SOURCES = pathlib.Path("Sources/Programs/CRawSQLite")


class CommandError(Exception):
    """A command in the environment failed."""


def compile_raw_library(folder):
    """Compiles the C program that everything is compared with, and returns the file."""
    compiler = shutil.which("clang") or shutil.which("cc")
    if not compiler:
        sys.exit("bench: no C compiler was found; the one of Swift's toolchain is called clang")
    library = folder / "raw.so"
    command = [compiler, "-O2", "-shared", "-fPIC", f"-I{SOURCES}/include", *SOURCES.glob("*.c"), "-o", library]
    if subprocess.run([*command, "-lsqlite3", "-lpthread"], check=False).returncode:
        sys.exit("bench: the C program does not compile")
    return library


class Environment:
    """A virtual environment in a temporary folder. It is deleted with the folder."""

    def __init__(self, folder, library):
        self.folder = folder
        self.library = library
        self.installed = set()
        self.python = folder / "environment/bin/python"
        self.variables = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.variables.pop("PYTHONPATH", None)
        venv.create(folder / "environment", with_pip=True)

    def install(self, package):
        """Installs a package with its version, once, if there is a build of it for this machine and this Python."""
        if not package or package in self.installed:
            return
        say(f"installing {package}")
        self._run(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary", ":all:", package], timeout=600)
        self.installed.add(package)

    def run(self, script, arguments, timeout):
        """Runs a program of this folder in the environment, and returns its lines."""
        return self._run([pathlib.Path(__file__).with_name(script), *map(str, arguments)], timeout).splitlines()

    def _run(self, arguments, timeout):
        """Runs Python in the environment, and returns its output."""
        command = [self.python, *arguments]
        try:
            done = subprocess.run(
                command, env=self.variables, timeout=timeout, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            raise CommandError(f"not ready after {timeout // 60} minutes") from None
        if done.returncode:
            raise CommandError(_reason(done.stderr) or f"exit status {done.returncode}")
        return done.stdout


def _reason(errors):
    """Returns the last line of an error output, which says what happened."""
    lines = [line for line in errors.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else ""
