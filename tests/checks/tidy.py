#!/usr/bin/env python3
"""clang-tidy over our sources.

  tests/checks/tidy.py [--jobs N]            all of src, several files at a time
  tests/checks/tidy.py [--jobs N] FILE...    these, each alone (what it needs and does not include shows)

Most of the time goes into headers, so the files are read in the groups of the sanitizer build (CMake's unity
build). Results are kept per content in build-asan/tidy: what has not changed is not looked at twice.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
build = root / "build-asan"


def sources_of(entry):
    """The sources of src/ behind one entry of the compilation database; none if it is about anything else."""
    file = pathlib.Path(entry["file"])
    if "Unity" in file.parts:
        members = [pathlib.Path(name) for name in re.findall(r'#include "(.+)"', file.read_text())]
        return members if all((root / "src") in member.parents for member in members) else []
    return [file] if (root / "src") in file.parents else []


def digest(files, more):
    key = hashlib.sha256(more)
    for file in files:
        key.update(str(file).encode() + b"\0" + file.read_bytes())
    return key.hexdigest()[:32]


def single(file, database):
    """An entry for one file with the flags of its room's group."""
    if not file.is_file() or (root / "src") not in file.parents:
        sys.exit(f"tidy: {file} is no source below src")
    room = root / "src" / file.relative_to(root / "src").parts[0]
    for entry in database:
        members = sources_of(entry)
        if file in members or (len(members) > 1 and room in members[0].parents):
            command = entry["command"].replace(entry["file"], str(file))
            return {**entry, "file": str(file), "command": command}
    sys.exit(f"tidy: {file} is no source of this build")


def look_at(entry, key, database_dir):
    mark = build / "tidy" / key
    if mark.exists():
        return 0
    command = ["clang-tidy-14", "-p", str(database_dir), "--quiet", "--extra-arg=-Wno-everything", entry["file"]]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode == 0:
        mark.touch()
    else:
        sys.stdout.write(run.stdout or run.stderr)
        sys.stdout.flush()
    return run.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()

    subprocess.run(["cmake", "--preset", "asan"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    database = json.loads((build / "compile_commands.json").read_text())
    entries = [entry for entry in database if sources_of(entry)]
    database_dir = build
    if arguments.files:
        entries = [single(pathlib.Path(file).resolve(), database) for file in arguments.files]
        database_dir = build / "tidy" / "single"
        database_dir.mkdir(parents=True, exist_ok=True)
        (database_dir / "compile_commands.json").write_text(json.dumps(entries))
    (build / "tidy").mkdir(exist_ok=True)

    # One key for all headers: a changed header makes every file new.
    headers = sorted([*(root / "include").rglob("*.hpp"), *(root / "src").rglob("*.hpp"), root / ".clang-tidy"])
    common = digest(headers, b"").encode()
    # The largest groups first, so that none is waited for alone.
    work = sorted(entries, key=lambda entry: -len(sources_of(entry)))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        codes = list(pool.map(lambda entry: look_at(entry, digest(sources_of(entry), common), database_dir), work))
    bad = sum(code != 0 for code in codes)
    if bad:
        sys.exit(f"tidy: {bad} of {len(codes)} runs found something")
    files = sum(len(sources_of(entry)) for entry in entries)
    print(f"tidy: {files} sources, nothing found")


main()
