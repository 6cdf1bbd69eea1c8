"""What the scripts here share: one line per check, and the environment."""

import os
import sys

ENDPOINT = os.environ.get("CLIENTS_ENDPOINT", "")
PREFIX = os.environ.get("CLIENTS_PREFIX", "")
KEY = os.environ.get("CLIENTS_KEY") or "any"
SECRET = os.environ.get("CLIENTS_SECRET", "")
BEZOAR = not os.environ.get("CLIENTS_PEER")  # a peer lacks what only Bezoar has

if not ENDPOINT or not PREFIX:
    sys.exit("set CLIENTS_ENDPOINT to the endpoint's URL and CLIENTS_PREFIX to what queues' names begin with")

# The clients look there too, and would find what is not meant.
for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL"):
    os.environ.pop(name, None)
os.environ.update(
    AWS_ACCESS_KEY_ID=KEY,
    AWS_SECRET_ACCESS_KEY=SECRET or "any",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
    AWS_EC2_METADATA_DISABLED="true",
    AWS_MAX_ATTEMPTS="1",  # what fails once is a failure
)

_failed = 0


def check(run):
    """Runs a check, whose docstring names it, and prints its line."""
    global _failed
    name = run.__doc__
    try:
        run()
        print("ok   " + name, flush=True)
    except Exception as error:
        _failed += 1
        text = f"{type(error).__name__} {error}".replace("\n", " ")
        print(f"FAIL {name}: {text[:500]}", flush=True)
    return run


def finish():
    """Ends the script."""
    if _failed:
        print(f"{_failed} checks failed")
    sys.exit(1 if _failed else 0)


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")
