// From what is drawn to a row of the model: means over blocks of pixels, and the frame.
"use strict";

/** Luminance of red, green and blue, as of television (Rec. 601). */
const luminance = (r, g, b) => 0.299 * r + 0.587 * g + 0.114 * b;

/**
 * Levels in [0, 1] of an image of `width` x `height`, channels last, from RGBA pixels `k` times as
 * large: the mean over each block.
 */
function blockMeans(data, width, height, k, nDrawn) {
  const levels = new Float64Array(width * height * nDrawn);
  const unit = 1 / (255 * k * k);
  for (let y = 0; y < height * k; y++) {
    for (let x = 0; x < width * k; x++) {
      const from = 4 * (y * width * k + x);
      const to = (Math.floor(y / k) * width + Math.floor(x / k)) * nDrawn;
      if (nDrawn === 1) {
        levels[to] += luminance(data[from], data[from + 1], data[from + 2]) * unit;
      } else {
        for (let c = 0; c < nDrawn; c++) levels[to + c] += data[from + c] * unit;
      }
    }
  }
  return levels;
}

/**
 * Where the figure on an image lies, in pixels: its centre of mass, and the longer side of the box
 * around it; as `frame_of` in Python. Null without a figure.
 */
function figureOf(levels, width, ground) {
  const INK = 0.2;
  let mass = 0, sumX = 0, sumY = 0;
  let [left, right, top, bottom] = [Infinity, -1, Infinity, -1];
  levels.forEach((level, i) => {
    const ink = Math.abs(level - ground);
    const [x, y] = [i % width, Math.floor(i / width)];
    mass += ink;
    sumX += ink * (x + 0.5);
    sumY += ink * (y + 0.5);
    if (ink <= INK) return;
    [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
  });
  if (right < 0) return null;
  return { x: sumX / mass, y: sumY / mass, side: Math.max(right - left, bottom - top) };
}

/** The same of strokes, whose points are `k` times as far apart, drawn with a pen. */
function figureOfStrokes(strokes, k, pen) {
  let mass = 0, sumX = 0, sumY = 0;
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const points of strokes) {
    points.forEach(([x, y], i) => {
      const [fromX, fromY] = points[Math.max(0, i - 1)];
      const length = Math.hypot(x - fromX, y - fromY) + 1e-3; // a dot has some weight too
      mass += length;
      sumX += (length * (x + fromX)) / 2;
      sumY += (length * (y + fromY)) / 2;
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    });
  }
  const side = Math.max(right - left, bottom - top) / k + pen;
  const box = [left, right, top, bottom].map((a) => a / k);
  return { x: sumX / mass / k, y: sumY / mass / k, side, box };
}

/** Along one axis: the place of a figure next to `wanted` at which its box is inside the image. */
function inside(wanted, before, after, size) {
  if (before + after >= size) return before + (size - before - after) / 2;
  return clamp(wanted, before, size - after);
}

/**
 * The side and the centre of a figure moved and scaled to lie where those of the data lie, on
 * images of a size. One that lies there already, or almost, stays as it is, and this is null.
 */
function placementOf(figure, frame, size) {
  const slack = 0.08 * size;
  const near = (value, [low, high]) =>
    value > low - slack && value < high + slack ? value : clamp(value, low, high);
  const side = near(figure.side, frame.side);
  const y = near(figure.y, frame.centre[0]);
  const x = near(figure.x, frame.centre[1]);
  if (side === figure.side && x === figure.x && y === figure.y) return null;
  return { side, x, y };
}

/** A row in the user's units from levels in [0, 1]. */
function rowOfLevels(levels, model) {
  const [nChannels] = model.shape;
  const [low, high] = model.limits;
  const value = (level) => low + level * (high - low);
  if (model.drawn_channels === nChannels) return Float64Array.from(levels, value);
  return Float64Array.from({ length: levels.length * nChannels }, (_, i) =>
    value(levels[Math.floor(i / nChannels)])
  );
}

/** Of an image that was dropped: whether its border is of the other shade than the data's ground. */
function isNegative(levels, width, ground) {
  const height = levels.length / width;
  const border = levels.filter((_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    return x === 0 || y === 0 || x === width - 1 || y === height - 1;
  });
  const sorted = Array.from(border).sort((a, b) => a - b);
  return Math.abs(sorted[sorted.length >> 1] - ground) > 0.5;
}
