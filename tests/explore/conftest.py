"""A headless Chromium, and pages to open in it."""

import shutil

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from sk_equivae import EquiVAEClassifier, explore
from tests.explore._browser import settle

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if webdriver is None:
        pytest.skip("selenium is not installed: pip install '.[browser]'")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(
            "Chromium and its driver are not installed: apt-get install chromium chromium-driver"
        )
    options = Options()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def digits_page(tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    X = X.reshape(-1, 8, 8) / 16
    model = EquiVAEClassifier(latent_dim=(4, 5), max_epochs=2, random_state=0)
    model.fit(X[:400], y[:400])
    path = tmp_path_factory.mktemp("pages") / "digits.html"
    return model, X, y, explore(model, path, X=X[:100], y=y[:100])


@pytest.fixture(scope="session")
def colour_page(tmp_path_factory):
    rng = np.random.RandomState(0)
    X = rng.randint(256, size=(24, 32, 32, 3), dtype=np.uint8)
    model = EquiVAEClassifier(latent_dim=3, max_epochs=1, random_state=0)
    model.fit(X, np.arange(24) % 2)
    return model, explore(model, tmp_path_factory.mktemp("pages") / "colour.html")


@pytest.fixture(scope="session")
def iris_page(tmp_path_factory):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
    return model, X, explore(model, tmp_path_factory.mktemp("pages") / "iris.html", X=X, y=y)


@pytest.fixture
def opened(browser):
    """Open a page at a size; afterwards, nothing may have gone wrong in it."""

    def open_page(path, width=1200, height=900, touch=False, hash_=""):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
        browser.get("about:blank")
        browser.get(path.as_uri() + hash_)
        settle(browser)
        return browser

    browser.get_log("browser")
    yield open_page
    assert browser.get_log("browser") == []
