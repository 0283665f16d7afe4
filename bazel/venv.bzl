"""Finds the Python environment whose wheels hold SYCL, oneDNN, oneMKL and TensorFlow.

It is the directory that ONEXPU_VENV names, else .venv at the root of the workspace.
"""

VENV_ENVIRONMENT = ["ONEXPU_VENV"]

def find_venv(ctx):
    """Returns the absolute path of the environment, or fails with what to do."""

    # Reading the pins makes the repository depend on them: new versions, new repository.
    workspace = ctx.path(Label("//:WORKSPACE")).dirname
    ctx.read(Label("//:requirements.txt"))
    venv = ctx.os.environ.get("ONEXPU_VENV") or str(workspace.get_child(".venv"))
    if not ctx.path(venv + "/bin/python").exists:
        fail(("onexpu: no Python environment at %s: run `make setup`, or set ONEXPU_VENV to an " +
              "environment that holds the wheels of requirements.txt") % venv)
    return venv

def run_python(ctx, venv, program):
    """Returns what the Python program prints, run by the environment's interpreter."""
    result = ctx.execute([venv + "/bin/python", "-I", "-c", program])
    if result.return_code:
        fail("onexpu: %s/bin/python could not answer `%s`:\n%s" % (venv, program, result.stderr))
    return result.stdout.strip()

def site_packages(ctx, venv):
    """Returns the environment's site-packages directory."""
    return run_python(ctx, venv, "import sysconfig; print(sysconfig.get_path('purelib'))")

def wheel_version(ctx, venv, *names):
    """Returns the version of the first of the wheels `names` that is installed."""
    return run_python(ctx, venv, """
import importlib.metadata as metadata
for name in %s:
    try:
        print(metadata.version(name))
        break
    except metadata.PackageNotFoundError:
        pass
else:
    raise SystemExit("none of these wheels is installed: %s")
""" % (repr(names), ", ".join(names)))
