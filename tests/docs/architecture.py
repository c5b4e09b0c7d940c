#!/usr/bin/env python3
"""Checks docs/architecture.md: the files it names exist, and the rules it states hold."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
page = (root / "docs/architecture.md").read_text()
sources = [p for folder in ("src", "app") for p in (root / folder).rglob("*") if p.suffix in (".h", ".cpp")]
text = {p.relative_to(root).as_posix(): p.read_text() for p in sources}
wrong = []


def expect(holds, what):
    if not holds:
        wrong.append(what)


def users(word):
    """Files that use a word."""
    return {name for name, content in text.items() if re.search(rf"\b{re.escape(word)}\b", content)}


for name in set(re.findall(r"`((?:[\w-]+/)+[\w.-]+\.(?:cpp|h|cmake))`", page)):
    if "/x." in name or "conv_x" in name:
        continue
    expect((root / name).exists() or (root / "src" / name).exists(), f"it names {name}, which does not exist")

# A strategy is known to its own file, to the list of entries and to the registry.
entries = re.findall(r"StrategyEntry (\w+_entry)\(\);", text["src/parallel/strategies.h"])
expect(len(entries) >= 6, "no strategies were found in parallel/strategies.h")
for entry in entries:
    others = users(entry) - {"src/parallel/strategies.h", "src/parallel/strategy.cpp"}
    expect(len(others) == 1, f"{entry} is used in {sorted(others)}, not in one file of its own")
names = set()
for name, content in text.items():
    if name.startswith("src/parallel/"):
        names |= set(re.findall(r'Entry \w+\(\) \{\s*return \{"([\w-]+)"', content))
expect(len(names) == len(entries), f"{len(names)} names of {len(entries)} strategies were found")
for folder in ("src/sim/", "src/study/", "app/verbs/"):
    for name, content in text.items():
        code = re.sub(r'R"\(.*?\)"', "", content, flags=re.S)  # without help texts
        for strategy in names - {"all-reduce"}:  # which is a collective too
            if name.startswith(folder):
                expect(f'"{strategy}"' not in code, f"{name} names the strategy {strategy}")

# A data source is known to the registry alone.
for source in re.findall(r"^Source (\w+)\(\);", text.get("src/data/sources/registry.h", ""), flags=re.M):
    expect(len(users(source)) <= 3, f"the source {source} is used in {sorted(users(source))}")

# Strings are parsed where they enter the program; comparisons with literals elsewhere are rare.
literal = re.compile(r'(==|!=) *"|" *(==|!=)')
compared = [
    f"{name}: {line.strip()}"
    for name, content in text.items()
    if not name.startswith(("src/config/", "src/parallel/"))
    for line in content.splitlines()
    if literal.search(line) and not line.strip().startswith("//")
]
expect(len(compared) <= 15, f"{len(compared)} comparisons with string literals:\n  " + "\n  ".join(compared))

# Functions of a header are implemented by the file of its name. Lists of entries and generated files are not.
lists = {"src/parallel/strategies.h", "src/tensor/device/cpu/conv/conv_algorithms.h", "src/report/page_files.h"}
declaration = re.compile(r"^(?!inline|using|template|return)[A-Za-z][\w:<>,&* ]*\b\w+\([^{}]*?\)( const)?;", flags=re.M)
for name, content in text.items():
    if name.startswith("src/") and name.endswith(".h") and not name.endswith("-inl.h") and name not in lists:
        if name[:-2] + ".cpp" not in text:
            found = declaration.search(re.sub(r"//.*", "", content))
            expect(not found, f"{name} declares {found and found.group(0)!r} and has no file of its name")

# Folders hold at most 24 files.
for folder in {p.parent for p in sources if "src" in p.parts}:
    files = [p for p in folder.iterdir() if p.is_file()]
    expect(len(files) <= 24, f"{folder.relative_to(root)} holds {len(files)} files")

if wrong:
    sys.exit("docs/architecture.md: " + "\n".join(wrong))
print(f"{len(entries)} strategies, {len(compared)} comparisons with string literals: as the page says")
