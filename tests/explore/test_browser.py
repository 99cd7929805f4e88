"""`explore` in headless Chromium: the page as one uses it."""

import shutil

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from sk_equivae import EquiVAEClassifier, explore

from ._browser import assert_picture_is_decoded, decoded, drag, pixels, settle, state_of

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
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

pytestmark = [
    pytest.mark.skipif(
        webdriver is None, reason="selenium is not installed: pip install '.[browser]'"
    ),
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="Chromium and its driver are not installed: apt-get install chromium "
        "chromium-driver",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = Options()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def digits_page(tmp_path_factory):
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:80].reshape(-1, 8, 8) / 16, y[:80]
    model = EquiVAEClassifier(latent_dim=(4, 5), max_epochs=1, random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("pages") / "digits.html"
    return model, X, y, explore(model, path, X=X, y=y, n_styles=8)


@pytest.fixture(scope="module")
def colour_page(tmp_path_factory):
    rng = np.random.RandomState(0)
    X = rng.randint(256, size=(24, 32, 32, 3), dtype=np.uint8)
    model = EquiVAEClassifier(latent_dim=3, max_epochs=1, random_state=0)
    model.fit(X, np.arange(24) % 2)
    return model, explore(model, tmp_path_factory.mktemp("pages") / "colour.html")


@pytest.fixture(scope="module")
def iris_page(tmp_path_factory):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
    return model, X, explore(model, tmp_path_factory.mktemp("pages") / "iris.html", X=X, y=y)


@pytest.fixture
def opened(browser):
    """Open a page at a size; afterwards, nothing may have gone wrong in it."""

    def open_page(path, width=1200, height=900, touch=False):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
        browser.get(path.as_uri())
        settle(browser)
        return browser

    browser.get_log("browser")
    yield open_page
    assert browser.get_log("browser") == []


def test_opens_with_the_typical_image_of_the_first_class(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    state = assert_picture_is_decoded(browser, model)
    assert state["v"] == [0] * 5
    assert state["label"] == "0"
    assert len(np.unique(pixels(browser, "#map"))) > 10  # something is there


def test_drag_changes_the_picture(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    before = pixels(browser)
    drag(browser, "mouse", (-0.5, 0.5), (0.6, -0.4))
    state = assert_picture_is_decoded(browser, model)
    assert not np.array_equal(pixels(browser), before)
    # to the right and up: 0.6 and 0.4 of three standard deviations, to the pixel
    assert np.linalg.norm(state["v"]) == pytest.approx(np.hypot(1.8, 1.2), abs=0.05)


def test_style_of_one_image_and_class_of_another(opened, digits_page):
    model, X, y, path = digits_page
    browser = opened(path)
    tiles = browser.find_elements(By.CSS_SELECTOR, "#styles .tile")
    assert len(tiles) == 8
    tiles[2].click()  # rows are shown with the classes in turn: the first 2
    browser.find_elements(By.CSS_SELECTOR, "#classes .tile")[3].click()
    state = assert_picture_is_decoded(browser, model)
    row = np.flatnonzero(y == 2)[:1]
    _, v = model.model_.latents(X[row].reshape(1, 64), model.predict_with, y[row])
    np.testing.assert_allclose(state["v"], v[0], atol=1e-5)
    assert state["label"] == "3"
    assert "#3, a 2" in browser.find_element(By.ID, "style-now").text
    original = pixels(browser, "#styles .tile:nth-child(3) canvas")[..., 0]
    np.testing.assert_allclose(1 - original / 255, X[row][0], atol=1 / 255)

    browser.find_element(By.CSS_SELECTOR, "input[value=class]").click()
    tiles[1].click()
    after = assert_picture_is_decoded(browser, model)
    assert (after["label"], after["v"]) == ("1", state["v"])


def test_class_tiles_show_every_class_in_this_style(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    browser.find_element(By.ID, "surprise").click()
    state = state_of(browser)
    for code in range(4):
        shown = pixels(browser, f"#classes .tile:nth-child({code + 1}) canvas")[..., 0]
        expected = np.clip(decoded(model, {**state, "code": code}), 0, 1)
        assert np.abs(1 - shown / 255 - expected).max() <= 1 / 255
    browser.find_element(By.ID, "reset").click()
    assert state_of(browser)["v"] == [0] * 5


def test_colour_image_equals_python(opened, colour_page):
    model, path = colour_page
    browser = opened(path)
    drag(browser, "mouse", (0, 0), (-0.8, 0.7))
    expected = decoded(model, state_of(browser)).astype(float)
    assert np.abs(pixels(browser) - expected).max() <= 1


def test_images_without_colours_are_grey(opened, tmp_path):
    rng = np.random.RandomState(0)
    X = rng.randint(256, size=(24, 8, 8, 2), dtype=np.uint8)
    y = np.arange(24) % 2
    model = EquiVAEClassifier(latent_dim=3, max_epochs=1, random_state=0).fit(X, y)
    path = explore(model, tmp_path / "page.html", X=X, y=y, n_styles=4, invert=False)
    browser = opened(path)
    drag(browser, "mouse", (0, 0), (-0.8, 0.7))
    expected = decoded(model, state_of(browser)).mean(axis=2)
    shown = pixels(browser)
    assert np.ptp(shown, axis=2).max() == 0
    assert np.abs(shown[..., 0] - expected).max() <= 1.5  # each channel is rounded in Python
    original = pixels(browser, "#styles .tile:nth-child(2) canvas")[..., 0]
    assert np.abs(original - X[1].mean(axis=2)).max() <= 0.5


def test_keyboard(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    pad = browser.find_element(By.ID, "pad")
    browser.execute_script("arguments[0].focus()", pad)
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT * 3).perform()
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_UP).key_up(Keys.SHIFT).perform()
    state = assert_picture_is_decoded(browser, model)
    assert np.linalg.norm(state["v"]) == pytest.approx(np.hypot(0.3, 0.5), abs=1e-3)
    ActionChains(browser).send_keys(Keys.HOME).perform()
    np.testing.assert_allclose(state_of(browser)["v"], 0, atol=1e-6)
    button = browser.find_elements(By.CSS_SELECTOR, "#classes .tile")[1]
    button.send_keys(Keys.ENTER)
    assert state_of(browser)["label"] == "1"


def test_directions_can_be_chosen(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)

    def choose(id_, k):
        browser.execute_script(
            """const select = document.getElementById(arguments[0]);
            select.selectedIndex = arguments[1];
            select.dispatchEvent(new Event("change"));""",
            id_,
            k,
        )

    choose("basis", 1)
    choose("axis-0", 1)  # which is the other one: the two change places
    assert state_of(browser)["axes"] == [1, 0]
    name = browser.execute_script("return document.getElementById('axis-0').value")
    assert name == "1"
    drag(browser, "mouse", (0, 0), (0.5, 0))
    state = assert_picture_is_decoded(browser, model)
    assert np.count_nonzero(np.abs(state["v"]) > 0.1) == 1  # a single dimension
    browser.find_element(By.CSS_SELECTOR, "#all summary").click()
    slider = browser.find_elements(By.CSS_SELECTOR, "#sliders input")[2]
    slider.send_keys(Keys.ARROW_RIGHT * 20)
    state = assert_picture_is_decoded(browser, model)
    assert np.count_nonzero(np.abs(state["v"]) > 0.1) == 2


@pytest.mark.parametrize("page", ["digits_page", "iris_page", "colour_page"])
def test_phone(page, opened, request):
    model, *_, path = request.getfixturevalue(page)
    browser = opened(path, 390, 844, touch=True)
    browser.find_element(By.CSS_SELECTOR, "#all summary").click()
    wide = browser.execute_script(
        """return [document.documentElement, ...document.body.querySelectorAll("*")]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "auto"
          || e.getBoundingClientRect().right > innerWidth + 0.5)
        .map((e) => e.outerHTML.slice(0, 80));"""
    )
    assert wide == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    drag(browser, "touch", (0, 0), (0.5, -0.5))
    state = state_of(browser)
    assert np.linalg.norm(state["v"]) == pytest.approx(np.hypot(1.5, 1.5), abs=0.1)
    # the drag was for the pad alone: the page has not scrolled under it
    pad = browser.execute_script("return document.getElementById('pad').getBoundingClientRect()")
    assert 0 <= pad["top"] < 844
    values = np.array(browser.execute_script("return explorePage.values()"))
    expected = decoded(model, state)
    if expected.ndim == 3:
        expected = expected.transpose(2, 0, 1)
    span = 255 if model.model_.rows.dtype == np.uint8 else np.ptp(expected)
    assert np.abs(values - expected.ravel()).max() / span <= 1 / 255


def test_tabular_rows_are_bars_with_names(opened, iris_page):
    model, X, path = iris_page
    browser = opened(path)
    drag(browser, "mouse", (0, 0), (0.9, 0.9))
    expected = decoded(model, state_of(browser))
    bars = browser.find_elements(By.CSS_SELECTOR, "#bars .bar")
    assert [bar.text.splitlines()[0] for bar in bars] == list(X.columns)
    values = [float(bar.find_element(By.CLASS_NAME, "value").text) for bar in bars]
    np.testing.assert_allclose(values, expected, atol=5.1e-3)
    spec = model.model_.rows
    z = (expected - spec.shift) / spec.scale
    for bar, height in zip(bars, z, strict=True):
        track = bar.find_element(By.CLASS_NAME, "track").rect["width"]
        fill = bar.find_element(By.CLASS_NAME, "fill").rect["width"]
        assert fill == pytest.approx(min(1, abs(height) / 3) * track / 2, abs=1)


def test_dark_scheme(opened, digits_page, browser):
    scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    try:
        opened(digits_page[-1])
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(20, 23, 28)"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_one_dimension_of_v(opened, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = EquiVAEClassifier(latent_dim=(2, 1), max_epochs=1, random_state=0).fit(X, y)
    browser = opened(explore(model, tmp_path / "page.html", X=X, y=y))
    drag(browser, "mouse", (0, 0), (0.5, 0))
    assert state_of(browser)["v"] == pytest.approx([1.5], abs=0.05)
