// The player: steps through the frames of one or several runs.
// All frames arrive once, in `timelines`. Stepping needs no kernel: a key press is drawn within a few milliseconds.

// JupyterLab's own keys ("d d" deletes the cell) stay away only from the very element that carries this.
const GUARD = "data-lm-suppress-shortcuts";
const MOVES = ["ask", "check", "act", "record"];
const SPEEDS = [["slow", 2000], ["normal", 1000], ["fast", 300]];
const SAVE_AFTER_MS = 150;
// Drawn as paths, since not every computer has a font with these icons. Each is 16 units wide and high.
const ICONS = {
  first: "M2 2h2v12H2z M9 2v12L4 8z M15 2v12l-6-6z",
  back: "M3 2h2v12H3z M13 2v12L5 8z",
  play: "M4 2l10 6-10 6z",
  pause: "M3 2h4v12H3z M9 2h4v12H9z",
  on: "M3 2l8 6-8 6z M11 2h2v12h-2z",
  last: "M1 2l6 6-6 6z M7 2l5 6-5 6z M12 2h2v12h-2z",
};

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

function focusable(element) {
  element.setAttribute(GUARD, "true");
  return element;
}

// Values come between backticks. They are only ever put in as text, so markup in them stays text.
function captionParts(caption) {
  return caption.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
}

const plainCaption = (caption) => caption.replaceAll("`", "");
const numberWords = (number) => number.toLocaleString("en");

// --- the parts of one run ---------------------------------------------------------------------------

// Where the rest of a long line of code goes on: a little further in than the line itself begins.
const hang = (text) => Math.min(text.length - text.trimStart().length + 4, 16);

class Code {
  constructor(timeline) {
    this.first = timeline.first_line;
    this.lines = timeline.lines.map((text, place) =>
      make("li", { value: this.first + place }, make("code", { style: `--hang: ${hang(text)}ch` }, text || " ")));
    this.list = make("ol", { class: "agentlib-code", style: `--digits: ${String(this.first + timeline.lines.length).length}ch` },
      ...this.lines);
    this.element = focusable(make("div", {
      class: "agentlib-scroll", tabindex: "0", role: "region", "aria-label": "The code of the loop, the running line is marked",
    }, this.list));
    this.lit = null;
  }

  draw(frame) {
    const now = frame.line === null ? null : (this.lines[frame.line - this.first] ?? null);
    if (now === this.lit) return;
    this.lit?.removeAttribute("aria-current");
    now?.setAttribute("aria-current", "step");
    this.lit = now;
    if (now) keepInView(this.element, now);
  }
}

class History {
  constructor(timeline) {
    this.places = timeline.places;
    this.rewritten = timeline.places.flatMap((versions, place) => (versions.length > 1 ? [place] : []));
    this.rows = [];
    this.marked = [];
    this.body = make("tbody");
    this.caption = make("caption");
    const heads = ["#", "who", "content"].map((name) => make("th", { scope: "col" }, name));
    const table = make("table", {}, this.caption, make("thead", {}, make("tr", {}, ...heads)), this.body);
    this.element = focusable(make("div", {
      class: "agentlib-scroll", tabindex: "0", role: "region", "aria-label": "History",
    }, table));
  }

  versionAt(place, number) {
    const versions = this.places[place];
    let found = versions[0];
    for (const version of versions) if (version.frame <= number) found = version;
    return found;
  }

  draw(frame, number) {
    for (const row of this.marked) row.querySelector(".agentlib-new")?.remove(), row.classList.remove("agentlib-added");
    this.marked = [];
    const before = this.rows.length;
    while (this.rows.length > frame.entries) this.rows.pop().element.remove();
    for (const place of this.rewritten) {
      if (place < this.rows.length && this.rows[place].version !== this.versionAt(place, number)) {
        const row = this.row(place, number);
        this.rows[place].element.replaceWith(row.element);
        this.rows[place] = row;
      }
    }
    while (this.rows.length < frame.entries) {
      const row = this.row(this.rows.length, number);
      this.rows.push(row);
      this.body.append(row.element);
    }
    for (const place of frame.new ?? []) {
      const row = this.rows[place].element;
      row.classList.add("agentlib-added");
      row.lastChild.append(make("strong", { class: "agentlib-new" }, " (new)"));
      this.marked.push(row);
    }
    const newest = this.marked.at(-1) ?? (this.rows.length > before ? this.rows.at(-1).element : null);
    if (newest) keepInView(this.element, newest);
    this.caption.textContent = `History: ${numberWords(frame.entries)} ${frame.entries === 1 ? "entry" : "entries"}`;
  }

  row(place, number) {
    const version = this.versionAt(place, number);
    const content = make("td", {}, make("bdi", {}, version.text));
    for (const mark of version.marks ?? []) content.append(make("strong", {}, ` (${mark})`));
    if (version.whole) {
      const all = numberWords(version.chars);
      const cut = version.chars > version.whole.length ? `\n... (cut; ${all} characters in all)` : "";
      content.append(make("details", {}, focusable(make("summary", {}, `all of it (${all} characters)`)),
        make("bdi", {}, version.whole + cut)));
    }
    const element = make("tr", {}, make("th", { scope: "row" }, String(place + 1)), make("td", {}, version.who), content);
    return { version, element };
  }
}

// Scroll inside the part only, and only if need be: the page and what the learner scrolled to stay put.
function keepInView(part, element) {
  const outer = part.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.top < outer.top) part.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) part.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
}

class Ring {
  constructor() {
    this.moves = MOVES.map((move) => make("li", { class: `agentlib-move agentlib-${move}` }, move));
    const arrows = ["→", "↓", "←", "↑"].map((arrow, place) =>
      make("span", { class: `agentlib-arrow agentlib-arrow-${place}`, "aria-hidden": "true" }, arrow));
    this.middle = make("span", { class: "agentlib-middle", "aria-hidden": "true" });
    this.element = make("div", { class: "agentlib-ring" },
      make("ol", { "aria-label": "The four moves of the loop" }, ...this.moves), ...arrows, this.middle);
  }

  draw(frame) {
    this.moves.forEach((element, place) => {
      if (MOVES[place] === frame.move) element.setAttribute("aria-current", "step");
      else element.removeAttribute("aria-current");
    });
    this.middle.textContent = `step ${frame.step}`;
  }
}

class Strip {
  constructor(timeline) {
    this.calls = timeline.calls;
    this.max = Math.max(1, ...timeline.calls);
    this.bars = timeline.calls.map((tokens) => make("span", { style: `height: ${Math.max(4, (100 * tokens) / this.max)}%` }));
    this.words = make("p");
    this.element = make("div", { class: "agentlib-strip" },
      make("div", { class: "agentlib-bars", "aria-hidden": "true" }, ...this.bars), this.words);
  }

  draw(frame) {
    this.bars.forEach((bar, place) => {
      bar.className = place < frame.step - 1 ? "agentlib-done" : place === frame.step - 1 ? "agentlib-now" : "";
    });
    const last = this.calls[frame.step - 1];
    this.words.textContent = frame.step === 0 ? "No call yet: nothing is read."
      : `Call ${frame.step} reads ${numberWords(last)} tokens, ${numberWords(frame.tokens)} in all.`;
  }
}

class Figures {
  constructor(timeline) {
    this.maxSteps = timeline.max_steps;
    this.values = {};
    const pairs = ["step", "entries", "tokens read", "stopped"].map((name) => {
      this.values[name] = make("dd");
      return make("div", {}, make("dt", {}, name), this.values[name]);
    });
    this.element = make("dl", {}, ...pairs);
  }

  draw(frame) {
    this.values.step.textContent = this.maxSteps ? `${frame.step} / ${this.maxSteps}` : String(frame.step);
    this.values.entries.textContent = numberWords(frame.entries);
    this.values["tokens read"].textContent = numberWords(frame.tokens);
    this.values.stopped.textContent = frame.stopped ?? "not yet";
    this.values.stopped.classList.toggle("agentlib-over", frame.stopped !== undefined);
  }
}

// One run: its caption, figures, code, history, ring and strip.
class Panel {
  constructor(timeline) {
    this.timeline = timeline;
    this.caption = make("p", { class: "agentlib-caption", role: "status" });
    this.parts = [new Figures(timeline), new History(timeline), new Ring(), new Strip(timeline)];
    const [figures, history, ring, strip] = this.parts.map((part) => part.element);
    const body = [make("div", { class: "agentlib-column" }, figures, history),
      make("div", { class: "agentlib-costs" }, ring, strip)];
    if (timeline.lines.length) {
      const code = new Code(timeline);
      this.parts.push(code);
      body.unshift(code.element);
    }
    this.element = make("section", { class: "agentlib-run", "aria-label": timeline.label || "Run" });
    if (timeline.label) this.element.append(make("h4", {}, timeline.label));
    if (timeline.difference) this.element.append(make("p", { class: "agentlib-difference" }, ...captionParts(timeline.difference.words)));
    this.element.append(this.caption, make("div", { class: "agentlib-body" }, ...body));
  }

  draw(number) {
    const shown = Math.min(number, this.timeline.frames.length);
    const frame = this.timeline.frames[shown - 1];
    if (!frame) return;
    this.caption.replaceChildren(...captionParts(frame.caption));
    this.caption.classList.toggle("agentlib-wrong", Boolean(frame.error));
    this.element.classList.toggle("agentlib-differs", number >= (this.timeline.difference?.frame ?? Infinity));
    for (const part of this.parts) part.draw(frame, shown);
  }
}

// --- forms ------------------------------------------------------------------------------------------

function predictForm(timeline, guess, choose) {
  const verdict = make("p", { role: "status", class: "agentlib-verdict" });
  const buttons = timeline.predict.choices.map((choice) => {
    const button = focusable(make("button", { type: "button", "aria-pressed": String(choice === guess) }, choice));
    button.addEventListener("click", () => choose(choice));
    return button;
  });
  const show = (chosen) => {
    buttons.forEach((button, place) =>
      button.setAttribute("aria-pressed", String(timeline.predict.choices[place] === chosen)));
    verdict.replaceChildren(...(chosen ? captionParts(timeline.predict.verdicts[chosen] ?? "") : ["Pick one to see the rest of the run."]));
  };
  show(guess);
  const element = make("fieldset", {}, make("legend", {}, "How will this run end?"), ...buttons, verdict);
  return { element, show };
}

// draft: what was being written in the form that this one replaces. forked: two runs stand side by side.
function forkForm(timeline, model, draft, forked) {
  const select = focusable(make("select", {}, ...timeline.changes.map((change, place) =>
    make("option", { value: String(place) }, change.label))));
  const text = focusable(make("textarea", { rows: "5", spellcheck: "false", dir: "auto" }));
  const run = focusable(make("button", { type: "button" }, "Run on from here"));
  const problem = make("p", { role: "alert", class: "agentlib-problem" });
  const fill = () => { text.value = timeline.changes[Number(select.value)]?.json ?? ""; };
  select.addEventListener("change", fill);
  run.addEventListener("click", () => {
    const { step, kind, call } = timeline.changes[Number(select.value)];
    model.send({ do: "fork", step, kind, call, text: text.value });
  });
  fill();
  const kept = draft ? timeline.changes.findIndex((change) => change.label === draft.label && change.json === draft.json) : -1;
  if (kept >= 0) { select.value = String(kept); text.value = draft.text; }
  const buttons = make("div", { class: "agentlib-buttons" }, run);
  if (forked) {
    const back = focusable(make("button", { type: "button" }, "Back to one run"));
    back.addEventListener("click", () => model.send({ do: "one run" }));
    buttons.append(back);
  }
  const element = make("details", { class: "agentlib-fork" },
    focusable(make("summary", {}, "What if? Change a reply or a result and run on from there")),
    make("label", {}, "Change ", select), make("label", {}, "to this JSON ", text), buttons, problem);
  if (draft?.open) element.open = true;
  return {
    element,
    draft() {
      const { label, json } = timeline.changes[Number(select.value)];
      return { label, json, text: text.value, open: element.open };
    },
    focus(options) { run.focus(options); },
    follow(step) {
      if (element.open) return; // what is being edited is not taken away
      const place = timeline.changes.findIndex((change) => change.step === step);
      if (place >= 0) { select.value = String(place); fill(); }
    },
    showProblem(words) { problem.textContent = words; },
  };
}

// --- the player -------------------------------------------------------------------------------------

class Player {
  constructor(model, host) {
    this.model = model;
    this.timer = null;
    this.saving = null; // the timer of a step that Python does not know of yet
    this.at = model.get("frame"); // the frame that is shown
    this.panels = [];
    this.predict = null;
    this.fork = null;
    this.root = focusable(make("div", { class: "agentlib-player", tabindex: "0", role: "group" }));
    this.runs = make("div", { class: "agentlib-runs" });
    this.forms = make("div");
    this.root.append(this.controls(), this.forms, this.runs);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.listeners = {
      "change:timelines": () => this.build(),
      "change:frame": () => this.follow(),
      "change:guess": () => { this.predict?.show(this.model.get("guess")); this.draw(); },
      "change:problem": () => this.fork?.showProblem(this.model.get("problem")),
    };
    for (const [name, listener] of Object.entries(this.listeners)) model.on(name, listener);
    host.append(this.root);
    this.build();
  }

  close() {
    this.pause();
    this.settle();
    for (const [name, listener] of Object.entries(this.listeners)) this.model.off(name, listener);
  }

  controls() {
    const button = (picture, name, act) => {
      const element = focusable(make("button", { type: "button", "aria-label": name, title: name }, icon(picture)));
      element.addEventListener("click", act);
      return element;
    };
    this.playButton = button("play", "Play", () => this.toggle());
    this.range = focusable(make("input", { type: "range", min: "1", step: "1", "aria-label": "Frame" }));
    this.range.addEventListener("input", () => this.go(Number(this.range.value)));
    this.speed = focusable(make("select", { "aria-label": "Speed" }, ...SPEEDS.map(([name, ms]) =>
      make("option", { value: String(ms), ...(name === "normal" ? { selected: "" } : {}) }, name))));
    this.speed.addEventListener("change", () => { if (this.timer) { this.pause(); this.play(); } });
    this.count = make("span", { class: "agentlib-count" });
    return make("div", { class: "agentlib-controls", role: "toolbar", "aria-label": "Player controls" },
      button("first", "First frame", () => this.go(1)), button("back", "Back", () => this.go(this.now - 1)), this.playButton,
      button("on", "On", () => this.go(this.now + 1)), button("last", "Last frame", () => this.go(this.last)),
      this.range, this.count, this.speed);
  }

  get now() { return Math.max(1, Math.min(this.at, this.last)); }

  get last() {
    const timelines = this.model.get("timelines");
    const open = this.model.get("guess") ? null : timelines[0]?.predict?.open;
    return open ?? Math.max(1, ...timelines.map((timeline) => timeline.frames.length));
  }

  build() {
    this.settle();
    this.at = this.model.get("frame");
    const timelines = this.model.get("timelines");
    this.root.setAttribute("aria-label", `${this.model.get("label")}. Arrow keys step, space plays.`);
    this.panels = timelines.map((timeline) => new Panel(timeline));
    this.runs.replaceChildren(...this.panels.map((panel) => panel.element));
    this.runs.classList.toggle("agentlib-several", timelines.length > 1);
    this.predict = timelines[0]?.predict ? predictForm(timelines[0], this.model.get("guess"), (choice) => this.guess(choice)) : null;
    const draft = this.fork?.draft();
    const focused = this.fork?.element.contains(this.root.getRootNode().activeElement);
    this.fork = this.model.get("can_fork") && timelines[0]?.changes.length
      ? forkForm(timelines[0], this.model, draft, timelines.length > 1) : null;
    this.forms.replaceChildren(...[this.predict, this.fork].filter(Boolean).map((form) => form.element));
    this.draw();
    // The button that was pressed is gone. Without a focus of its own the next key would go to the notebook.
    if (focused) (this.fork ?? this.root).focus({ preventScroll: true });
  }

  draw() {
    const number = this.now;
    for (const panel of this.panels) panel.draw(number);
    const frame = this.panels[0]?.timeline.frames[Math.min(number, this.panels[0].timeline.frames.length) - 1];
    this.range.max = String(this.last);
    this.range.value = String(number);
    this.range.setAttribute("aria-valuetext", `Frame ${number} of ${this.last}: ${plainCaption(frame?.caption ?? "")}`);
    this.count.textContent = `frame ${number} of ${this.last}`;
    this.root.dataset.frame = String(number);
    if (frame) this.fork?.follow(frame.step);
  }

  go(number) {
    const wanted = Math.max(1, Math.min(number, this.last));
    if (wanted === this.at) return;
    this.settle();
    this.saving = setTimeout(() => {
      this.saving = null;
      this.model.save_changes();
    }, SAVE_AFTER_MS);
    this.at = wanted;
    this.model.set("frame", wanted);
    this.draw();
  }

  settle() {
    clearTimeout(this.saving);
    this.saving = null;
  }

  // Somebody else has set the frame: Python, or a widget that is linked to it. But Python also sends back what
  // it was sent, and that may be an older step than the one just made.
  follow() {
    const told = this.model.get("frame");
    if (told === this.at) return;
    if (this.saving !== null) {
      this.model.set("frame", this.at);
      return;
    }
    this.at = told;
    this.draw();
  }

  guess(choice) {
    this.model.set("guess", choice);
    this.model.save_changes();
  }

  toggle() { if (this.timer) this.pause(); else this.play(); }

  play() {
    if (this.now >= this.last) this.go(1);
    this.timer = setInterval(() => {
      if (this.now >= this.last) this.pause();
      else this.go(this.now + 1);
    }, Number(this.speed.value));
    this.playing("pause", "Pause");
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.playing("play", "Play");
  }

  playing(picture, name) {
    this.playButton.replaceChildren(icon(picture));
    this.playButton.setAttribute("aria-label", name);
    this.playButton.title = name;
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = event.target;
    if (target.matches("textarea, select")) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
    if (target === this.range || target === this.root) Object.assign(steps, { ArrowDown: 1, ArrowUp: -1 });
    if (target.matches(".agentlib-scroll")) delete steps.PageDown, delete steps.PageUp;
    if (event.key in steps) this.go(this.now + steps[event.key]);
    else if (event.key === "Home") this.go(1);
    else if (event.key === "End") this.go(this.last);
    else if (event.key === " " && !target.matches("button, summary")) this.toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function render({ model, el }) {
  const player = new Player(model, el);
  return () => player.close();
}

export default { render };
