"""Make foreign clusters of a rehearsal cluster, and record them: python -m tests.recorded.make --kubeconfig FILE NAME.

Each is made, recorded and unmade again. Without names all that fit the API server's generation are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from tests.recorded.foreign import managed, meshes, old, people, policies, sign_in, volcano
from tests.recorded.foreign.making import Recipe, making
from tests.recorded.record import record
from tests.recorded.recording import About

RECIPES: dict[str, Recipe] = {
    **managed.RECIPES,
    **people.RECIPES,
    **policies.RECIPES,
    **meshes.RECIPES,
    **volcano.RECIPES,
    **sign_in.RECIPES,
    **old.RECIPES,
}


def main() -> None:
    """Make, record, unmake."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*RECIPES, []], metavar="NAME")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    given = parser.parse_args()
    cluster = Cluster.connect(given.kubeconfig)
    version = cluster.version["gitVersion"]
    for name, recipe in RECIPES.items():
        if name in given.names or (not given.names and version.startswith(f"v{recipe.generation}.")):
            with making(cluster, given.kubeconfig.parent) as make:
                recipe.make(make)
                on = f"API server {version} of a rehearsal cluster; nodes without a machine count as real."
                source = f"{recipe.source} {on}"
                path = record(name, given.kubeconfig, About(recipe.about, source, recipe.options))
            sys.stderr.write(f"{path}: {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
