"""A page in the browser: what it shows, and how to drag over it."""

import time

import numpy as np

try:
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.pointer_input import PointerInput
    from selenium.webdriver.common.by import By
except ImportError:  # the tests are skipped then
    pass


def settle(browser):
    """Wait until everything is drawn."""
    for _ in range(200):
        if browser.execute_script("return explorePage.settled()"):
            return
        time.sleep(0.05)
    raise AssertionError("the page does not come to rest")


def state_of(browser):
    settle(browser)
    return browser.execute_script("return explorePage.state()")


def pixels(browser, selector="#picture"):
    """Red, green and blue of a canvas, (h, w, 3)."""
    width, height, data = browser.execute_script(
        """const canvas = document.querySelector(arguments[0]);
        const { width, height } = canvas;
        // from a copy: Chromium warns of reading the same canvas again and again
        const copy = Object.assign(document.createElement("canvas"), { width, height });
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        return [width, height, Array.from(context.getImageData(0, 0, width, height).data)];""",
        selector,
    )
    return np.array(data).reshape(height, width, 4)[..., :3]


def decoded(model, state):
    """What the Python decoder gives for the state of the page."""
    z = np.concatenate([model.prototypes_[state["code"]], state["v"]])[None]
    return np.asarray(model.set_params(representation="both").inverse_transform(z))[0]


def assert_picture_is_decoded(browser, model):
    state = state_of(browser)
    expected = np.clip(decoded(model, state), 0, 1)
    for channel in np.moveaxis(pixels(browser), 2, 0):
        assert np.abs((255 - channel) / 255 - expected).max() <= 1 / 255
    return state


def drag(browser, kind, start, end):
    """Drag over the pad between places in parts of its half-width, as seen from its middle."""
    pad = browser.find_element(By.ID, "pad")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", pad)
    half = pad.rect["width"] / 2
    actions = ActionBuilder(browser, mouse=PointerInput(kind, kind))
    pointer = actions.pointer_action
    pointer.move_to(pad, round(start[0] * half), round(start[1] * half)).pointer_down()
    for t in (0.25, 0.5, 0.75, 1.0):
        x, y = (a + t * (b - a) for a, b in zip(start, end, strict=True))
        pointer.move_to(pad, round(x * half), round(y * half))
    pointer.pointer_up()
    actions.perform()
