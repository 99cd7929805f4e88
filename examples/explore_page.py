"""Make a page of a model of MNIST, and a picture of it in use.

    python examples/explore_page.py --output docs/explore.png

trains for some minutes. The picture needs Chromium, its driver and selenium (`pip install
'.[browser]'`); `--page explore.html` keeps the page. MNIST is read from the folder that the
environment variable SK_EQUIVAE_DATA names, or downloaded from OpenML.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline
from selenium import webdriver
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By

from benchmarks.datasets import idx_set
from sk_equivae import EquiVAEClassifier, explore, load

# A three, in parts of the width of the drawing area from its middle.
STROKE = [
    (-0.18, -0.24), (-0.08, -0.31), (0.05, -0.31), (0.14, -0.24), (0.15, -0.15), (0.07, -0.07),
    (-0.04, -0.03), (0.08, 0.0), (0.17, 0.08), (0.18, 0.18), (0.11, 0.27), (-0.02, 0.31),
    (-0.14, 0.28), (-0.2, 0.21),
]  # fmt: skip


def fit_model(path):
    """Return the model that was saved, or a new one."""
    if path is not None and Path(path).exists():
        return load(path)
    folder = os.environ.get("SK_EQUIVAE_DATA")
    split = idx_set("mnist", "mnist_784", Path(folder) if folder else None)
    model = EquiVAEClassifier(latent_dim=16, max_epochs=14, random_state=0, verbose=1)
    model.fit(split.X[:16_000], split.y[:16_000])
    if path is not None:
        model.save(path)
    return model


def draw(browser, points):
    """Draw a stroke with the mouse."""
    area = browser.find_element(By.ID, "sketch")
    side = area.rect["width"]
    actions = ActionBuilder(browser, mouse=PointerInput("mouse", "mouse"), duration=4)
    pointer = actions.pointer_action
    smooth = make_interp_spline(np.arange(len(points)), points)
    for i, (x, y) in enumerate(smooth(np.linspace(0, len(points) - 1, 60))):
        pointer.move_to(area, round(side * x), round(side * y))
        if i == 0:
            pointer.pointer_down()
    pointer.pointer_up()
    actions.perform()


def take_picture(page, output):
    """Draw a digit on the page, and save what can be seen."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    # found here, so that selenium does not look for a driver in the network
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    browser = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": 1120, "height": 760, "deviceScaleFactor": 1.5, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.resolve().as_uri())
        draw(browser, STROKE)
        while not browser.execute_script("return explorePage.settled()"):
            time.sleep(0.1)
        time.sleep(0.5)
        browser.save_screenshot(str(output))
    finally:
        browser.quit()


def main():
    """Make the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="docs/explore.png", help="the picture")
    parser.add_argument("--page", help="where to keep the page")
    parser.add_argument("--model", help="where to keep the model, or to find it")
    arguments = parser.parse_args()
    model = fit_model(arguments.model)
    folder = os.environ.get("SK_EQUIVAE_DATA")
    split = idx_set("mnist", "mnist_784", Path(folder) if folder else None)
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(arguments.page or Path(temporary) / "explore.html")
        explore(model, page, X=split.X_test[:2000], y=split.y_test[:2000], title="MNIST")
        take_picture(page, arguments.output)
    print(f"{arguments.output}: {Path(arguments.output).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
