"""Make a page of a model of MNIST, and a moving picture of it in use.

    python -m examples.explore_page --output docs/explore.webp

trains for some minutes. The picture (an animated WebP) needs Chromium, its driver, selenium and
Pillow (`pip install '.[browser,images]'`); `--page explore.html` keeps the page. MNIST is read from
the folder that the environment variable SK_EQUIVAE_DATA names, or downloaded from OpenML.
"""

import argparse
import io
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
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
# A curve over the style pad.
CURVE = [(0.0, 0.0), (0.2, -0.15), (0.3, 0.1), (0.05, 0.3), (-0.25, 0.2), (-0.3, -0.1), (0.0, -0.2)]
WIDTH, HEIGHT = 1060, 720
FRAME, HOLD = 100, 1400  # milliseconds of a frame, and of one to look at
# Headless browsers draw no pointer.
POINTER = """
    const pointer = document.createElement("div");
    pointer.innerHTML = `<svg width="22" height="26" viewBox="0 0 22 26"><path fill="#111"
      stroke="#fff" stroke-width="1.6" d="M2 2v19l5-4.4 3.2 7 3.4-1.5-3.1-6.9h7z"/></svg>`;
    pointer.style.cssText = "position:fixed;z-index:99;pointer-events:none;left:-50px";
    document.body.append(pointer);
    addEventListener("pointermove", (event) => {
      pointer.style.left = `${event.clientX - 2}px`;
      pointer.style.top = `${event.clientY - 2}px`;
    }, true);
"""


def mnist():
    """Return MNIST."""
    folder = os.environ.get("SK_EQUIVAE_DATA")
    return idx_set("mnist", "mnist_784", Path(folder) if folder else None)


def fit_model(path, split):
    """Return the model that was saved, or a new one."""
    if path is not None and Path(path).exists():
        return load(path)
    model = EquiVAEClassifier(latent_dim=16, max_epochs=14, random_state=0, verbose=1)
    model.fit(split.X[:16_000], split.y[:16_000])
    if path is not None:
        model.save(path)
    return model


def open_browser():
    """Return a browser without a window."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    # found here, so that selenium does not look for a driver in the network
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    browser = webdriver.Chrome(options=options, service=service)
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return browser


class Film:
    """Frames of a page in use, and the milliseconds of each.

    Parameters
    ----------
    browser : WebDriver
        The browser, in which the page is open.
    """

    def __init__(self, browser):
        self.browser = browser
        self.frames, self.times = [], []

    def take(self, milliseconds=FRAME):
        """Take a picture as soon as the page is at rest."""
        while not self.browser.execute_script("return explorePage.settled()"):
            time.sleep(0.02)
        time.sleep(0.1)  # the map moves its marks for that long
        shown = Image.open(io.BytesIO(self.browser.get_screenshot_as_png()))
        self.frames.append(shown.convert("RGB"))
        self.times.append(milliseconds)

    def drag(self, id_, points, n_frames):
        """Drag along a smooth curve, in parts of the width of an element from its middle."""
        area = self.browser.find_element(By.ID, id_)
        smooth = make_interp_spline(np.arange(len(points)), points)
        for i, place in enumerate(smooth(np.linspace(0, len(points) - 1, n_frames))):
            x, y = np.rint(area.rect["width"] * place).astype(int).tolist()
            actions = self._move(area, x, y)
            if i == 0:
                actions.pointer_action.pointer_down()
            actions.perform()
            self.take()
        actions = ActionBuilder(self.browser, mouse=PointerInput("mouse", "mouse"))
        actions.pointer_action.pointer_up()
        actions.perform()

    def click(self, selector, milliseconds=4 * FRAME):
        """Move the pointer to an element, and click it."""
        self._move(self.browser.find_element(By.CSS_SELECTOR, selector), 0, 0).perform()
        self.take()
        self.browser.find_element(By.CSS_SELECTOR, selector).click()
        self.take(milliseconds)

    def _move(self, element, x, y):
        actions = ActionBuilder(self.browser, mouse=PointerInput("mouse", "mouse"), duration=4)
        actions.pointer_action.move_to(element, x, y)
        return actions

    def save(self, path):
        """Write the film; without loss it is smaller than with, since so much of it is white."""
        first, *others = self.frames
        first.save(
            path, save_all=True, append_images=others, duration=self.times, loop=0,
            lossless=True, quality=100, method=4,
        )  # fmt: skip


def act(browser, page):
    """Return a film: style, class, the way between two images, and a drawing."""
    browser.get(page.resolve().as_uri())
    browser.execute_script(POINTER)
    Film(browser).drag("sketch", STROKE, 40)
    film = Film(browser)
    film.take(HOLD)  # the first frame is what a viewer without motion shows
    film.click("#tab-style")
    film.drag("pad", CURVE, 24)
    film.click("#classes .tile:nth-child(9)", HOLD // 2)
    film.click("#tab-way")
    film.click("#ends button")  # from the drawing
    for place in np.linspace(0, 1, 21):
        browser.execute_script(
            """const time = document.getElementById("time");
            time.value = arguments[0];
            time.dispatchEvent(new Event("input"));""",
            float(place),
        )
        film.take()
    film.times[-1] = HOLD // 2
    film.click("#tab-map")
    film.click("#clear")
    film.drag("sketch", STROKE, 24)
    return film


def main():
    """Make the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="docs/explore.webp", help="the picture")
    parser.add_argument("--page", help="where to keep the page")
    parser.add_argument("--model", help="where to keep the model, or to find it")
    arguments = parser.parse_args()
    split = mnist()
    model = fit_model(arguments.model, split)
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(arguments.page or Path(temporary) / "explore.html")
        explore(model, page, X=split.X_test[:2000], y=split.y_test[:2000], title="MNIST")
        browser = open_browser()
        try:
            act(browser, page).save(arguments.output)
        finally:
            browser.quit()
    print(f"{arguments.output}: {Path(arguments.output).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
