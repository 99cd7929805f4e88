// The gallery: samples of the class, and examples to take.
"use strict";

function makeGallery(app) {
  const { model, engine, state } = app;
  const N_SAMPLES = 12;
  const N_EXAMPLES = 40;
  let sampled = { code: null, styles: [] };

  const samples = Array.from({ length: N_SAMPLES }, (_, i) =>
    makeTile($("samples"), null, "take this sample", () => {
      const { code, styles } = sampled;
      app.change({ r: engine.prototypes[code], v: styles[i], code, origin: "sample" });
    })
  );

  /** As `sample` in Python: v from the distribution of v in the class. */
  function resample() {
    const { code } = state;
    sampled = { code, styles: samples.map(() => engine.sampleStyle(code)) };
    $("sampled-class").textContent = model.classes[code];
    drawSamples();
  }

  function drawSamples() {
    const { code, styles } = sampled;
    samples.forEach(({ canvas, tile }, i) => {
      tile.setAttribute("aria-label", `sample ${i + 1} of class ${model.classes[code]}`);
      app.later(`sample ${i}`, () =>
        app.paint(canvas, engine.decode(engine.prototypes[code], styles[i]))
      );
    });
  }

  const examples = app.examples.slice(0, N_EXAMPLES).map(({ code }, i) =>
    makeTile($("examples"), model.classes[code], `example ${i + 1}, class ${model.classes[code]}`, () =>
      app.takeExample(i, $("style-only").checked)
    )
  );

  function drawExamples() {
    examples.forEach(({ canvas }, i) => app.later(`example ${i}`, () => app.paint(canvas, app.rowOf(i))));
  }

  $("resample").addEventListener("click", resample);
  $("examples-note").textContent = model.rows.given
    ? `${app.Noun}s that were given. The model reads the one you choose.`
    : `${app.Noun}s that the model made up.`;

  let drawnFor = null;
  return {
    draw() {
      if (sampled.code !== state.code) resample();
      if (drawnFor === isDark()) return;
      drawnFor = isDark();
      drawSamples();
      drawExamples();
    },
  };
}
