// The style pad: two directions of v, within the range of the class.
"use strict";

const EXTENT = 3; // standard deviations of v within the class, each way

/**
 * Coordinates of v along the chosen directions. They are standardised with the mean and the
 * standard deviation of v along the direction, within the class.
 */
function makeCoordinates(app) {
  const { engine, state, bases } = app;
  const direction = (k) => bases[state.basis].vectors[k];

  function coordinate(k, v = state.v, code = state.code) {
    const { mean, deviation } = engine.rangeAlong(direction(k), code);
    return (dot(direction(k), v) - mean) / deviation;
  }

  /** v with some coordinates set, as pairs of a direction and a value; the others stay. */
  function moved(v, changes, code = state.code) {
    const out = Float64Array.from(v);
    for (const [k, value] of changes) {
      const { mean, deviation } = engine.rangeAlong(direction(k), code);
      const step = mean + value * deviation - dot(direction(k), out);
      for (let i = 0; i < out.length; i++) out[i] += step * direction(k)[i];
    }
    return Float32Array.from(out);
  }

  return { coordinate, moved };
}

function makePad(app) {
  const { model, engine, state, coordinates } = app;
  const { coordinate, moved } = coordinates;
  const MAP = 7; // pictures along a side
  const isImage = model.kind === "image";
  const pad = $("pad");
  const isLine = model.n_latents[1] === 1;
  pad.classList.toggle("line", isLine);
  $("up-choice").hidden = isLine;
  let dragging = null;

  // -------------------------------------------------------------- pictures behind the handle

  const spare = element("canvas");
  function drawMap() {
    if (!isImage) return drawDots();
    const [, height, width] = model.shape;
    const side = Math.max(height, width);
    const cell = side + 2 * Math.max(1, Math.round(side / 28)); // a gap, the same on all sides
    const [nAcross, nUp] = isLine ? [4, 1] : [MAP, MAP];
    const map = $("pad-map");
    resize(map, nAcross * cell, nUp * cell);
    const centre = (i, n) => EXTENT * ((2 * i + 1) / n - 1);
    for (let row = 0; row < nUp; row++) {
      for (let column = 0; column < nAcross; column++) {
        app.later(`pad ${row} ${column}`, () => {
          const at = [[state.axes[0], centre(column, nAcross)]];
          if (nUp > 1) at.push([state.axes[1], -centre(row, nUp)]);
          app.paint(spare, engine.decode(state.r, moved(state.v, at)));
          const x = column * cell + ((cell - width) >> 1);
          map.getContext("2d").drawImage(spare, x, row * cell + ((cell - height) >> 1));
        });
      }
    }
  }

  /** v of the examples of the class, for tables. */
  function drawDots() {
    const dots = app.examples
      .filter(({ code }) => code === state.code)
      .map(({ v, code }) => {
        const at = state.axes.map((k) => clamp(coordinate(k, v, code) / EXTENT, -1, 1));
        const dotElement = element("i");
        dotElement.style.left = `${50 + 50 * at[0]}%`;
        dotElement.style.top = `${50 - 50 * (at[1] || 0)}%`;
        dotElement.style.background = classColor(code, model.classes.length);
        return dotElement;
      });
    $("dots").replaceChildren(...dots);
  }

  function drawHandle() {
    const names = app.bases[state.basis].names;
    const at = state.axes.map((k) => coordinate(k));
    const place = (x) => `${50 + (50 * clamp(x, -EXTENT, EXTENT)) / EXTENT}%`;
    $("handle").style.left = place(at[0]);
    $("handle").style.top = place(-(at[1] || 0));
    const text = state.axes.map((k, i) => `${names[k]} ${at[i].toFixed(2)}`).join(", ");
    pad.setAttribute("aria-valuenow", clamp(at[0], -EXTENT, EXTENT).toFixed(2));
    pad.setAttribute("aria-valuetext", text);
  }

  // -------------------------------------------------------------- pointer and keys

  function moveTo(values) {
    const changes = state.axes.map((k, i) => [k, clamp(values[i], -EXTENT, EXTENT)]);
    app.change({ v: moved(state.v, changes), origin: "own" });
  }

  function dragTo(event) {
    const box = pad.getBoundingClientRect();
    moveTo([
      EXTENT * ((2 * (event.clientX - box.left)) / box.width - 1),
      EXTENT * (1 - (2 * (event.clientY - box.top)) / box.height),
    ]);
  }

  pad.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    dragging = event.pointerId;
    pad.setPointerCapture(event.pointerId);
    dragTo(event);
  });
  pad.addEventListener("pointermove", (event) => {
    if (event.pointerId === dragging) dragTo(event);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    pad.addEventListener(end, () => (dragging = null));
  }
  pad.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] };
    const at = state.axes.map((k) => coordinate(k));
    if (event.key === "Home") at.fill(0);
    else if (steps[event.key] && steps[event.key][0] < at.length) {
      at[steps[event.key][0]] += steps[event.key][1] * (event.shiftKey ? 0.5 : 0.1);
    } else return;
    event.preventDefault();
    moveTo(at);
  });

  let drawnFor = null;
  return {
    draw() {
      drawHandle();
      // the pictures show the whole plane: a drag within it changes none of them
      const others = app.bases[state.basis].vectors
        .map((_, k) => (state.axes.includes(k) ? "" : coordinate(k).toFixed(3)))
        .join();
      const key = [others, state.basis, state.axes, Array.from(state.r).join(), isDark()].join(";");
      if (key === drawnFor) return;
      drawnFor = key;
      drawMap();
    },
  };
}
