// What is decoded, drawn: pixels of images, bars of tabular rows.
"use strict";

/** An element with a class and a text. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/**
 * `paint(canvas, shown)` draws what `decoder.show` gave, small or large.
 * `drawBars(values)` writes the features of a tabular row into the element `barsElement`.
 */
function makePainter(model, decoder, barsElement) {
  const centred = model.likelihood !== "bernoulli"; // bars start in the middle, at the mean
  const SIDE = 112; // pixels of a small profile

  function paintImage(canvas, shown) {
    const [, height, width] = model.shape;
    const channels = model.drawn_channels;
    const size = height * width;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const pixels = new ImageData(width, height);
    for (let i = 0; i < size; i++) {
      for (let c = 0; c < 3; c++) {
        const level = Math.round(255 * shown[channels === 1 ? i : c * size + i]);
        pixels.data[4 * i + c] = model.invert ? 255 - level : level;
      }
      pixels.data[4 * i + 3] = channels === 4 ? Math.round(255 * shown[3 * size + i]) : 255;
    }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
  }

  /** A small bar for each feature. */
  function paintProfile(canvas, shown) {
    canvas.width = canvas.height = SIDE;
    const context = canvas.getContext("2d");
    const zero = centred ? SIDE / 2 : SIDE - 2;
    const colors = getComputedStyle(document.documentElement);
    context.fillStyle = colors.getPropertyValue("--v");
    const step = SIDE / shown.length;
    shown.forEach((x, i) => {
      const height = Math.abs(x) * (zero - 2);
      context.fillRect(i * step, x > 0 ? zero - height : zero, Math.max(1, 0.8 * step), height);
    });
    context.fillStyle = colors.getPropertyValue("--soft");
    context.fillRect(0, zero, SIDE, 1);
  }

  const bars = (model.features || []).map((name) => {
    const bar = { fill: element("div", "fill"), value: element("span", "value") };
    const track = element("div", centred ? "track centred" : "track");
    track.append(bar.fill);
    const row = element("div", "bar");
    row.append(element("span", "", name), track, bar.value);
    barsElement.append(row);
    return bar;
  });

  function drawBars(values) {
    decoder.show(values).forEach((x, i) => {
      const width = Math.abs(x) * (centred ? 50 : 100);
      bars[i].fill.style.left = `${centred ? 50 - (x < 0 ? width : 0) : 0}%`;
      bars[i].fill.style.width = `${width}%`;
      // as many digits as matter beside the spread of the feature
      const digits = clamp(2 - Math.floor(Math.log10(model.scale[i])), 0, 6);
      bars[i].value.textContent = values[i].toFixed(digits);
    });
  }

  return { paint: model.kind === "image" ? paintImage : paintProfile, drawBars };
}
