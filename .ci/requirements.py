"""Print the requirements in pyproject.toml: of the build, the package, "all" and the group dev.

With names of groups as arguments: only of those groups; "build" is what the build needs.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
wanted: list[str] = []
extras = project["project"]["optional-dependencies"]


def add_extra(name: str) -> None:
    for requirement in extras[name]:
        if requirement.startswith("rstream-transport["):
            for inner in requirement.split("[")[1].split("]")[0].split(","):
                add_extra(inner.strip())
        else:
            wanted.append(requirement)


def add_group(name: str) -> None:
    if name == "build":
        wanted.extend(project["build-system"]["requires"])
        return
    for entry in project["dependency-groups"][name]:
        if isinstance(entry, dict):
            add_group(entry["include-group"])
        else:
            wanted.append(entry)


if sys.argv[1:]:
    for group in sys.argv[1:]:
        add_group(group)
else:
    add_group("build")
    wanted += project["project"]["dependencies"]
    add_extra("all")
    add_group("dev")
print("\n".join(dict.fromkeys(wanted)))
