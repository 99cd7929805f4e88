// Words for the two ends of a direction of style: what differs most between two rows.
"use strict";

/** Moments of the ink on an image with levels (height, width): mass, spreads and slant. */
function inkMoments(levels, width, ground) {
  let mass = 1e-6, x = 0, y = 0;
  const ink = levels.map((a) => Math.abs(a - ground));
  ink.forEach((a, i) => {
    mass += a;
    x += a * (i % width);
    y += a * Math.floor(i / width);
  });
  let xx = 1e-6, yy = 1e-6, xy = 0;
  ink.forEach((a, i) => {
    const dx = (i % width) - x / mass;
    const dy = Math.floor(i / width) - y / mass;
    xx += a * dx * dx;
    yy += a * dy * dy;
    xy += a * dx * dy;
  });
  return { mass, wide: Math.sqrt(xx / mass), tall: Math.sqrt(yy / mass), slant: -xy / yy };
}

/** Names of both ends by the measure that differs most, or null if none differs enough. */
function captionInk(from, to, width, ground) {
  const [a, b] = [from, to].map((levels) => inkMoments(levels, width, ground));
  const measures = [
    [Math.log(b.mass / a.mass) / 0.3, "thin", "bold"],
    [Math.log(b.wide / a.wide) / 0.2, "narrow", "wide"],
    [Math.log(b.tall / a.tall) / 0.2, "low", "tall"],
    [(b.slant - a.slant) / 0.25, "leans left", "leans right"],
  ];
  return strongest(measures);
}

/** The same for photographs: light, contrast and colour. */
function captionPhoto(from, to, nChannels) {
  const [a, b] = [from, to].map((levels) => {
    const n = levels.length / nChannels;
    const means = Array.from({ length: nChannels }, (_, c) =>
      levels.reduce((sum, x, i) => sum + (i % nChannels === c ? x / n : 0), 0)
    );
    const light = levels.reduce((sum, x) => sum + x / levels.length, 0);
    const variance = levels.reduce((sum, x) => sum + (x - light) ** 2 / levels.length, 0);
    return { light, contrast: Math.sqrt(variance), warm: nChannels > 2 ? means[0] - means[2] : 0 };
  });
  return strongest([
    [(b.light - a.light) / 0.12, "dark", "bright"],
    [(b.contrast - a.contrast) / 0.06, "flat", "contrasty"],
    [(b.warm - a.warm) / 0.08, "cool", "warm"],
  ]);
}

function strongest(measures) {
  const [value, low, high] = measures.reduce((best, m) =>
    Math.abs(m[0]) > Math.abs(best[0]) ? m : best
  );
  if (Math.abs(value) < 0.6) return null;
  return value > 0 ? [low, high] : [high, low];
}

/** The feature of a table that differs most, with its values at both ends. */
function captionRow(model, from, to) {
  const change = (i) => {
    const column = model.columns && model.columns[i];
    if (column && column.categories) return from[i] === to[i] ? 0 : 1;
    return Math.abs(to[i] - from[i]) / model.scale[i] || 0;
  };
  const i = argmax(model.features.map((_, k) => change(k)));
  return [from, to].map((row) => `${model.features[i]} ${valueText(model, row[i], i)}`);
}

/** A value of a feature as text: a number in its precision, or the name of a category. */
function valueText(model, value, i) {
  const column = model.columns && model.columns[i];
  if (column && column.categories && !Number.isNaN(value)) return column.categories[value];
  if (column && column.integer && !Number.isNaN(value)) return String(Math.round(value));
  return formatted(value, model.scale[i]);
}

/** The captions of a direction of style, from the rows at its two ends. */
function makeCaptions(model, levels) {
  const [nChannels, , width] = model.shape;
  return (from, to) => {
    if (model.kind !== "image") return captionRow(model, from, to);
    if (model.frame) return captionInk(levels(from), levels(to), width, model.frame.ground);
    return captionPhoto(levels(from), levels(to), nChannels === model.drawn_channels ? nChannels : 1);
  };
}
