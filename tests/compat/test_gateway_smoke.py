"""`scripts/gateway-smoke` against our server: it must see that all is well, and that something is not."""

import subprocess
import sys

import pytest
from conftest import ROOT


def smoke(*options, **environment):
    command = [sys.executable, ROOT / "scripts" / "gateway-smoke", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def verdicts(ran):
    return [line[19:27].strip() for line in ran.stdout.splitlines()[1:5]]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_all_is_well_with_nothing_configured(start, path):
    ran = smoke(PROXY_BASE_URL=start().url + path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert verdicts(ran) == ["ok"] * 4 and "watchword" in ran.stdout


def test_it_asks_in_the_session_that_it_is_given(start, vendor):
    server = start(LIBRARIAN_API_KEY="open-sesame-1234", **vendor.environment)
    where = {"PROXY_BASE_URL": server.url, "PROXY_API_KEY": "open-sesame-1234", "PROXY_SESSION_ID": "tonight"}
    ran = smoke(**where)
    # The pretended model remembers nothing, so the second call must fail and the others must not.
    assert ran.returncode == 1 and verdicts(ran) == ["ok", "FAILED", "ok", "ok"], ran.stdout
    assert "session tonight" in ran.stdout and "1 of 4 calls failed" in ran.stdout
    first, second, third, fourth = [str(body["messages"]) for body in vendor.requests()]
    assert "Answer in one short sentence." in first and "Answer in one short sentence." in second
    assert "Answer in capital letters." in third and "Answer in capital letters." in fourth
    assert "Answer in one short sentence." not in third
    # It is one session: what was said is in view.
    assert "remember that my watchword is" in fourth


def test_what_is_wrong_is_said(start):
    server = start(LIBRARIAN_API_KEY="open-sesame-1234")
    keyless = smoke(PROXY_BASE_URL=server.url)
    assert keyless.returncode == 1 and "Set PROXY_API_KEY" in keyless.stdout
    nobody = smoke(PROXY_BASE_URL=server.url, PROXY_MODEL="nobody", LIBRARIAN_API_KEY="open-sesame-1234")
    assert nobody.returncode == 1 and "`nobody` does not exist" in nobody.stdout
    server.stop()
    gone = smoke(PROXY_BASE_URL=server.url)
    assert gone.returncode == 2 and "librarian serve" in gone.stdout and "Traceback" not in gone.stderr
    assert smoke("--help").returncode == 0 and "PROXY_SESSION_ID" in smoke("--help").stdout
    assert smoke("--fast").returncode == 2
