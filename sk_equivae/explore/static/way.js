// The way from one row to another: r and v change in a straight line, as `interpolate` in Python.
"use strict";

function makeWay(app) {
  const { model, engine, state } = app;
  const N_STEPS = 9;
  const SECONDS = 2.5; // from one end to the other
  const slots = ["From", "To"].map(makeSlot);
  const steps = Array.from({ length: N_STEPS }, (_, i) => {
    const t = i / (N_STEPS - 1);
    return makeTile($("steps"), null, `step ${i + 1} of ${N_STEPS}`, () => goTo(t));
  });

  /** Where the way begins or ends: a picture, and a button to put what is on the stage there. */
  function makeSlot(name, i) {
    const slot = element("div", "end");
    const canvas = element("canvas");
    const label = element("span", "label");
    const use = element("button", "", "Use mine");
    use.type = "button";
    use.title = `${name}: what is on the stage`;
    use.setAttribute("aria-label", use.title);
    use.addEventListener("click", () => setEnd(i, { r: state.r, v: state.v, code: state.code }));
    const next = element("button", "", "Another");
    next.type = "button";
    next.setAttribute("aria-label", `${name}: another example`);
    next.addEventListener("click", () => {
      const e = app.examples[Math.floor(Math.random() * app.examples.length)];
      setEnd(i, { r: engine.prototypes[e.code], v: e.v, code: e.code });
    });
    const buttons = element("div", "buttons");
    buttons.append(use, next);
    slot.append(element("span", "note", name), canvas, label, buttons);
    $("ends").append(slot);
    return { canvas, label };
  }

  function setEnd(i, end) {
    const ends = [...state.ends];
    ends[i] = { r: Float32Array.from(end.r), v: Float32Array.from(end.v), code: end.code };
    app.change({ ends });
  }

  function at(t) {
    const [a, b] = state.ends;
    const r = lerp(a.r, b.r, t);
    return { r, v: lerp(a.v, b.v, t), code: t < 0.5 ? a.code : b.code };
  }

  function goTo(t) {
    app.change({ ...at(t), time: t, origin: "way" });
  }

  let playing = null;
  function play() {
    if (playing) return stop();
    let t = state.time >= 0.999 ? 0 : state.time;
    let before = null;
    $("play").textContent = "Pause";
    const tick = (now) => {
      if (before !== null) t = Math.min(1, t + (now - before) / (1000 * SECONDS));
      before = now;
      goTo(t);
      if (t < 1) playing = requestAnimationFrame(tick);
      else stop();
    };
    playing = requestAnimationFrame(tick);
  }

  function stop() {
    cancelAnimationFrame(playing);
    playing = null;
    $("play").textContent = "Play";
  }

  $("play").addEventListener("click", play);
  $("time").addEventListener("input", () => {
    stop();
    goTo(Number($("time").value));
  });
  $("swap").addEventListener("click", () => app.change({ ends: [...state.ends].reverse() }));

  let drawnFor = {};
  return {
    play,
    draw() {
      $("time").value = state.time;
      const place = Math.round(state.time * (N_STEPS - 1));
      steps.forEach(({ tile }, i) =>
        tile.setAttribute("aria-pressed", state.origin === "way" && i === place)
      );
      if (drawnFor.ends === state.ends && drawnFor.dark === isDark()) return;
      drawnFor = { ends: state.ends, dark: isDark() };
      slots.forEach(({ canvas, label }, i) => {
        const { r, v, code } = state.ends[i];
        app.paint(canvas, engine.decode(r, v));
        label.textContent = model.classes[code];
      });
      steps.forEach(({ canvas }, i) =>
        app.later(`way ${i}`, () => {
          const { r, v } = at(i / (N_STEPS - 1));
          app.paint(canvas, engine.decode(r, v));
        })
      );
    },
  };
}
