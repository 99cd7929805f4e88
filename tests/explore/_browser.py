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
    return model.model_.decode(np.array([state["r"]]), np.array([state["v"]]))[0]


def assert_picture_is_decoded(browser, model):
    state = state_of(browser)
    expected = np.clip(decoded(model, state), 0, 1)
    for channel in np.moveaxis(pixels(browser), 2, 0):
        assert np.abs((255 - channel) / 255 - expected).max() <= 1 / 255
    return state


def open_tab(browser, name):
    browser.find_element(By.ID, f"tab-{name}").click()
    settle(browser)


def paint(browser, images):
    """What the page reads in grey images of bytes that are painted on its canvas."""
    return browser.execute_script(
        """const [images, size] = arguments;
        const { app, input } = explorePage;
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 20 * size;
        const context = canvas.getContext("2d");
        return images.map((bytes) => {
          bytes.forEach((a, i) => {
            context.fillStyle = `rgb(${a} ${a} ${a})`;
            context.fillRect(20 * (i % size), 20 * Math.floor(i / size), 20, 20);
          });
          input.take(canvas);
          const start = performance.now();
          const { code } = app.engine.encode(input.row());
          return [code, performance.now() - start];
        });""",
        images.reshape(len(images), -1).tolist(),
        images.shape[1],
    )


def drag(browser, kind, start, end, id_="pad"):
    """Drag over the pad between places in parts of its half-width, as seen from its middle."""
    pad = browser.find_element(By.ID, id_)
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


def click(browser, selector, place=0):
    browser.find_elements(By.CSS_SELECTOR, selector)[place].click()
    settle(browser)
