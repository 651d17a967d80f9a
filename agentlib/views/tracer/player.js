// The player: steps through the frames of one or several runs, in a notebook and in a saved page.
// All frames arrive once, in `timelines`. Stepping needs no kernel: a key press is drawn within a few milliseconds.
// From top to bottom: small helpers, code, the parts of one run, one run, what is above the runs, forms, the player.

// JupyterLab's own keys ("d d" deletes the cell) stay away only from the very element that carries this.
const GUARD = "data-lm-suppress-shortcuts";
const MOVES = ["ask", "check", "act", "record"];
const MARKS = ["error", "repeat", "stop"];
const SPEEDS = [["slow", 2000], ["normal", 1000], ["fast", 300]];
const SAVE_AFTER_MS = 150;
const ANSWER_AFTER_MS = 8000; // a run takes milliseconds; whoever has heard nothing by then is told why that may be
const MOST_BARS = 100;
const MOST_VARIABLES = 40; // of more the strip scrolls, so that what stands above it stays in view
const BLOCK = 50; // rows of a long history come and go in blocks, so that a page of thousands stays quick
const AGAIN = "Python no longer knows this player: the kernel was restarted or is gone. Run this cell again.";
const LEGEND = "Keys in the player: ← and → go back and on, Page Up and Page Down by step, Space plays. "
  + "Dashed: a move that this step does not make. Track: in the colours of the moves; low: between them.";
// Drawn as paths, since not every computer has a font with these signs. Each is 16 units wide and high.
const ICONS = {
  first: "M2 2h2v12H2z M15 2v12L6 8z",
  stepBack: "M8 2v12L1 8z M15 2v12L8 8z",
  lineBack: "M12 2v12L4 8z",
  play: "M4 2l10 6-10 6z",
  pause: "M3 2h4v12H3z M9 2h4v12H9z",
  lineOn: "M4 2v12l8-6z",
  stepOn: "M1 2v12l7-6z M8 2v12l7-6z",
  last: "M1 2v12l9-6z M12 2h2v12h-2z",
  ask: "M2 2h12v8H8l-4 4v-4H2z",
  check: "M8 1l7 7-7 7-7-7z",
  act: "M9 1L3 9h4l-1 6 7-9H8z",
  record: "M2 3h12v2H2z M2 7h12v2H2z M2 11h8v2H2z",
  error: "M3 1l5 5 5-5 2 2-5 5 5 5-2 2-5-5-5 5-2-2 5-5-5-5z",
  repeat: "M8 2a6 6 0 1 0 6 6h-2a4 4 0 1 1-4-4v3l5-4-5-4z",
  stop: "M5 1h6l4 4v6l-4 4H5l-4-4V5z",
  fresh: "M3 8a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
};
// How high each move stands in the track, of 22: who does not see the colours tells them apart by that.
const HEIGHTS = { ask: 22, check: 9, act: 17, record: 13, "": 4, error: 22, repeat: 22, stop: 22 };

// --- small helpers ----------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const icon = (name) => svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", class: "agentlib-icon" }, svg("path", { d: ICONS[name] }));
const sign = (name, words = name) => make("strong", { class: `agentlib-sign agentlib-${name}` }, icon(name), make("span", {}, words));
const said = (words) => make("span", { class: "agentlib-said" }, words);

function focusable(element) {
  element.setAttribute(GUARD, "true");
  return element;
}

function button(act, attributes, ...children) {
  const element = focusable(make("button", { type: "button", ...attributes }, ...children));
  element.addEventListener("click", () => { if (element.getAttribute("aria-disabled") !== "true") act(element); });
  return element;
}

// Values come between backticks. They are only ever put in as text, so markup in them stays text.
const captionParts = (caption) => caption.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
const plainCaption = (caption) => caption.replaceAll("`", "");
const numberWords = (number) => number.toLocaleString("en");
const markOf = (frame) => frame.mark ?? (frame.error ? "error" : frame.stopped !== undefined ? "stop" : "");
const colourOf = (frame) => markOf(frame) || frame.move;

// The last place in a list, sorted by `frame`, that is not behind `number`; -1 = there is none.
function placeAt(list, number, frameOf = (one) => one.frame) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (frameOf(list[middle]) <= number) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const lastUpTo = (list, number) => list[placeAt(list, number)];

// What frames say about things that stay until they are told anew: by name a list of { frame, value }.
function changesOf(frames, pairsOf) {
  const changes = new Map();
  frames.forEach((frame, place) => {
    for (const [name, value] of pairsOf(frame)) {
      if (!changes.has(name)) changes.set(name, []);
      changes.get(name).push({ frame: place + 1, value });
    }
  });
  return changes;
}

// Where the round of each step begins: the lines that lead up to the model's call belong to it as well.
function roundsOf(frames) {
  const starts = new Map();
  frames.forEach(({ step }, place) => {
    if (starts.has(step)) return;
    let start = place;
    for (let back = place - 1; back >= 0 && !frames[back].move; back--) {
      if (!back || frames[back].line < frames[back - 1].line) start = back;
    }
    starts.set(step, start + 1);
  });
  return starts;
}

// Scroll inside the part only, and only if need be: the page and what the learner scrolled to stay put.
// margin, below: in pixels, where something else stands over the part.
function keepInView(part, element, margin = 0, below = margin) {
  if (part.scrollHeight <= part.clientHeight) return;
  const outer = part.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  const [top, bottom] = [outer.top + margin, outer.bottom - below];
  if (inner.top < top) part.scrollTop -= top - inner.top;
  else if (inner.bottom > bottom) part.scrollTop += Math.min(inner.bottom - bottom, inner.top - top);
}

// One stop for the Tab key in a group of many buttons; up and down go from one to the next.
class Stops {
  constructor(group, buttonsOf) {
    this.current = null;
    group.addEventListener("keydown", (event) => {
      const on = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!on || !event.target.matches("button")) return;
      const buttons = buttonsOf();
      const next = buttons[buttons.indexOf(event.target) + on];
      if (next) this.set(next).focus();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  set(element) {
    if (this.current !== element) {
      this.current?.setAttribute("tabindex", "-1");
      element?.setAttribute("tabindex", "0");
      this.current = element;
    }
    return element;
  }
}

// --- code -------------------------------------------------------------------------------------------

const KEYWORDS = new Set(("False None True and as assert async await break class continue def del elif else except finally for from "
  + "global if import in is lambda match case nonlocal not or pass raise return try while with yield").split(" "));
const BUILTINS = new Set(("Exception ValueError TypeError KeyError RuntimeError abs any all bool dict enumerate float int isinstance len "
  + "list max min print range repr set sorted str sum tuple zip").split(" "));
const PYTHON = new RegExp([
  "(#[^\\n]*)",
  "(\\b[rbfu]{0,2}(?:\"\"\"[^]*?(?:\"\"\"|$)|'''[^]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))",
  "(\"\"\"[^]*?(?:\"\"\"|$)|'''[^]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?)",
  "(\\b\\d[\\w.]*)",
  "([\\p{L}_][\\p{L}\\p{N}_]*)",
].join("|"), "giu");

// Python in lines of [kind, text] parts; kind "" = plain.
function painted(lines) {
  const rows = [[]];
  const put = (kind, text) => text.split("\n").forEach((piece, place) => {
    if (place) rows.push([]);
    if (piece) rows.at(-1).push([kind, piece]);
  });
  const text = lines.join("\n");
  let end = 0;
  for (const found of text.matchAll(PYTHON)) {
    const [whole, comment, prefixed, string, number, word] = found;
    put("", text.slice(end, found.index));
    const kind = comment ? "comment" : prefixed || string ? "string" : number ? "number"
      : KEYWORDS.has(word) ? "keyword" : BUILTINS.has(word) ? "builtin" : "";
    put(kind, whole);
    end = found.index + whole.length;
  }
  put("", text.slice(end));
  return rows;
}

// Where the rest of a long line of code goes on: a little further in than the line itself begins.
const hang = (text) => Math.min(text.length - text.trimStart().length + 4, 16);

class CodeLine {
  constructor(number, text, parts) {
    const spans = parts.map(([kind, piece]) => (kind ? make("span", { class: `agentlib-${kind}` }, piece) : piece));
    // A comment behind code stands apart, so that it never tears the code.
    const apart = parts.length > 1 && parts.at(-1)[0] === "comment" && parts.slice(0, -1).some(([, piece]) => piece.trim());
    const comment = apart ? [make("code", { class: "agentlib-comment" }, spans.pop())] : [];
    this.source = make("code", { class: "agentlib-source" }, ...(spans.length ? spans : [" "]));
    this.line = make("span", { class: "agentlib-line", style: `--hang: ${hang(text)}ch` }, this.source, ...comment);
    this.element = make("li", { value: number }, this.line);
    this.shown = "";
    this.values = null;
  }

  light(runs, several) {
    this.element.setAttribute("aria-current", "step");
    this.element.className = runs.length === 1 ? `agentlib-${runs[0].colour}` : "";
    if (!several) return;
    const letters = runs.map((run) => make("span", { class: `agentlib-letter agentlib-${run.colour}` }, run.letter));
    this.at = make("span", { class: "agentlib-at" }, said("here is "), ...letters);
    this.element.prepend(this.at);
  }

  dim() {
    this.element.removeAttribute("aria-current");
    this.element.className = "";
    this.at?.remove();
  }

  // values: [text, letters, "fresh" | "now" | "old", step] of each run that has one for this line.
  write(values) {
    const key = JSON.stringify(values);
    if (key === this.shown) return;
    this.shown = key;
    this.values?.remove();
    this.values = values.length ? make("span", { class: "agentlib-values" }, ...values.map(([text, letters, age, step]) => {
      const letter = letters ? [make("span", { class: "agentlib-letter" }, letters)] : [];
      const now = age === "fresh" ? [icon("fresh"), said("just now: ")]
        : age === "old" ? [step ? `step ${step}: ` : "start: "] : [];
      return make("code", { class: `agentlib-value agentlib-${age}` }, ...letter, ...now, make("bdi", {}, text));
    })) : null;
    if (this.values) this.line.append(this.values);
  }
}

// One pane for all runs of the same code, with a marker for each where it is.
class Code {
  // name: of the run that the pane belongs to, where each has its own.
  constructor(timelines, letters, name = "") {
    const { lines, first_line: first } = timelines[0];
    this.first = first;
    this.letters = letters;
    const parts = painted(lines);
    this.lines = lines.map((text, place) => new CodeLine(first + place, text, parts[place]));
    this.runs = timelines.map((timeline) => ({
      frames: timeline.frames,
      rounds: roundsOf(timeline.frames),
      values: changesOf(timeline.frames, (frame) => (frame.values ?? []).map(({ line, text }) => [line, text])),
    }));
    this.list = make("ol", { class: "agentlib-code", style: `--digits: ${String(first + lines.length).length}ch; --gutter: ${letters[0] ? 1.8 * letters.length : 0}em` },
      ...this.lines.map((line) => line.element));
    this.element = focusable(make("div", {
      class: "agentlib-scroll", style: `--lines: ${lines.length}`, tabindex: "0", role: "region", "aria-label": `The code of the loop${name ? ` of ${name}` : ""}, the running line is marked`,
    }, this.list));
    this.lit = [];
  }

  draw(numbers) {
    const several = this.runs.length > 1;
    for (const line of this.lit) line.dim();
    const at = new Map();
    numbers.forEach((number, run) => {
      const frame = this.runs[run].frames[number - 1];
      const line = frame && frame.line !== null ? this.lines[frame.line - this.first] : undefined;
      if (line) at.set(line, [...(at.get(line) ?? []), { letter: this.letters[run], colour: colourOf(frame) || "none" }]);
    });
    for (const [line, runs] of at) line.light(runs, several);
    this.lit = [...at.keys()];
    this.values(numbers);
    // Lines that are too far from the first one to be seen with it stick to the edge of the pane.
    for (const line of this.lit.slice(1)) line.element.classList.add("agentlib-pinned");
  }

  look() {
    const [first, ...others] = this.lit.map((line) => line.element);
    if (first) keepInView(this.element, first, Math.max(0, ...others.map((other) => other.offsetHeight)));
  }

  values(numbers) {
    const shown = new Map();
    this.runs.forEach(({ frames, rounds, values }, run) => {
      const starts = [...rounds];
      const start = rounds.get(frames[numbers[run] - 1]?.step);
      for (const [number, list] of values) {
        const value = lastUpTo(list, numbers[run]);
        if (!value) continue;
        const age = value.frame === numbers[run] ? "fresh" : value.frame >= start ? "now" : "old";
        if (age === "old" && this.runs.length > 1) continue; // runs are compared at this step
        if (!shown.has(number)) shown.set(number, []);
        const same = shown.get(number).find(([text]) => text === value.value);
        if (!same) shown.get(number).push([value.value, this.letters[run], age, age === "old" ? starts[placeAt(starts, value.frame, ([, from]) => from)][0] : 0]);
        else {
          same[1] += this.letters[run] ? ` ${this.letters[run]}` : "";
          if (age === "fresh") same[2] = age;
        }
      }
    });
    for (const run of this.runs) for (const number of run.values.keys()) this.lines[number - this.first]?.write(shown.get(number) ?? []);
  }
}

// --- the parts of one run ---------------------------------------------------------------------------

const WHO = { model: "ask", tool: "act" };
const who = (name) => make("span", { class: `agentlib-who agentlib-${WHO[name] ?? "user"}` }, name);

class History {
  constructor(timeline, title, jump) {
    this.places = timeline.places;
    this.coming = changesOf(timeline.frames, (frame) => ("coming" in frame ? [["", frame.coming]] : [])).get("") ?? [];
    this.rewritten = timeline.places.flatMap((versions, place) => (versions.length > 1 ? [place] : []));
    this.jump = jump;
    this.from = 0; // the first place that has a row
    this.all = false;
    this.rows = [];
    this.marked = [];
    this.body = make("tbody");
    this.foot = make("tfoot");
    this.shownComing = null;
    this.words = make("span");
    const heads = ["#", "who", "content", "tokens"].map((name) => make("th", { scope: "col" }, name));
    this.head = make("thead", {}, make("tr", {}, ...heads));
    this.earlier = make("tr", {}, make("td", { colspan: "4" }, button(() => this.showAll(), {}, "")));
    const table = make("table", {}, make("caption", {}, ...title, this.words), this.head, this.body, this.foot);
    this.element = focusable(make("div", {
      class: "agentlib-scroll agentlib-history", tabindex: "0", role: "region", "aria-label": timeline.label ? `History of ${timeline.label}` : "History",
    }, table));
    this.stops = new Stops(this.body, () => this.rows.map((row) => row.button));
    this.body.addEventListener("click", (event) => {
      if (event.target.closest("details, button") || !getSelection().isCollapsed) return;
      const row = this.rows.find((one) => one.element.contains(event.target));
      if (row) this.jump(row.version.frame);
    });
  }

  versionAt(place, number) {
    return lastUpTo(this.places[place], number) ?? this.places[place][0];
  }

  showAll() {
    this.all = true;
    this.draw(this.frame, this.number);
    this.rows[0]?.button.focus();
  }

  draw(frame, number) {
    [this.frame, this.number] = [frame, number];
    for (const row of this.marked) row.unmark();
    this.marked = [];
    const from = this.all || frame.entries < 3 * BLOCK ? 0 : (Math.floor(frame.entries / BLOCK) - 1) * BLOCK;
    if (from !== this.from) this.startFrom(from);
    const before = this.rows.length;
    while (this.rows.length > frame.entries - from) this.rows.pop().element.remove();
    for (const place of this.rewritten) {
      const old = this.rows[place - from];
      if (old && old.version !== this.versionAt(place, number)) {
        this.rows[place - from] = this.row(place, number);
        old.element.replaceWith(this.rows[place - from].element);
      }
    }
    const added = [];
    while (this.rows.length < frame.entries - from) this.rows.push(added[added.push(this.row(from + this.rows.length, number)) - 1]);
    this.body.append(...added.map((row) => row.element));
    for (const place of frame.new ?? []) {
      const row = this.rows[place - from];
      if (row) this.marked.push(row.mark());
    }
    this.words.textContent = `History: ${numberWords(frame.entries)} ${frame.entries === 1 ? "entry" : "entries"}`;
    const coming = this.drawComing(number);
    const newest = this.marked.at(-1) ?? (this.rows.length > before ? this.rows.at(-1) : null);
    if (newest || !this.stops.current?.isConnected) this.stops.set((newest ?? this.rows.at(-1))?.button ?? null);
    this.wanted = [newest?.element, coming].filter(Boolean);
  }

  look() {
    const head = this.head.offsetTop + this.head.offsetHeight - this.element.scrollTop; // it stays in view
    for (const row of this.wanted) keepInView(this.element, row, head, 0);
  }

  startFrom(from) {
    this.from = from;
    for (const row of this.rows) row.element.remove();
    this.rows = [];
    this.earlier.remove();
    if (!from) return;
    this.earlier.querySelector("button").textContent = `Show entries 1 to ${numberWords(from)} as well`;
    this.body.append(this.earlier);
  }

  // What the next record will add; at the record itself it has become a row.
  drawComing(number) {
    const coming = lastUpTo(this.coming, number)?.value ?? null;
    if (coming === this.shownComing) return null;
    this.shownComing = coming;
    if (!coming) return this.foot.replaceChildren();
    const signs = (coming.marks ?? []).map((mark) => sign(mark));
    const next = coming.recorded === false ? [" ", make("span", { class: "agentlib-never" }, "never recorded")] : [sign("record", "next: record")];
    const row = make("tr", { class: `agentlib-coming${coming.recorded === false ? " agentlib-lost" : ""}` }, make("th", { scope: "row" }, "+"), make("td", {}, who(coming.who)),
      make("td", { class: "agentlib-content" }, make("bdi", {}, coming.text), ...signs, ...next), make("td"));
    this.foot.replaceChildren(row);
    return row;
  }

  row(place, number) {
    const version = this.versionAt(place, number);
    const changed = version !== this.places[place][0];
    const content = make("td", { class: "agentlib-content" }, make("bdi", {}, version.text));
    for (const mark of version.marks ?? []) content.append(sign(mark));
    if (version.whole) {
      const all = numberWords(version.chars);
      const cut = version.chars > version.whole.length ? `\n... (cut; ${all} characters in all)` : "";
      content.append(make("details", {}, focusable(make("summary", {}, `all of it (${all} characters)`)),
        make("bdi", {}, version.whole + cut)));
    }
    const go = button(() => this.jump(version.frame), { tabindex: "-1", title: `Go to the frame that made entry ${place + 1}` }, String(place + 1));
    const element = make("tr", {}, make("th", { scope: "row" }, go), make("td", {}, who(version.who)), content,
      make("td", {}, version.tokens === undefined ? "" : numberWords(version.tokens)));
    if (version.marks?.includes("error")) element.classList.add("agentlib-bad");
    let fresh = null;
    const row = {
      version, element, button: go,
      mark() {
        element.classList.add("agentlib-added");
        content.append(fresh = sign("record", changed ? "changed" : "new"));
        return row;
      },
      unmark() {
        element.classList.remove("agentlib-added");
        fresh?.remove();
      },
    };
    return row;
  }
}

// The four moves, the lit one among them. A press goes to where this step makes that move.
class Ring {
  constructor(timeline, jump) {
    this.frames = timeline.frames;
    this.jump = jump;
    this.number = 0;
    this.step = null;
    this.buttons = MOVES.map((move) => button(() => this.go(move), { class: `agentlib-${move}` }, icon(move), make("span", { class: "agentlib-word" }, move)));
    this.items = this.buttons.map((one) => make("li", {}, one));
    this.element = make("ol", { class: "agentlib-ring", "aria-label": "The four moves of the loop" }, ...this.items);
  }

  go(move) {
    const here = this.frames.flatMap((frame, place) => (frame.step === this.step && frame.move === move ? [place + 1] : []));
    this.jump(here.find((number) => number > this.number) ?? here[0]);
  }

  draw(frame, number) {
    this.number = number;
    this.items.forEach((item, place) => {
      if (MOVES[place] === frame.move) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    if (frame.step === this.step) return;
    this.step = frame.step;
    const made = new Set();
    for (let place = number - 1; place >= 0 && this.frames[place].step === frame.step; place--) made.add(this.frames[place].move);
    for (let place = number; place < this.frames.length && this.frames[place].step === frame.step; place++) made.add(this.frames[place].move);
    this.buttons.forEach((one, place) => {
      const there = made.has(MOVES[place]);
      one.setAttribute("aria-disabled", String(!there));
      one.title = there ? `Go to where step ${frame.step} does this` : `Step ${frame.step} has no such move`;
    });
  }
}

// A bar for each model call; of many calls a bar stands for several and is as high as the highest of them.
class Bars {
  constructor(timeline, scale, jump) {
    this.calls = timeline.calls;
    this.asks = new Map();
    timeline.frames.forEach((frame, place) => { if (!this.asks.has(frame.step)) this.asks.set(frame.step, place + 1); });
    this.each = Math.max(1, Math.ceil(scale.calls / MOST_BARS));
    const groups = [];
    for (let first = 0; first < this.calls.length; first += this.each) groups.push(this.calls.slice(first, first + this.each));
    this.bars = groups.map((group, place) => {
      const [high, first] = [Math.max(...group), place * this.each + 1];
      const name = group.length > 1 ? `Calls ${first} to ${first + group.length - 1}: up to ${numberWords(high)} tokens each` : `Call ${first}: ${numberWords(high)} tokens`;
      return button(() => jump(this.asks.get(first) ?? 1),
        { "aria-label": name, title: name, tabindex: "-1", style: `--high: ${Math.max(3, (100 * high) / scale.tokens)}%` });
    });
    const group = make("div", { class: "agentlib-bars", role: "group", "aria-label": "Tokens read by each call", style: `--bars: ${Math.ceil(scale.calls / this.each) || 1}` }, ...this.bars);
    this.stops = new Stops(group, () => this.bars);
    const tallest = Math.max(0, ...this.calls);
    const what = this.each > 1 ? `a bar: the most tokens one of ${this.each} calls reads` : "a bar: tokens of a call";
    const where = tallest && tallest === scale.tokens
      ? make("span", { class: "agentlib-tallest" }, `; tallest: ${numberWords(tallest)} (call ${numberWords(this.calls.indexOf(tallest) + 1)})`) : "";
    this.top = make("p", { class: "agentlib-scale" }, what, where);
    this.words = make("p");
    this.element = make("div", { class: "agentlib-strip" }, this.top, group, this.words);
    this.now = null;
  }

  draw(frame) {
    const now = Math.floor((frame.step - 1) / this.each);
    if (now !== this.now) {
      this.bars.forEach((bar, place) => {
        const name = place < now ? "agentlib-done" : place === now ? "agentlib-now" : "";
        if (bar.className !== name) bar.className = name;
      });
      this.stops.set(this.bars[Math.max(0, now)] ?? null);
      this.now = now;
    }
    const last = this.calls[frame.step - 1];
    this.words.textContent = last === undefined ? "No call yet: nothing is read."
      : `Call ${numberWords(frame.step)} reads ${numberWords(last)} tokens, ${numberWords(frame.tokens)} in all.`;
  }
}

// What is counted, with a meter beneath what has a limit: steps, and the budgets that the loop itself keeps.
class Figures {
  constructor(timeline) {
    this.maxSteps = timeline.max_steps;
    this.meters = changesOf(timeline.frames, (frame) => (frame.meter ?? []).map((meter) => [meter.name, meter]));
    this.element = make("dl");
    this.rows = new Map();
    for (const name of ["step", "entries", "tokens read"]) this.add(name, name);
    for (const name of this.meters.keys()) this.add(`own ${name}`, name);
    this.add("stopped", "stopped");
  }

  add(key, name) {
    const value = make("dd");
    const bar = make("span");
    const meter = make("div", { class: "agentlib-meter", "aria-hidden": "true", hidden: "" }, bar);
    this.rows.set(key, { value, bar, meter });
    this.element.append(make("div", {}, make("dt", {}, name), value, meter));
  }

  write(name, words, used = 0, limit = null) {
    const { value, bar, meter } = this.rows.get(name);
    if (value.textContent !== words) value.textContent = words;
    meter.hidden = !(limit > 0);
    if (limit > 0) bar.style.width = `${Math.min(100, (100 * used) / limit)}%`;
  }

  draw(frame, number) {
    this.write("step", this.maxSteps ? `${frame.step} / ${this.maxSteps}` : String(frame.step), frame.step, this.maxSteps);
    this.write("entries", numberWords(frame.entries));
    this.write("tokens read", numberWords(frame.tokens));
    for (const [name, list] of this.meters) {
      const meter = lastUpTo(list, number)?.value;
      const words = meter?.limit === null ? numberWords(meter.used) : `${numberWords(meter?.used ?? 0)} / ${numberWords(meter?.limit ?? 0)}`;
      this.write(`own ${name}`, meter ? words : "-", meter?.used, meter?.limit);
    }
    this.write("stopped", frame.stopped ?? "not yet");
    this.rows.get("stopped").value.classList.toggle("agentlib-over", frame.stopped !== undefined);
  }
}

// Requests that ran at once, side by side over one scale of time, from where all have ended to the next call.
class Lanes {
  constructor(timeline) {
    this.changes = changesOf(timeline.frames, (frame) => ("lanes" in frame ? [["", frame.lanes]] : [])).get("") ?? [];
    this.words = make("p");
    this.list = make("ol", { "aria-label": `Requests at once${timeline.label ? ` of ${timeline.label}` : ""}` });
    this.element = make("div", { class: "agentlib-lanes", hidden: "" }, this.words, this.list);
    this.shown = null;
  }

  draw(frame, number) {
    const lanes = lastUpTo(this.changes, number)?.value ?? null;
    if (lanes === this.shown) return;
    this.shown = lanes;
    this.element.hidden = !lanes;
    this.words.textContent = lanes?.words ?? "";
    this.list.replaceChildren(...(lanes?.rows ?? []).map((lane) => this.lane(lane)));
  }

  lane({ request, outcome, failed, took, from, wide }) {
    const bar = make("span", { class: failed ? "agentlib-error" : "agentlib-act", style: `left: ${from}%; width: ${wide}%` });
    const time = make("span", { class: "agentlib-time", "aria-hidden": "true" }, ...(from === undefined ? [] : [bar]));
    const end = failed ? sign("error", outcome) : make("span", {}, outcome);
    return make("li", {}, make("bdi", {}, make("code", {}, request)), time, make("span", { class: "agentlib-end" }, took ? `${took}, ` : "", end));
  }
}

// The loop's own names with their values at this frame; the one that has just changed is marked.
class Variables {
  constructor(timeline) {
    this.changes = changesOf(timeline.frames, (frame) => Object.entries(frame.vars ?? {}));
    this.chips = new Map();
    for (const name of this.changes.keys()) {
      const value = make("code");
      const now = make("span", { class: "agentlib-just" }, icon("fresh"), said("just changed: "));
      this.chips.set(name, { value, now, shown: undefined, element: make("span", { class: "agentlib-var", role: "listitem", hidden: "" },
        now, make("span", { class: "agentlib-name" }, name), make("bdi", {}, value)) });
    }
    this.none = make("span", {}, this.changes.size ? "none yet" : (timeline.remark ?? ""));
    const list = make("span", { class: "agentlib-list", role: "list", "aria-label": "Variables" }, ...[...this.chips.values()].map((chip) => chip.element));
    const remark = this.changes.size && timeline.remark ? [make("span", {}, timeline.remark)] : [];
    this.list = list;
    this.element = make("div", { class: "agentlib-vars" }, make("span", { class: "agentlib-title" }, "variables"), this.none, list, ...remark);
    if (!this.changes.size && !timeline.remark) this.element.hidden = true;
    if (this.changes.size > MOST_VARIABLES) {
      this.element.classList.add("agentlib-scroll", "agentlib-many");
      for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": `Variables${timeline.label ? ` of ${timeline.label}` : ""}` })) this.element.setAttribute(name, value);
      focusable(this.element);
    }
  }

  draw(frame, number) {
    let any = false;
    this.fresh = [];
    for (const [name, list] of this.changes) {
      const chip = this.chips.get(name);
      const change = lastUpTo(list, number);
      const there = change !== undefined && change.value !== null;
      any ||= there;
      chip.element.hidden = !there;
      if (!there) continue;
      if (chip.shown !== change.value) chip.value.textContent = chip.shown = change.value;
      chip.element.className = change.frame === number ? `agentlib-var agentlib-fresh agentlib-${frame.move || "none"}` : "agentlib-var";
      chip.now.hidden = change.frame !== number;
      if (change.frame === number) this.fresh.push(chip.element);
    }
    this.list.hidden = !any; // a list without items is no list
    if (this.changes.size) this.none.hidden = any;
  }

  look() { for (const chip of this.fresh) keepInView(this.element, chip); }
}

// The sentence about one frame, with the moves above or beside it.
class Caption {
  constructor(timeline, title, ring) {
    this.timeline = timeline;
    this.words = make("p", { class: "agentlib-caption", role: "status" });
    this.sign = make("span");
    this.ring = ring;
    this.element = make("div", { class: "agentlib-say" },
      make("div", { class: "agentlib-head" }, ...title, ring.element, this.sign), this.words);
    if (timeline.wanted) this.element.append(make("p", { class: "agentlib-wanted" }, make("strong", {}, "Wanted: "), ...captionParts(timeline.wanted)));
    if (timeline.difference) this.element.append(make("p", { class: "agentlib-difference" }, ...captionParts(timeline.difference.words)));
  }

  draw(frame, number) {
    this.words.replaceChildren(...captionParts(frame.caption));
    const mark = markOf(frame);
    this.sign.replaceChildren(...(mark ? [sign(mark, mark === "stop" ? `stop: ${frame.stopped ?? ""}`.replace(/: $/, "") : mark)] : []));
    const differs = number >= (this.timeline.difference?.frame ?? Infinity) ? " agentlib-differs" : "";
    this.element.className = `agentlib-say agentlib-${colourOf(frame) || "none"}${differs}`;
    this.ring.draw(frame, number);
  }
}

// --- one run ----------------------------------------------------------------------------------------

class Run {
  // scale: what the bars of all runs share. code: its own pane, where the runs are not of the same code.
  constructor(timeline, letter, scale, jump) {
    this.timeline = timeline;
    this.frames = timeline.frames;
    this.caption = new Caption(timeline, this.title(letter), new Ring(timeline, jump));
    this.parts = [new History(timeline, this.title(letter), jump), new Bars(timeline, scale, jump), new Figures(timeline), new Variables(timeline), new Lanes(timeline)];
    const [history, bars, figures, variables, lanes] = this.parts.map((part) => part.element);
    this.element = make("section", { class: "agentlib-run", "aria-label": timeline.label || "Run" },
      history, make("div", { class: "agentlib-cost" }, figures, bars, lanes), variables);
  }

  title(letter) {
    const { label } = this.timeline;
    if (!label) return [];
    const rest = label === letter ? [] : [make("bdi", {}, label)];
    return [make("span", { class: "agentlib-title" }, make("span", { class: "agentlib-letter" }, letter), " ", ...rest)];
  }

  addCode(code) {
    this.code = code;
    this.element.classList.add("agentlib-coded");
    this.element.prepend(code.element);
  }

  draw(number) {
    const frame = this.frames[number - 1];
    if (!frame) return;
    this.caption.draw(frame, number);
    this.code?.draw([number]);
    for (const part of this.parts) part.draw(frame, number);
  }

  look() { for (const part of [this.code, ...this.parts]) part?.look?.(); }
}

// --- several runs at the same moment, and the track -------------------------------------------------

// Runs side by side go on together, step by step: a tick is a frame for each run, and who has fewer frames in a
// step, or has ended, waits. With one run a tick is a frame.
class Clock {
  constructor(timelines) {
    this.ticks = [];
    this.steps = []; // of each tick
    const runs = timelines.map(({ frames }) => {
      const spans = new Map();
      frames.forEach(({ step }, place) => spans.set(step, [spans.get(step)?.[0] ?? place, place]));
      return spans;
    });
    const steps = [...new Set(runs.flatMap((spans) => [...spans.keys()]))].sort((one, other) => one - other);
    const last = timelines.map(() => 0);
    for (const step of steps) {
      const wide = Math.max(...runs.map((spans) => (spans.has(step) ? spans.get(step)[1] - spans.get(step)[0] + 1 : 0)));
      for (let place = 0; place < wide; place++) {
        this.ticks.push(runs.map((spans, run) => {
          if (spans.has(step)) last[run] = Math.min(spans.get(step)[0] + place, spans.get(step)[1]);
          return last[run] + 1;
        }));
        this.steps.push(step);
      }
    }
    this.starts = this.steps.flatMap((step, place) => (step !== this.steps[place - 1] ? [place + 1] : []));
  }

  get last() { return Math.max(1, this.ticks.length); }

  at(tick) { return this.ticks[tick - 1] ?? []; }

  // The tick at which a run comes to a frame.
  of(run, number) {
    let [low, high] = [0, this.ticks.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ticks[middle][run] < number) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }

  // The first tick of the next step, or of the step before.
  step(tick, by) {
    const place = placeAt(this.starts, tick, (start) => start) + by;
    return place < 0 ? 1 : (this.starts[place] ?? this.last);
  }
}

// The steps in the colours of their moves, beneath a slider.
class Track {
  constructor(go) {
    this.range = focusable(make("input", { type: "range", min: "1", step: "1", "aria-label": "Frame" }));
    this.range.addEventListener("input", () => go(Number(this.range.value)));
    this.ahead = make("div", { class: "agentlib-ahead" });
    this.picture = make("div", { class: "agentlib-picture", "aria-hidden": "true" });
    this.element = make("div", { class: "agentlib-track" }, this.picture, this.range);
    this.labels = [];
  }

  // last: as far as the learner may see.
  build(clock, timelines, last) {
    this.last = last;
    const rows = timelines.map(({ frames }, run) => this.row(clock, frames, run, last));
    const shown = clock.starts.filter((start) => start <= last && clock.steps[start - 1] > 0);
    const labels = this.spread(shown, 6, (start) => start + (start === shown[0] ? 0.05 * last : 0)).map((start, place) => {
      const step = clock.steps[start - 1];
      return { step, element: make("span", { class: "agentlib-step", style: this.left(start, `${String(step).length + 1}ch`) }, place ? String(step) : `step ${step}`) };
    });
    this.labels = labels;
    this.here = null;
    const marks = [];
    for (let tick = 1; tick <= last; tick++) {
      const found = clock.at(tick).map((number, run) => (number !== clock.at(tick - 1)[run] ? markOf(timelines[run].frames[number - 1]) : ""));
      const mark = MARKS.find((one) => found.includes(one));
      if (mark) marks.push({ tick, mark });
    }
    const signs = this.spread(marks, 2.2, (one) => one.tick).map(({ tick, mark }) =>
      make("span", { class: `agentlib-mark agentlib-${mark}`, style: `${this.left(tick, "10px")}; min-width: min(100%, max(10px, ${100 / last}%))` }, icon(mark)));
    this.picture.replaceChildren(...labels.map((label) => label.element), make("div", { class: "agentlib-rows" }, ...rows, this.ahead), ...signs);
    this.element.style.setProperty("--frames", String(last));
    this.element.style.setProperty("--tall", `${rows.length > 1 ? Math.min(60, 14 * rows.length) : 24}px`);
    this.range.max = String(last);
  }

  // wide: what stands there is so wide, and never leaves the track.
  left(tick, wide) { return `left: min(${(100 * (tick - 1)) / this.last}%, 100% - ${wide})`; }

  // Of many only so many that they stand apart: `gap` in percent of the track.
  spread(list, gap, tickOf = (tick) => tick) {
    let free = -Infinity;
    return list.filter((one) => {
      const left = (100 * tickOf(one)) / this.last;
      if (left < free) return false;
      free = left + gap;
      return true;
    });
  }

  row(clock, frames, run, last) {
    const gap = last > 150 ? 0 : 0.06;
    const paths = new Map();
    let before = 0;
    for (let tick = 1; tick <= last; tick++) {
      const number = clock.at(tick)[run];
      if (number === before || !frames[number - 1]) continue; // it waits
      before = number;
      const frame = frames[number - 1];
      const [colour, high] = [colourOf(frame), HEIGHTS[frame.move in HEIGHTS && !MARKS.includes(colourOf(frame)) ? frame.move : colourOf(frame)] ?? 4];
      paths.set(colour, `${paths.get(colour) ?? ""}M${tick - 1 + gap} 22v-${high}h${1 - 2 * gap}v${high}z`);
    }
    return svg("svg", { viewBox: `0 0 ${last} 22`, preserveAspectRatio: "none" },
      ...[...paths].map(([colour, d]) => svg("path", { d, class: `agentlib-${colour || "none"}` })));
  }

  draw(tick, step, words) {
    this.range.value = String(tick);
    this.range.setAttribute("aria-valuetext", words);
    this.ahead.style.transform = `scaleX(${(this.last - tick) / this.last})`;
    const here = this.labels.findLast((label) => label.step <= step)?.element ?? null;
    if (here === this.here) return;
    this.here?.classList.remove("agentlib-here");
    here?.classList.add("agentlib-here");
    this.here = here;
  }
}

// --- forms ------------------------------------------------------------------------------------------

// The exact request of the step that is shown, in the shape of a provider's interface.
class Wire {
  // chosen: what the switch of the view before stood at.
  constructor(timelines, chosen = "") {
    this.timelines = timelines;
    const names = (timelines.find(({ wire }) => wire)?.wire ?? []).map(({ name }) => name);
    this.choice = focusable(make("select", {}, make("option", { value: "" }, "off"),
      ...names.map((name) => make("option", { value: name }, name))));
    this.choice.value = names.includes(chosen) ? chosen : "";
    this.choice.addEventListener("change", () => this.draw(this.steps));
    this.requests = make("div", { class: "agentlib-requests" });
    this.element = make("section", { class: "agentlib-wire", "aria-label": "As the provider sees it" },
      make("label", {}, "as the provider sees it: ", this.choice), this.requests);
    this.element.hidden = !names.length;
  }

  draw(steps) {
    this.steps = steps;
    const shown = this.choice.value && `${this.choice.value} ${steps}`;
    if (shown === this.shown) return;
    this.shown = shown;
    this.requests.replaceChildren(...(shown ? this.timelines.map((timeline, run) => this.request(timeline, steps[run])) : []));
  }

  request({ label, wire }, number) {
    const shape = wire?.find(({ name }) => name === this.choice.value);
    const title = label ? [make("strong", {}, label), ": "] : [];
    const step = shape?.steps[number - 1];
    if (!step) {
      const why = shape ? "no request has been made yet." : "the requests of so long a run are not kept.";
      return make("div", {}, make("p", {}, ...title, label ? why : why[0].toUpperCase() + why.slice(1)));
    }
    if (step.problem) return make("div", {}, make("p", {}, ...title, step.problem));
    const sent = step.parts.flatMap(([from, to]) => Array.from({ length: to - from }, (_, place) => from + place));
    const fresh = new Set(step.new);
    const states = sent.map((_, place) => (place < step.cached ? "cached" : fresh.has(place) ? "new" : "read anew"));
    const counts = ["cached", "read anew", "new"].map((state) => [states.filter((one) => one === state).length, state])
      .filter(([count]) => count).map(([count, state]) => `${count} ${state}`);
    const words = `request ${number}: ${sent.length} message${sent.length === 1 ? "" : "s"} (${counts.join(", ")})${step.no_tools ? ", no tools offered" : ""}`;
    return make("div", {},
      make("p", {}, ...title, words),
      make("details", {}, make("summary", {}, `beside “${shape.field}”: model, tools, settings`), make("pre", {}, shape.head)),
      make("ol", { "aria-label": `Messages of request ${number}` }, ...sent.map((item, place) => this.message(shape, item, states[place]))));
  }

  message(shape, item, state) {
    const role = /"role": "(\w+)"/.exec(shape.items[item])?.[1] ?? "message";
    const open = state === "new" ? { open: "" } : {};
    return make("li", { class: `agentlib-${state.replace(" ", "-")}` }, make("details", open,
      make("summary", {}, make("strong", {}, state), ` ${role}, ${numberWords(shape.chars[item])} characters`), make("pre", {}, shape.items[item])));
  }
}

class PredictForm {
  constructor(predict, guess, choose) {
    this.predict = predict;
    this.verdict = make("p", { role: "status", class: "agentlib-verdict" });
    this.buttons = predict.choices.map((choice) => button(() => choose(choice), { "aria-pressed": "false" }, choice));
    this.element = make("fieldset", {}, make("legend", {}, "How will this run end?"), ...this.buttons, this.verdict);
    this.show(guess);
  }

  show(guess, waits = false) {
    this.buttons.forEach((one, place) => one.setAttribute("aria-pressed", String(this.predict.choices[place] === guess)));
    this.verdict.replaceChildren(...(guess ? captionParts(this.predict.verdicts[guess] ?? "")
      : [waits ? "Play waits here for your guess: pick one, and it goes on." : "Pick one to see the rest of the run."]));
  }
}

class ForkForm {
  // ask: sends to Python. draft: what was being written in the form that this one replaces. forked: two runs stand side by side.
  constructor(timeline, ask, draft, forked) {
    this.changes = timeline.changes;
    this.select = focusable(make("select", {}, ...this.changes.map((change, place) => make("option", { value: String(place) }, change.label))));
    this.text = focusable(make("textarea", { rows: "5", spellcheck: "false", dir: "auto" }));
    this.problem = make("p", { role: "alert", class: "agentlib-problem" });
    this.select.addEventListener("change", () => this.fill());
    this.fill();
    const kept = draft ? this.changes.findIndex((change) => change.label === draft.label && change.json === draft.json) : -1;
    if (kept >= 0) [this.select.value, this.text.value] = [String(kept), draft.text];
    this.run = button(() => {
      const { step, kind, call } = this.changes[Number(this.select.value)];
      ask({ do: "fork", step, kind, call, text: this.text.value });
    }, {}, "Run on from here");
    const back = forked ? [button(() => ask({ do: "one run" }), {}, "Back to one run")] : [];
    this.element = make("details", { class: "agentlib-fork" },
      focusable(make("summary", {}, "What if? Change a reply or a result and run on from there")),
      make("label", {}, "Change ", this.select), make("label", {}, "to this JSON ", this.text),
      make("div", { class: "agentlib-buttons" }, this.run, ...back), this.problem);
    if (draft?.open) this.element.open = true;
  }

  fill() { this.text.value = this.changes[Number(this.select.value)]?.json ?? ""; }

  draft() {
    const { label, json } = this.changes[Number(this.select.value)];
    return { label, json, text: this.text.value, open: this.element.open };
  }

  follow(step) {
    if (this.element.open) return; // what is being edited is not taken away
    const place = this.changes.findIndex((change) => change.step === step);
    if (place >= 0 && this.select.value !== String(place)) { this.select.value = String(place); this.fill(); }
  }

  live(alive) {
    for (const one of this.element.querySelectorAll("button")) one.setAttribute("aria-disabled", String(!alive));
    if (!alive) this.problem.textContent = AGAIN;
  }
}

// --- the player -------------------------------------------------------------------------------------

const letterOf = (label, place) => (label.length < 3 ? label : String.fromCharCode(65 + (place % 26)));
const sameCode = (timelines) => timelines.every(({ lines, first_line: first }) => lines.length && first === timelines[0].first_line
  && lines.join("\n") === timelines[0].lines.join("\n"));

class Player {
  constructor(model, host) {
    this.model = model;
    this.host = host;
    this.timer = null;
    this.waits = false; // Play has come to the question
    this.saving = null; // the timer of a step that Python does not know of yet
    this.asking = null; // the timer of a wish that Python has not answered yet
    this.alive = true;
    this.at = model.get("frame"); // the tick that is shown
    this.runs = [];
    this.notes = make("div", { role: "status" });
    this.forms = make("div", { class: "agentlib-forms" });
    this.question = make("div");
    this.captions = make("div", { class: "agentlib-captions" });
    this.body = make("div", { class: "agentlib-body" });
    this.wires = make("div");
    this.inside = make("div", {}, this.notes, this.controls(), this.question, this.captions, this.body, make("p", { class: "agentlib-legend" }, LEGEND), this.wires);
    this.root = focusable(make("div", { class: "agentlib-player", tabindex: "0", role: "group" },
      make("div", { class: "agentlib-box" }, this.inside, this.forms)));
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.listeners = {
      "change:timelines": () => this.build(),
      "change:frame": () => this.follow(),
      "change:guess": () => this.guessed(),
      "change:problem": () => { if (this.fork) this.fork.problem.textContent = this.model.get("problem"); },
      "change:stale": () => this.drawNotes(),
      // Jupyter marks the boxes around widgets whose kernel has gone, a moment after it has told them.
      comm_live_update: () => setTimeout(() => this.live(!host.closest(".jupyter-widgets-disconnected")), 200),
      "msg:custom": (message) => { if (message?.done) this.answered(); },
    };
    for (const [name, listener] of Object.entries(this.listeners)) model.on(name, listener);
    host.append(this.root);
    this.build();
  }

  close() {
    this.pause();
    this.settle();
    this.answered();
    for (const [name, listener] of Object.entries(this.listeners)) this.model.off(name, listener);
  }

  controls() {
    const control = (picture, name, act) => button(act, { "aria-label": name, title: name }, icon(picture));
    this.byOne = [control("lineBack", "", () => this.go(this.now - 1)), control("lineOn", "", () => this.go(this.now + 1))];
    this.playWords = make("span", {}, "Play");
    this.playButton = button(() => this.toggle(), { class: "agentlib-play", title: "Play (space)" }, icon("play"), this.playWords);
    this.track = new Track((tick) => this.go(tick));
    this.mode = focusable(make("select", { "aria-label": "Play and arrow keys go" },
      make("option", { value: "line" }), make("option", { value: "step" }, "go by step")));
    this.speed = focusable(make("select", { "aria-label": "Speed", title: "Speed of Play" }, ...SPEEDS.map(([name, ms]) =>
      make("option", { value: String(ms), ...(name === "normal" ? { selected: "" } : {}) }, `speed: ${name}`))));
    this.speed.addEventListener("change", () => { if (this.timer) { this.pause(); this.play(); } });
    this.count = make("span", { class: "agentlib-count" });
    return make("div", { class: "agentlib-controls", role: "toolbar", "aria-label": "Player controls" },
      make("div", { class: "agentlib-buttons" },
        control("first", "First frame", () => this.go(1)), control("stepBack", "Previous step", () => this.go(this.clock.step(this.now, -1))),
        this.byOne[0], this.playButton, this.byOne[1], control("stepOn", "Next step", () => this.go(this.clock.step(this.now, 1))),
        control("last", "Last frame", () => this.go(this.last))),
      this.track.element, this.count, make("div", { class: "agentlib-buttons" }, this.mode, this.speed));
  }

  // A run without code goes from frame to frame.
  nameSteps(timelines) {
    const one = timelines.every(({ lines }) => lines.length) ? "line" : "frame";
    ["Previous", "Next"].forEach((way, place) => {
      for (const name of ["aria-label", "title"]) this.byOne[place].setAttribute(name, `${way} ${one}`);
    });
    this.mode.options[0].textContent = `go by ${one}`;
    this.mode.title = `Play and arrow keys go by ${one} or by step`;
  }

  get timelines() { return this.model.get("timelines"); }

  get now() { return Math.max(1, Math.min(this.at, this.last)); }

  get guessing() { return Boolean(this.timelines[0]?.predict) && !this.model.get("guess"); }

  get last() { return this.guessing ? this.clock.of(0, this.timelines[0].predict.open) : this.clock.last; }

  build() {
    this.settle();
    this.at = this.model.get("frame");
    const timelines = this.timelines;
    const several = timelines.length > 1;
    this.clock = new Clock(timelines);
    this.nameSteps(timelines);
    this.root.setAttribute("aria-label", `${this.model.get("label")}. Arrow keys step, space plays.`);
    if (several !== this.several) this.mode.value = several ? "step" : "line"; // what is compared is compared step by step
    this.several = several;
    this.inside.className = several ? "agentlib-several" : "agentlib-one";
    this.buildRuns(timelines);
    this.predict = timelines[0]?.predict ? new PredictForm(timelines[0].predict, this.model.get("guess"), (choice) => this.guess(choice)) : null;
    this.question.replaceChildren(...(this.predict ? [this.predict.element] : []));
    const draft = this.fork?.draft();
    const focused = this.fork?.element.contains(this.root.getRootNode().activeElement);
    this.fork = this.model.get("can_fork") && timelines[0]?.changes.length
      ? new ForkForm(timelines[0], (wish) => this.ask(wish), draft, several) : null;
    this.forms.replaceChildren(...(this.fork ? [this.fork.element] : []));
    this.buildTrack();
    this.live(this.alive, true);
    this.draw();
    // The button that was pressed is gone. Without a focus of its own the next key would go to the notebook.
    if (focused) (this.fork?.run ?? this.root).focus({ preventScroll: true });
  }

  buildRuns(timelines) {
    const letters = timelines.map(({ label }, place) => (label ? letterOf(label, place) : ""));
    const scale = {
      tokens: Math.max(1, ...timelines.flatMap(({ calls }) => [Math.max(0, ...calls)])),
      calls: Math.max(1, ...timelines.map(({ calls }) => calls.length)),
    };
    this.runs = timelines.map((timeline, run) =>
      new Run(timeline, letters[run], scale, (number) => this.go(this.clock.of(run, number))));
    this.code = timelines.length && sameCode(timelines) ? new Code(timelines, letters) : null;
    if (!this.code) {
      timelines.forEach((timeline, run) => { if (timeline.lines.length) this.runs[run].addCode(new Code([timeline], [""], timeline.label)); });
    }
    this.captions.replaceChildren(...this.runs.map((run) => run.caption.element));
    this.wire = new Wire(timelines, this.wire?.choice.value);
    this.wires.replaceChildren(this.wire.element);
    this.body.classList.toggle("agentlib-alone", !this.code);
    this.body.replaceChildren(...(this.code ? [this.code.element] : []), make("div", { class: "agentlib-runs" }, ...this.runs.map((run) => run.element)));
  }

  buildTrack() {
    this.inside.classList.toggle("agentlib-guessing", this.guessing);
    this.track.build(this.clock, this.timelines, this.last);
  }

  drawNotes() {
    const notes = this.timelines.filter(({ notice }) => notice).map(({ label, notice }) =>
      make("p", { class: "agentlib-note" }, ...captionParts(label ? `${label}: ${notice}` : notice)));
    const stale = this.model.get("stale");
    if (stale) {
      const renew = button(() => this.ask({ do: "run the new one" }), {}, "Run the new one");
      notes.push(make("p", { class: "agentlib-note" }, make("span", {}, ...captionParts(stale)), renew));
    }
    if (!this.alive) notes.push(make("p", { class: "agentlib-note agentlib-dead" }, `${AGAIN} Stepping still works.`));
    if (this.late) notes.push(make("p", { class: "agentlib-note agentlib-dead" }, this.late));
    this.notes.replaceChildren(...notes);
  }

  draw() {
    const tick = this.now;
    const numbers = this.clock.at(tick);
    this.runs.forEach((run, place) => run.draw(numbers[place]));
    this.code?.draw(numbers);
    const frames = this.runs.map((run, place) => run.frames[numbers[place] - 1]);
    const step = this.clock.steps[tick - 1] ?? 0;
    this.wire.draw(frames.map((frame) => frame?.step ?? 0));
    const words = frames.map((frame, place) => `${this.several ? `${this.timelines[place].label}: ` : ""}${plainCaption(frame?.caption ?? "")}`);
    this.track.draw(tick, step, `Frame ${tick} of ${this.last}: ${words.join("; ")}`);
    const most = this.several ? null : this.timelines[0]?.max_steps;
    this.count.replaceChildren(step ? "step " : "before step ", make("b", {}, String(step || 1)), most ? ` of at most ${numberWords(most)}, frame ` : ", frame ",
      make("b", {}, numberWords(tick)), ` of ${numberWords(this.last)}`);
    if (frames[0]) this.fork?.follow(frames[0].step);
    this.root.dataset.frame = String(tick);
    // All is written before anything is measured, so that the page is laid out once.
    for (const part of [...this.runs, this.code]) part?.look();
  }

  // --- moving

  go(tick) {
    const wanted = Math.max(1, Math.min(tick, this.last));
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

  // One on or one back, by line or by step.
  move(by) { this.go(this.mode.value === "step" ? this.clock.step(this.now, by) : this.now + by); }

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

  toggle() { if (this.timer || this.waits) this.pause(); else this.play(); }

  play() {
    if (this.now >= this.last && !this.guessing) this.go(1);
    this.timer = setInterval(() => this.playOn(), Number(this.speed.value));
    this.playing("pause", "Pause");
    if (this.now >= this.last) this.playOn();
  }

  playOn() {
    if (this.now < this.last) return this.move(1);
    const waits = this.guessing;
    this.pause();
    if (!waits) return;
    this.waits = true;
    this.playing("pause", "Pause");
    this.predict.show("", true);
  }

  pause() {
    clearInterval(this.timer);
    if (this.waits) this.predict?.show(this.model.get("guess"));
    this.timer = null;
    this.waits = false;
    this.playing("play", "Play");
  }

  playing(picture, name) {
    this.playButton.replaceChildren(icon(picture), this.playWords);
    this.playWords.textContent = name;
  }

  guess(choice) {
    this.model.set("guess", choice);
    this.model.save_changes();
  }

  guessed() {
    const waited = this.waits;
    this.predict?.show(this.model.get("guess"));
    this.buildTrack();
    this.draw();
    if (waited) { this.pause(); this.play(); }
  }

  // --- what needs Python

  ask(wish) {
    if (!this.alive) return;
    this.answered();
    this.asking = setTimeout(() => {
      this.late = "Python has not answered yet. If the kernel was restarted, run this cell again.";
      this.drawNotes();
    }, ANSWER_AFTER_MS);
    this.model.send(wish);
  }

  answered() {
    clearTimeout(this.asking);
    this.asking = null;
    if (!this.late) return;
    this.late = "";
    this.drawNotes();
  }

  live(alive, force = false) {
    if (alive === this.alive && !force) return;
    this.alive = alive;
    this.fork?.live(alive);
    this.drawNotes();
  }

  // --- keys

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = event.target;
    if (target.matches("textarea, select")) return;
    const moves = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1),
      PageDown: () => this.go(this.clock.step(this.now, 1)), PageUp: () => this.go(this.clock.step(this.now, -1)),
      Home: () => this.go(1), End: () => this.go(this.last),
    };
    if (target === this.track.range || target === this.root) Object.assign(moves, { ArrowDown: moves.ArrowRight, ArrowUp: moves.ArrowLeft });
    if (target.matches(".agentlib-scroll")) delete moves.PageDown, delete moves.PageUp;
    if (!target.matches("button, summary")) moves[" "] = () => this.toggle();
    if (!(event.key in moves)) return;
    moves[event.key]();
    event.preventDefault();
    event.stopPropagation();
  }
}

function render({ model, el }) {
  const player = new Player(model, el);
  return () => player.close();
}

export default { render };
