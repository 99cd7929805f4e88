// All directions of style: a slider each, with what is at its two ends.
"use strict";

function makeSliders(app) {
  const { model, engine, state, coordinates, bases } = app;
  const { coordinate, moved } = coordinates;
  const isImage = model.kind === "image";
  const captions = makeCaptions(model, app.levels);
  const END = 2; // standard deviations at which the ends are shown
  let sliders = [];

  const titles = {
    principal: `in which the ${app.noun}s differ most`,
    effect: `that change the ${app.noun} most`,
    plain: "single dimensions of v",
  };
  const notes = {
    principal: `With each, its part of the variety among the given ${app.noun}s.`,
    effect: `With each, its part of the change that a step makes in the ${app.noun}.`,
    plain: "With each, its part of the change. Some may do nothing: the model had no use for them.",
  };

  function percent(k) {
    const share = bases[state.basis].share[k];
    return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
  }

  function options(select, texts, chosen) {
    const made = texts.map((text, i) => {
      const option = element("option", "", text);
      option.value = i;
      option.selected = i === chosen;
      return option;
    });
    select.replaceChildren(...made);
  }

  function makeSlider(name, k) {
    const row = element("div", "direction");
    const input = element("input");
    Object.assign(input, { type: "range", min: -EXTENT, max: EXTENT, step: 0.01 });
    input.setAttribute("aria-label", `${name}, ${percent(k)}`);
    input.addEventListener("input", () =>
      app.change({ v: moved(state.v, [[k, Number(input.value)]]), origin: "own" })
    );
    const ends = [0, 1].map(() => {
      const end = element("div", "end");
      const canvas = element("canvas");
      canvas.setAttribute("aria-hidden", "true");
      const text = element("span");
      end.append(...(isImage ? [canvas, text] : [text]));
      return { end, canvas, text };
    });
    const middle = element("div", "middle");
    middle.append(element("span", "name", `${name} · ${percent(k)}`), input);
    row.append(ends[0].end, middle, ends[1].end);
    return { row, input, ends, name };
  }

  function build() {
    const { names, name } = bases[state.basis];
    options($("basis"), bases.map((basis) => titles[basis.name]), state.basis);
    $("basis-choice").hidden = bases.length === 1;
    state.axes.forEach((chosen, i) =>
      options($(`axis-${i}`), names, chosen)
    );
    sliders = names.map(makeSlider);
    $("sliders").replaceChildren(...sliders.map(({ row }) => row));
    $("share-note").textContent = notes[name];
  }

  /** The pictures and words at both ends of a slider. */
  function drawEnds({ ends, input, name }, k) {
    const rows = [-END, END].map((at) => engine.decode(state.r, moved(state.v, [[k, at]])));
    const words = captions(rows[0], rows[1]) || ["", ""];
    rows.forEach((row, i) => {
      if (isImage) app.paint(ends[i].canvas, row);
      ends[i].text.textContent = words[i];
    });
    const said = words[0] ? `, from ${words[0]} to ${words[1]}` : "";
    input.setAttribute("aria-label", `${name}, ${percent(k)}${said}`);
  }

  $("basis").addEventListener("change", (event) => {
    state.axes = model.n_latents[1] > 1 ? [0, 1] : [0];
    app.change({ basis: Number(event.target.value) });
  });
  state.axes.forEach((_, i) =>
    $(`axis-${i}`).addEventListener("change", (event) => {
      const chosen = Number(event.target.value);
      const axes = [...state.axes];
      // the same direction both ways would be none: the two change places
      if (axes[1 - i] === chosen) axes[1 - i] = axes[i];
      axes[i] = chosen;
      app.change({ axes });
    })
  );

  let builtFor = null;
  return {
    draw() {
      const key = `${state.basis} ${state.axes}`;
      if (key !== builtFor) build();
      builtFor = key;
      sliders.forEach((slider, k) => {
        slider.input.value = coordinate(k);
        app.later(`ends ${k}`, () => drawEnds(slider, k));
      });
    },
  };
}
