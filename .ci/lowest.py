"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in sum(extras.values(), project["dependencies"]):
    if requirement.startswith(project["name"]):
        continue  # an extra that contains others
    name, version = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
    print(f"{name}=={version}")
