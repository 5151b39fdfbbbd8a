"""Make report.png, the picture in the README, from the report of the demo: python docs/figures/report.py

With a report and a picture it draws that: python docs/figures/report.py report.html report.png. It needs Chromium. The
demo is made in a DuckDB in memory, in a folder of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, HEIGHT = 1100, 940
"""In pixels: what the model is worth, and how it was chosen."""


def main() -> None:
    if len(sys.argv) > 2:
        draw(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "sqlsvm", "demo", "--dsn", "duckdb:"], cwd=folder, check=True)
        draw(Path(folder) / "report.html", Path(__file__).with_suffix(".png"))


def draw(report: Path, picture: Path) -> None:
    browser = os.environ.get("SQLSVM_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not browser:
        sys.exit("no Chromium is installed")
    screen = [f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars", f"--screenshot={picture}"]
    page = report.resolve().as_uri()
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", *screen, page], check=True)


if __name__ == "__main__":
    main()
