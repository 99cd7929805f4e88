"""`explore` in headless Chromium: drawing, style and classes."""

import numpy as np
import pytest

from sk_equivae.generation import transfer_style

from ._browser import (
    assert_picture_is_decoded,
    click,
    drag,
    open_tab,
    paint,
    pixels,
    settle,
    state_of,
)

try:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:  # the tests are skipped then
    pass

# ---------------------------------------------------------------- draw and see


def test_opens_with_an_example_and_its_reconstruction(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    state = assert_picture_is_decoded(browser, model)
    row = np.array(state["input"]["row"])
    np.testing.assert_allclose(
        state["input"]["reading"]["probabilities"],
        model.predict_proba(row.reshape(1, 8, 8))[0],
        atol=1e-4,
    )
    expected = np.clip(model.reconstruct(row.reshape(1, 8, 8))[0], 0, 1)
    np.testing.assert_allclose(1 - pixels(browser)[..., 0] / 255, expected, atol=1 / 255)
    assert browser.find_element(By.ID, "verdict").text.startswith("Looks like")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#nearest .near")) == 3


def test_painted_digits_are_classified_as_in_python(opened, digits_page):
    model, X, _, path = digits_page
    browser = opened(path)
    images = X[400:600]
    found = paint(browser, np.rint(255 * images).astype(int))
    codes = np.array([code for code, _ in found])
    assert np.mean(model.classes_[codes] == model.predict(images)) >= 0.99
    assert np.median([milliseconds for _, milliseconds in found]) < 100


def test_strokes_are_read_live(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    drag(browser, "mouse", (0.2, -0.6), (0.1, 0.6), "sketch")
    state = assert_picture_is_decoded(browser, model)
    assert state["input"]["origin"] == "drawing"
    row = np.array(state["input"]["row"]).reshape(8, 8)
    assert row[0].max() > 0.5  # the stroke fills the height, as the digits do
    assert row[7].max() > 0.5
    assert state["label"] == str(model.predict(row[None])[0])
    place = browser.find_element(By.ID, "map-place")
    before = place.rect
    click(browser, "#clear")
    assert browser.find_element(By.ID, "verdict").text == "Nothing is drawn yet."
    drag(browser, "mouse", (-0.5, 0), (0.6, 0.1), "sketch")
    settle(browser)
    assert place.rect != before


def test_first_drawing_and_frames(opened, digits_page):
    browser = opened(digits_page[-1])
    start = browser.execute_script(
        "return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    )
    assert start < 1000
    open_tab(browser, "style")
    frames = browser.execute_async_script(
        """const done = arguments[0];
        const { app } = explorePage;
        const times = [];
        const tick = (now) => {
          times.push(now);
          const v = app.state.v.map((x, i) => x + 0.02 * Math.sin(times.length + i));
          app.change({ v, origin: "own" });
          if (times.length < 40) requestAnimationFrame(tick);
          else done(times);
        };
        requestAnimationFrame(tick);"""
    )
    # the quickest, since a busy machine has slow frames whatever the page does
    assert np.quantile(np.diff(frames), 0.1) < 1000 / 30


# ---------------------------------------------------------------- style and classes


def test_drag_within_the_range_of_the_class(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    open_tab(browser, "style")
    click(browser, "#typical")
    state = assert_picture_is_decoded(browser, model)
    fitted, code = model.model_, state["code"]
    np.testing.assert_allclose(state["v"], fitted.v_mean[code], atol=1e-6)
    drag(browser, "mouse", (-0.5, 0.5), (0.6, 0))
    state = assert_picture_is_decoded(browser, model)
    # 0.6 of three standard deviations of the class, to the pixel
    basis = browser.execute_script(
        "return explorePage.app.bases[0].vectors.map((vector) => Array.from(vector))"
    )
    step = np.array(state["v"]) - fitted.v_mean[code]
    deviation = np.sqrt(np.einsum("ki,ij,kj->k", basis, fitted.v_covariance[code], basis))
    along = np.array(basis) @ step / deviation
    np.testing.assert_allclose(along, [1.8, 0, 0, 0, 0], atol=0.06)


def test_classes_show_the_style_transferred(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    row = np.array(state_of(browser)["input"]["row"])[None]
    code = model.model_.predict_codes(row, model.predict_with)[0]
    for other in (0, 7):
        content = np.flatnonzero(
            model.model_.predict_codes(digits_page[1][:400].reshape(400, -1), model.predict_with)
            == other
        )
        if len(content) == 0 or other == code:
            continue
        expected = transfer_style(
            model.model_, digits_page[1][content[:1]].reshape(1, -1), row, model.predict_with
        )[0]
        shown = pixels(browser, f"#classes .tile:nth-child({other + 1}) canvas")[..., 0]
        assert np.abs(1 - shown / 255 - np.clip(expected, 0, 1)).max() <= 1 / 255
        click(browser, "#classes .tile", other)
        np.testing.assert_array_equal(pixels(browser)[..., 0], shown)
        click(browser, "#tab-style")
        click(browser, "#back")


def test_keyboard(opened, digits_page):
    model, _, _, path = digits_page
    browser = opened(path)
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys("2")
    assert state_of(browser)["tab"] == "style"
    before = state_of(browser)["code"]
    body.send_keys("]")
    assert state_of(browser)["code"] == (before + 1) % 10
    pad = browser.find_element(By.ID, "pad")
    browser.execute_script("arguments[0].focus()", pad)
    ActionChains(browser).send_keys(Keys.HOME).perform()
    settle(browser)
    assert float(pad.get_attribute("aria-valuenow")) == pytest.approx(0, abs=0.01)
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT * 3).perform()
    assert_picture_is_decoded(browser, model)
    assert float(pad.get_attribute("aria-valuenow")) == pytest.approx(0.3, abs=0.01)
    body.send_keys("?")
    assert browser.find_element(By.ID, "help").is_displayed()
    body.send_keys(Keys.ESCAPE)


def test_directions_have_captions(opened, digits_page):
    browser = opened(digits_page[-1])
    open_tab(browser, "style")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".direction")) == 5
    ends = pixels(browser, ".direction .end:first-child canvas")
    assert not np.array_equal(ends, pixels(browser, ".direction .end:last-child canvas"))
    slider = browser.find_elements(By.CSS_SELECTOR, ".direction input")[2]
    before = np.array(state_of(browser)["v"])
    slider.send_keys(Keys.ARROW_RIGHT * 20)
    assert not np.array_equal(state_of(browser)["v"], before)
