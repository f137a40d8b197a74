"""lit's configuration; tests/test_filecheck.py runs it. No activated environment is needed."""

import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parents[2]

config = globals()["config"]  # lit puts it here
config.name = "metainfer"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".mispec"]
config.excludes = ["Inputs"]
config.test_source_root = os.fspath(root / "tests" / "filecheck")
config.test_exec_root = os.fspath(root / "build" / "lit")

tools = Path(sys.executable).parent
config.environment["PATH"] = os.pathsep.join([os.fspath(tools), os.environ.get("PATH", "")])
config.environment["PYTHONPATH"] = os.pathsep.join(
    [os.fspath(root), *filter(None, [os.environ.get("PYTHONPATH")])]
)
for name in ("METAINFER_CACHE", "XDG_CACHE_HOME", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# This checkout's tool, installed or not; as a whole word, so that paths may contain the name.
config.substitutions.append(
    (r"(?<![\w/.-])metainfer-opt(?![\w/.-])", f"{sys.executable} -m metainfer.cli.opt")
)
# Many commands in one process, each of which must be refused.
config.substitutions.append(
    ("%refusals", f"{sys.executable} {root}/tests/filecheck/opt/Inputs/refusals.py")
)
config.substitutions.append(("%{python}", sys.executable))
config.substitutions.append(("%ckb", os.fspath(root / "ckb")))
config.substitutions.append(("%specs", os.fspath(root / "specs")))
