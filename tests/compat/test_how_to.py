"""What the pages under docs/how-to tell people to type is typed here."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

PAGES = ROOT / "docs" / "how-to"
ADDRESS = "http://127.0.0.1:8283"


def blocks(page, kind):
    """The blocks of code of one kind on a page, in order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page, least", [("use-openai-sdks.md", 9), ("use-langchain.md", 6)])
def test_python_on_the_page_runs(start, vendor, page, least):
    code = blocks(page, "python")
    assert len(code) >= least
    program = "\n".join(code).replace(ADDRESS, start(**vendor.environment).url)
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LANGSMITH_TRACING": "false"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("\n") >= least - 3


def test_links_lead_somewhere():
    for page in PAGES.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (PAGES / target).exists(), f"{page.name}: {target}"
