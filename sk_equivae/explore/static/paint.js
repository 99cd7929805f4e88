// Rows, drawn: pixels of images, small profiles of tabular rows; and the colours of classes.
"use strict";

/** An element with a class and a text. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const $ = (id) => document.getElementById(id);

// Colours that people with colour-blindness can tell apart, after Okabe and Ito; for a light and
// for a dark ground.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b5518c", "#2b95d6", "#a87a00", "#5b3fa8"];
LIGHT.push("#882255", "#5d6b1c", "#6b6b6b");
const DARK = ["#56a8e8", "#ff8a4c", "#2fc79a", "#e39ac4", "#8ed0ff", "#f0c04a", "#b09cf5"];
DARK.push("#e0709a", "#b9c46a", "#b5b5b5");

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** The colour of a class; beyond ten, hues far from each other in alternating lightness. */
function classColor(code, nClasses) {
  const palette = isDark() ? DARK : LIGHT;
  if (nClasses <= palette.length) return palette[code];
  const lightness = (isDark() ? 72 : 42) + 8 * (code % 3);
  return `hsl(${(code * 137.508) % 360} 65% ${lightness}%)`;
}

/** The value of a colour of the style sheet. */
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

function resize(canvas, width, height) {
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
}

/**
 * `levels(row)` brings a row to what is drawn: [0, 1] for pixels, channels last, and for tabular
 * features the distance from the mean, 1 at three standard deviations. `paint(canvas, row)`
 * draws it. `paintInk(canvas, row, color)` draws an image in one colour on a clear ground.
 */
function makePainter(model) {
  const REACH = 3;
  const SIDE = 112; // pixels of a small profile
  const [nChannels, height, width] = model.shape;
  const [low, high] = model.limits || [0, 1];
  const nDrawn = model.drawn_channels;

  function levels(row) {
    if (model.kind !== "image") return Array.from(row, profileLevel);
    const scaled = (value) => clamp((value - low) / (high - low), 0, 1);
    if (nDrawn === nChannels) return Float32Array.from(row, scaled);
    // without colours: the mean over the channels
    return Float32Array.from({ length: width * height }, (_, i) => {
      let sum = 0;
      for (let c = 0; c < nChannels; c++) sum += row[i * nChannels + c];
      return scaled(sum / nChannels);
    });
  }

  function profileLevel(value, i) {
    const column = model.columns && model.columns[i];
    if (Number.isNaN(value)) return 0;
    if (column && column.categories) return (value + 0.5) / column.categories.length;
    const z = (value - model.shift[i]) / model.scale[i];
    return model.likelihood === "bernoulli" ? clamp(z, 0, 1) : clamp(z / REACH, -1, 1);
  }

  function imageOf(row) {
    const shown = levels(row);
    const pixels = new ImageData(width, height);
    for (let i = 0; i < width * height; i++) {
      for (let c = 0; c < 3; c++) {
        const level = Math.round(255 * shown[nDrawn === 1 ? i : i * nDrawn + c]);
        pixels.data[4 * i + c] = model.invert ? 255 - level : level;
      }
      pixels.data[4 * i + 3] = nDrawn === 4 ? Math.round(255 * shown[4 * i + 3]) : 255;
    }
    return pixels;
  }

  function paintImage(canvas, row) {
    resize(canvas, width, height);
    canvas.getContext("2d").putImageData(imageOf(row), 0, 0);
  }

  /** A small bar for each feature. */
  function paintProfile(canvas, row, color = cssColor("--v")) {
    resize(canvas, SIDE, SIDE);
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, SIDE, SIDE);
    const zero = model.likelihood === "bernoulli" ? SIDE - 2 : SIDE / 2;
    const step = SIDE / row.length;
    levels(row).forEach((x, i) => {
      context.fillStyle = color;
      const tall = Math.abs(x) * (zero - 2);
      context.fillRect(i * step, x > 0 ? zero - tall : zero, Math.max(1, 0.8 * step), tall);
    });
    context.fillStyle = cssColor("--soft");
    context.fillRect(0, zero, SIDE, 1);
  }

  /** What stands out from the ground, in one colour; images without an even ground as they are. */
  function paintInk(canvas, row, color) {
    if (model.kind !== "image") return paintProfile(canvas, row, color);
    if (!model.frame) return paintImage(canvas, row);
    const shown = levels(row);
    resize(canvas, width, height);
    const context = canvas.getContext("2d");
    const pixels = new ImageData(width, height);
    for (let i = 0; i < shown.length; i++) {
      pixels.data[4 * i + 3] = 255 * Math.abs(shown[i] - model.frame.ground);
    }
    context.globalCompositeOperation = "copy";
    context.putImageData(pixels, 0, 0);
    context.globalCompositeOperation = "source-in";
    context.fillStyle = color;
    context.fillRect(0, 0, width, height);
    context.globalCompositeOperation = "source-over";
  }

  return { levels, paint: model.kind === "image" ? paintImage : paintProfile, paintInk };
}

/** A button with a small picture and a text. */
function makeTile(parent, text, hint, onClick) {
  const tile = element("button", "tile");
  tile.type = "button";
  if (hint) tile.title = hint;
  const canvas = element("canvas");
  canvas.setAttribute("aria-hidden", "true");
  tile.append(canvas);
  if (text !== null) tile.append(typeof text === "string" ? element("span", "", text) : text);
  tile.addEventListener("click", onClick);
  parent.append(tile);
  return { tile, canvas };
}

/** A number with as many digits as matter beside a spread. */
function formatted(value, spread) {
  if (Number.isNaN(value)) return "missing";
  return value.toFixed(clamp(2 - Math.floor(Math.log10(spread || 1)), 0, 6));
}
