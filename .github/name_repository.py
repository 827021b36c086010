"""Names the repository in each package before it is packed: `python .github/name_repository.py URL`. The sources do not know where they are published."""

import sys
from pathlib import Path

[url] = sys.argv[1:]
for manifest in Path("crates").glob("*/Cargo.toml"):
    text = manifest.read_text()
    manifest.write_text(text.replace("\nlicense", f'\nrepository = "{url}"\nhomepage = "{url}"\nlicense', 1))
manifest = Path("crates/zarr-python/pyproject.toml")
manifest.write_text(manifest.read_text() + f'\n[project.urls]\nHomepage = "{url}"\nRepository = "{url}"\n')
