// The classes: each in the style of the moment, with the probability that the input belongs to it.
"use strict";

function makeStrip(app) {
  const { model, engine, state } = app;
  const nClasses = model.classes.length;
  const tiles = model.classes.map((label, code) => {
    const text = element("span", "label", label);
    const made = makeTile($("classes"), text, `class ${label}`, () => app.chooseClass(code));
    const bar = element("span", "bar");
    const fill = element("i");
    const percent = element("span", "percent");
    bar.append(fill);
    made.tile.append(bar, percent);
    return { ...made, fill, percent };
  });
  $("classes").classList.toggle("named", model.classes.some((label) => label.length > 2));
  $("classes").classList.toggle("many", nClasses > 12);
  let shown = null;

  /** Scroll to the chosen class, if there are too many classes to see all of them. */
  function reveal(tile) {
    const list = $("classes");
    const [around, inner] = [list, tile].map((one) => one.getBoundingClientRect());
    if (inner.left < around.left || inner.right > around.right)
      list.scrollLeft += inner.left - around.left - (around.width - inner.width) / 2;
    if (inner.top < around.top || inner.bottom > around.bottom)
      list.scrollTop += inner.top - around.top - (around.height - inner.height) / 2;
  }

  function drawProbabilities() {
    const p = state.input && state.input.reading ? state.input.reading.probabilities : null;
    tiles.forEach(({ tile, fill, percent }, code) => {
      const value = p ? p[code] : 0;
      fill.style.width = `${100 * value}%`;
      percent.textContent = p ? `${Math.round(100 * value)}%` : "";
      const said = p ? `, ${percentText(value)}` : "";
      tile.setAttribute("aria-label", `class ${model.classes[code]}${said}`);
    });
  }

  function drawVerdict() {
    const { input } = state;
    if (!engine.canEncode) {
      $("verdict").textContent = "This page generates, but does not classify: its encoders are not known to it.";
      return;
    }
    if (!input || !input.reading) {
      $("verdict").textContent = "Nothing is drawn yet.";
      $("nearest").replaceChildren();
      return;
    }
    const { probabilities, code, distances } = input.reading;
    const best = element("b", "", model.classes[code]);
    best.style.color = classColor(code, nClasses);
    $("verdict").replaceChildren("Looks like ", best, ` · ${percentText(probabilities[code])}`);
    const order = distances.map((_, i) => i).sort((a, b) => distances[a] - distances[b]);
    $("nearest").replaceChildren("Nearest prototypes");
    for (const near of order.slice(0, 3)) {
      const item = element("span", "near");
      const label = element("b", "", model.classes[near]);
      label.style.color = classColor(near, nClasses);
      item.append(label, ` ${distances[near].toFixed(2)}`);
      $("nearest").append(item);
    }
  }

  return {
    draw(changes) {
      if (changes.has("input")) {
        drawProbabilities();
        drawVerdict();
      }
      if (shown !== state.code && tiles[state.code]) reveal(tiles[state.code].tile);
      shown = state.code;
      tiles.forEach(({ tile, fill, canvas }, code) => {
        tile.setAttribute("aria-pressed", code === state.code);
        fill.style.background = classColor(code, nClasses);
        tile.style.setProperty("--of-class", classColor(code, nClasses));
        if (!changes.has("recipe") && !changes.has("scheme")) return;
        app.later(`class ${code}`, () => {
          const v = engine.transfer(state.v, state.code, code);
          app.paint(canvas, engine.decode(engine.prototypes[code], v));
        });
      });
    },
  };
}

function percentText(p) {
  const percent = 100 * p;
  if (percent > 99 && percent < 100) return percent >= 99.95 ? ">99.9%" : `${percent.toFixed(1)}%`;
  if (percent < 1) return percent < 0.05 ? "0%" : `${percent.toFixed(1)}%`;
  return `${Math.round(percent)}%`;
}
