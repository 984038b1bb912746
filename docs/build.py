"""Build the site: ``python -m docs.build [FOLDER]``. A warning is an error, and all of them are shown."""

import sys
from pathlib import Path

from sphinx.cmd.build import main

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    out = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent / "build" / "docs")
    sys.exit(main(["-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "-d", f"{out}.trees", str(HERE), out]))
