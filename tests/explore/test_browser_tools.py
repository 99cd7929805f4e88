"""`explore` in headless Chromium: map, way, gallery, address, sizes and tables."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sk_equivae import EquiVAEClassifier, explore

from ._browser import (
    assert_picture_is_decoded,
    click,
    decoded,
    drag,
    open_tab,
    pixels,
    settle,
    state_of,
)
from ._page import mixed_case

try:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:  # the tests are skipped then
    pass

# ---------------------------------------------------------------- map, way, gallery, address


def test_map(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    assert len(np.unique(pixels(browser, "#map-points"))) > 10
    browser.execute_script("explorePage.app.takeExample(7)")
    state = assert_picture_is_decoded(browser, model)
    assert state["input"]["origin"] == "example"
    drag(browser, "mouse", (-0.9, -0.9), (0.1, 0.2), "map")  # from a corner: no example is there
    state = assert_picture_is_decoded(browser, model)
    assert state["origin"] in ("place", "input")
    click(browser, "#map-choice label", 1)
    drag(browser, "mouse", (-0.95, -0.95), (-0.9, -0.9), "map")
    assert_picture_is_decoded(browser, model)


def test_way_and_gallery(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    open_tab(browser, "way")
    browser.execute_script(
        """const time = document.getElementById("time");
        time.value = 0.25;
        time.dispatchEvent(new Event("input"));"""
    )
    state = assert_picture_is_decoded(browser, model)
    a, b = (np.array([end[key] for end in state["ends"]]) for key in "rv")
    np.testing.assert_allclose(state["r"], a[0] + 0.25 * (a[1] - a[0]), atol=1e-5)
    np.testing.assert_allclose(state["v"], b[0] + 0.25 * (b[1] - b[0]), atol=1e-5)
    click(browser, "#play")
    for _ in range(100):
        time.sleep(0.1)
        if state_of(browser)["time"] == 1:
            break
    assert assert_picture_is_decoded(browser, model)["time"] == 1
    open_tab(browser, "gallery")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#samples .tile")) == 12
    click(browser, "#samples .tile", 4)
    assert assert_picture_is_decoded(browser, model)["origin"] == "sample"
    code = state_of(browser)["code"]
    click(browser, "#style-only")
    click(browser, "#examples .tile", 3)
    state = assert_picture_is_decoded(browser, model)
    assert (state["code"], state["origin"]) == (code, "style")


def test_a_view_can_be_shared_and_saved(opened, digits_page):
    browser = opened(digits_page[-1])
    open_tab(browser, "style")
    click(browser, "#classes .tile", 6)
    click(browser, "#surprise")
    before = state_of(browser)
    hash_ = browser.execute_script("return explorePage.hash()")
    after = state_of(opened(digits_page[-1], hash_=hash_))
    for name in ("code", "tab", "v"):
        assert after[name] == before[name]
    np.testing.assert_allclose(after["input"]["row"], before["input"]["row"], atol=0.5 / 255)
    opened(
        digits_page[-1], hash_="#v=AAAA&class=nobody&x=%%&tab=9"
    )  # what does not fit is left out
    size = browser.execute_script(
        """const poster = makePoster(explorePage.app);
        return [poster.toDataURL("image/png").slice(0, 22), poster.width]"""
    )
    assert size == ["data:image/png;base64,", 1424]


# ---------------------------------------------------------------- sizes, colours, tables


@pytest.mark.parametrize("page", ["digits_page", "iris_page", "colour_page"])
def test_drawing_and_classes_are_always_in_view(page, opened, request):
    *_, path = request.getfixturevalue(page)
    for width, height in [(390, 844), (844, 390), (1200, 900), (900, 680), (800, 740)]:
        browser = opened(path, width, height, touch=width < 900)
        for tab in ("map", "style", "way", "gallery"):
            open_tab(browser, tab)
            wide, high, boxes = browser.execute_script(
                """const page = document.documentElement;
                const shown = ["#pair", "#classes", "#verdict", "#tabs", "#classes :last-child"];
                return [page.scrollWidth, page.scrollHeight, shown.map((selector) => {
                  const box = document.querySelector(selector).getBoundingClientRect();
                  return [box.left, box.top, box.right, box.bottom];
                })];"""
            )
            assert (wide, high) <= (width, height)
            assert high <= height
            boxes = np.array(boxes)
            assert boxes.min() >= -0.5
            assert (boxes[:, 2:] <= [width + 0.5, height + 0.5]).all(), (tab, width, boxes)


def test_the_chosen_class_is_in_view(opened, digits_page):
    browser = opened(digits_page[-1], 390, 844, touch=True)
    browser.execute_script("document.getElementById('classes').style.width = '100px'")
    for code in (9, 0):
        browser.execute_script("explorePage.app.chooseClass(arguments[0])", code)
        settle(browser)
        around, inner = browser.execute_script(
            """const list = document.getElementById("classes");
            return [list, list.children[arguments[0]]].map((one) => {
              const { left, right } = one.getBoundingClientRect();
              return [left, right];
            });""",
            code,
        )
        assert around[0] <= inner[0]
        assert inner[1] <= around[1]


def test_touch(opened, digits_page):
    model, *_, path = digits_page
    browser = opened(path, 390, 844, touch=True)
    drag(browser, "touch", (0.1, -0.5), (0, 0.5), "sketch")
    state = assert_picture_is_decoded(browser, model)
    assert state["input"]["origin"] == "drawing"


def test_colour_image_equals_python(opened, colour_page):
    model, path = colour_page
    browser = opened(path)
    open_tab(browser, "style")
    drag(browser, "mouse", (0, 0), (-0.8, 0.7))
    expected = decoded(model, state_of(browser)).astype(float)
    assert np.abs(pixels(browser) - expected).max() <= 1
    drag(browser, "mouse", (-0.5, 0), (0.5, 0), "sketch")
    row = np.array(state_of(browser)["input"]["row"]).reshape(32, 32, 3)
    assert np.abs(row[16, 16] - [0xD5, 0x5E, 0]).max() <= 1  # the colour of the brush


def test_tabular_rows(opened, iris_page):
    model, X, path = iris_page
    browser = opened(path)
    names = browser.find_elements(By.CSS_SELECTOR, ".feature .name")
    assert [name.text for name in names] == list(X.columns)
    slider = browser.find_element(By.ID, "feature-2")
    slider.send_keys(Keys.ARROW_RIGHT * 30)
    state = state_of(browser)
    row = X.iloc[:1].copy()
    row.iloc[0] = state["input"]["row"]
    probabilities = state["input"]["reading"]["probabilities"]
    np.testing.assert_allclose(probabilities, model.predict_proba(row)[0], atol=1e-4)
    made = [float(e.text) for e in browser.find_elements(By.CSS_SELECTOR, ".feature .made")]
    np.testing.assert_allclose(made, model.reconstruct(row).iloc[0], atol=5.1e-3)


def test_tables_with_categories_and_gaps(opened, tmp_path):
    (X, y), params = mixed_case()
    model = EquiVAEClassifier(max_epochs=1, random_state=0, **params).fit(X, y)
    browser = opened(explore(model, tmp_path / "page.html", X=X, y=y))
    colours = browser.find_elements(By.CSS_SELECTOR, "#feature-2 option")
    assert [colour.get_attribute("textContent") for colour in colours] == ["blue", "green", "red"]
    browser.execute_script(
        """const select = document.getElementById("feature-2");
        select.value = 2;
        select.dispatchEvent(new Event("input"));"""
    )
    click(browser, ".gap input")
    state = state_of(browser)
    gap = browser.find_element(By.CSS_SELECTOR, ".gap input").is_selected()
    row = X.iloc[:1].copy()
    row["amount"] = np.nan if gap else state["input"]["row"][0]
    row["count"] = int(state["input"]["row"][1])
    row["colour"] = row["colour"].cat.set_categories(X["colour"].cat.categories)
    row.loc[row.index[0], "colour"] = "red"
    probabilities = state["input"]["reading"]["probabilities"]
    np.testing.assert_allclose(probabilities, model.predict_proba(row)[0], atol=1e-4)


def test_dark_scheme(opened, digits_page, browser):
    scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    try:
        opened(digits_page[-1])
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(20, 23, 28)"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_one_dimension_of_v_and_a_frame_in_a_notebook(opened, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = EquiVAEClassifier(latent_dim=(2, 1), max_epochs=1, random_state=0).fit(X, y)
    notebook = tmp_path / "notebook.html"
    notebook.write_text(explore(model)._repr_html_(), encoding="utf-8")
    browser = opened(explore(model, tmp_path / "page.html", X=X, y=y))
    open_tab(browser, "style")
    drag(browser, "mouse", (0, 0), (0.5, 0))
    deviation = model.model_.v_covariance[state_of(browser)["code"], 0, 0] ** 0.5
    mean = model.model_.v_mean[state_of(browser)["code"], 0]
    assert state_of(browser)["v"] == pytest.approx([mean + 1.5 * deviation], abs=0.05)
    browser.get(notebook.as_uri())
    browser.switch_to.frame(0)
    settle(browser)
    assert browser.find_element(By.ID, "verdict").text.startswith("Looks like")
    browser.switch_to.default_content()
