#!/usr/bin/env python3
"""Holds every #include against the room manifest (cmake/rooms.cmake).

  rooms.py            check; prints each unlisted edge with the manifest line that would allow it
  rooms.py --table    print docs/rooms.md: the manifest, with a word at every edge that nothing uses yet

Checked: rooms (only lower layers, only listed ones), third-party headers per room, and that public
headers do not reach into private folders. Exit code 1 if anything is wrong.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "cmake/rooms.cmake"
THIRD_PARTY = {  # first matching pattern names the library
    "mpi": r"mpi(-ext)?\.h$",
    "hdf5": r"(hdf5|H5\w+)\.h$",
    "torch": r"(torch|ATen|c10)/",
    "boost_log": r"boost/",
    "tomlplusplus": r"toml\+\+/",
    "cli11": r"CLI/",
    "xxhash": r"xxhash\.h$",
    "json": r"nlohmann/",
    "pcre2": r"pcre2\.h$",
    "utf8proc": r"utf8proc\.h$",
    "zstd": r"zstd\.h$",
    "gtest": r"(gtest|gmock)/",
}


def read_manifest():
    rooms = {}
    pattern = re.compile(r"^physarum_room\((\d+) (\w+)\s+USES([\w\s]*?)\s+THIRD_PARTY([\w\s]*)\)$")
    for number, line in enumerate(MANIFEST.read_text().splitlines(), 1):
        match = pattern.match(line)
        if match:
            layer, name, uses, third = match.groups()
            rooms[name] = (int(layer), uses.split(), third.split(), number)
        elif line.startswith("physarum_room"):
            sys.exit(f"{MANIFEST}:{number}: this line does not read as a room")
    for name, (layer, uses, _, number) in rooms.items():
        for used in uses:
            if used not in rooms or rooms[used][0] >= layer:
                sys.exit(f"{MANIFEST}:{number}: room {name} lists {used}, which is not in a lower layer")
    return rooms


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1), match.group(2)


def sources(name):
    for folder in (ROOT / "include/physarum" / name, ROOT / "src" / name):
        if folder.is_dir():
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".hpp", ".cpp", ".h", ".cu", ".cuh"):
                    yield path


def check_include(name, room, rooms, path, number, header, edges):
    """Yields complaints about one include."""
    layer, uses, third, manifest_line = room
    place = f"{path.relative_to(ROOT)}:{number}"
    match = re.match(r"physarum/(\w+)/", header)
    if match:
        other = match.group(1)
        if other == name:
            return
        if other not in rooms:
            yield f"{place}: no such room: {other}"
        elif other not in uses:
            upward = rooms[other][0] >= layer
            hint = ("it is not in a lower layer: pass the value, move the type down, or pass a callable from app"
                    if upward else f"add '{other}' to USES in cmake/rooms.cmake:{manifest_line}, with the reason, in a commit of its own")
            yield f"{place}: room {name} may not include {header}; {hint}"
        else:
            edges[(name, other)] += 1
        return
    for library, pattern in THIRD_PARTY.items():
        if re.match(pattern, header):
            if library not in third:
                yield (f"{place}: room {name} may not include <{header}>; "
                       f"add '{library}' to THIRD_PARTY in cmake/rooms.cmake:{manifest_line}, with the reason")
            return


def table(rooms, edges):
    print("# Rooms\n")
    print("Printed by `tests/checks/rooms.py --table` from `cmake/rooms.cmake`. A room uses only rooms of")
    print("lower layers, and of those only the listed ones.\n")
    print("| layer | room | uses | third party |\n|---:|---|---|---|")
    for name, (layer, uses, third, _) in rooms.items():
        used = ", ".join(u if edges[(name, u)] else f"{u} (not yet)" for u in uses) or "–"
        print(f"| {layer} | `{name}` | {used} | {', '.join(third) or '–'} |")


def main():
    rooms = read_manifest()
    edges = collections.Counter()
    complaints = []
    for name, room in rooms.items():
        for path in sources(name):
            for number, _, header in includes(path):
                complaints += check_include(name, room, rooms, path, number, header, edges)
    if "--table" in sys.argv:
        table(rooms, edges)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if "--table" not in sys.argv:
        print(f"rooms: {len(rooms)} rooms, {sum(edges.values())} includes between rooms, {len(complaints)} not allowed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
