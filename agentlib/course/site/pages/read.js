// A page to read: its players play and its quizzes answer, without a kernel. Without this file all of it can be read
// as tables and folds.
import { PageModel } from "./page_model.js";
import player from "./player.js";
import quiz from "./quiz.js";

const KEPT = "agentlib-read-";
const page = document.body.dataset.page;
const LOST = "This browser keeps nothing more for this page: what you choose and write here is lost when you leave it or load it anew.";
const NO_PART = "A part of this page did not come, so nothing runs here now. Check the network and try again.";

// --- what is kept in this browser -----------------------------------------------------------------------

function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(KEPT + name));
  } catch {
    return null; // nothing, or not ours
  }
}

// Gives what is to be said: nothing if it was kept.
function keep(name, value) {
  try {
    localStorage.setItem(KEPT + name, JSON.stringify(value));
    return "";
  } catch {
    return LOST;
  }
}

function forget(name) {
  try {
    localStorage.removeItem(KEPT + name);
  } catch { /* nothing was kept */ }
}

// --- quizzes and predictions ----------------------------------------------------------------------------

// Answers count for the very questions that they were given to.
function restore(model, name) {
  const before = kept(name);
  const asked = JSON.stringify(model.get("questions"));
  if (before?.asked === asked) for (const key of ["picked", "first"]) model.values[key] = before[key];
  const save = () => model.set("problem", keep(name, { asked, picked: model.get("picked"), first: model.get("first") }));
  model.on("change:picked", save);
}

// A repair is checked by Python, which runs the code with the line.
function answers(model, repair) {
  model.on("change:turn", () => { model.values.heard = model.get("turn"); }); // there is no kernel to wait for
  model.on("change:attempt", async () => {
    const { question, line, text } = model.get("attempt");
    const tried = model.get("repairs")[question]?.tried ?? 0;
    model.set("problem", python?.state === "ready" ? "" : "Python is being loaded; your line is checked as soon as it is there.");
    const worker = await loadPython().catch(() => null);
    const answer = await worker?.ask({ ...repair, question, line, text, tried }, LIMIT_SECONDS, LATE) ?? { problem: NO_PART };
    model.set("problem", answer.problem ?? "");
    if (answer.problem) return;
    const changed = (name, value) => model.set(name, model.get(name).map((old, at) => (at === question ? value : old)));
    changed("repairs", { tried: tried + 1, line, text, said: answer.said });
    if (answer.done) changed("picked", answer.said ? 0 : 1);
  });
}

// The guess that was made first counts: what came out is known from then on.
function predicts(model, name) {
  model.values.closing = "What came out is shown where the next cell ends.";
  const shown = document.querySelector(`[data-predicted="${CSS.escape(name)}"]`);
  const texts = model.get("questions")[0].choices.map((choice) => choice.text);
  let guess = kept(`guess-${name}`);
  const tell = () => {
    guess ??= texts[model.get("picked")[0]];
    if (guess === undefined || !shown) return;
    keep(`guess-${name}`, guess);
    if (shown.matches("details")) shown.open = true;
    for (const line of shown.querySelectorAll("p")) {
      const came = line.dataset.came ?? /^It is (.*)\. You made no prediction\.$/.exec(line.textContent)?.[1];
      if (came === undefined) continue;
      line.dataset.came = came;
      line.textContent = came === guess ? `It is ${came}, as you predicted.` : `It is ${came}; you predicted ${guess}.`;
    }
  };
  model.on("change:picked", tell);
  if (model.get("picked")[0] >= 0) tell();
}

// --- a player's loop, as the reader changes it -----------------------------------------------------------

const LIMIT_SECONDS = 20; // Python ends what runs too long; after these the worker is ended
const LATE = (seconds) => `After ${seconds} seconds it was still running, in a call that cannot be interrupted. So it was ended, and Python is being loaded anew. Is there a way out of each loop?`;
let python; // one for all players of the page, loaded when the first loop is to be run
const listeners = new Set(); // those that speak of its state

async function loadPython() {
  if (python) return python;
  const { Python } = await import("./python.js");
  python ??= new Python("agentlib.course.site.edited.answer_edited", (state, words) => { for (const listener of listeners) listener(state, words); });
  return python;
}

class LoopForm {
  // model: the player's. edit: the cells that it takes, and the lines of the loop as it was. name: of the player.
  constructor(model, edit, name) {
    Object.assign(this, { model, edit, name });
    const loop = edit.lines.map((line) => /^def (\w+)/.exec(line)?.[1]).find(Boolean); // several may play
    this.original = edit.lines.join("\n") + "\n";
    this.first = { timelines: model.get("timelines"), frame: model.get("frame") };
    this.area = make("textarea", { id: `loop-${name}`, rows: String(Math.min(30, edit.lines.length + 2)), spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
    this.area.value = kept(`loop-${name}`) ?? this.original;
    this.status = make("p", { role: "status", class: "said" }, "");
    const run = make("button", { type: "button" }, "Run my loop");
    const again = make("button", { type: "button" }, "Begin again");
    run.addEventListener("click", () => this.run());
    again.addEventListener("click", () => this.begin());
    this.element = make("details", { class: "edit" }, make("summary", {}, "Edit this loop: ", make("code", {}, loop)),
      make("label", { for: this.area.id }, "The loop, in Python"), this.area, make("p", { class: "row" }, run, again), this.status);
    this.element.addEventListener("toggle", () => this.open(), { once: true });
  }

  get text() { return this.field?.text ?? this.area.value; }

  say(words, wrong = false) {
    this.status.textContent = words;
    this.status.classList.toggle("wrong", wrong);
  }

  async open() {
    listeners.add((state, words) => {
      if (state === "loading") this.say("Python is being loaded; you can change the loop meanwhile.");
      if (state === "slow") this.say("Python is still being loaded: the network is slow, or it is gone. The player plays meanwhile.");
      if (state === "ready" && !this.status.classList.contains("wrong")) this.say("Python is ready: run your loop.");
      if (state === "missing") this.say(`Loops do not run here now. ${words} Press Run my loop to try again.`, true);
    });
    this.area.addEventListener("input", () => this.keep(this.area.value));
    this.say("Python is being loaded; you can change the loop meanwhile.");
    try {
      const { editorFor } = await import("./editor.js");
      this.field = editorFor(this.area, (text) => this.keep(text), { run: () => this.run(), runWords: "runs your loop" });
    } catch { /* the plain field does it */ }
    await this.load();
  }

  keep(text) {
    const lost = keep(`loop-${this.name}`, text);
    if (lost) this.say(lost, true);
  }

  async load() {
    try {
      return await loadPython();
    } catch {
      this.say(NO_PART, true);
      return null;
    }
  }

  async run() {
    const worker = await this.load();
    if (!worker) return;
    this.say(worker.state === "ready" ? "Running ..." : "Python is being loaded; your loop runs as soon as it is there.");
    const answer = await worker.ask({ ...this.edit, text: this.text }, LIMIT_SECONDS, LATE);
    this.field?.mark(answer.line ?? 0);
    if (answer.problem) return this.say(answer.problem, true);
    this.show(answer);
    const ends = answer.timelines.map(({ label, frames }) => `${label ? `${label}: ` : ""}${frames.length} frames. ${frames.at(-1)?.caption ?? ""}`);
    this.say(`Your loop has run: ${ends.join(" ").replaceAll("`", "")} Play it above.`);
  }

  show({ timelines, frame }) {
    this.model.set("timelines", timelines);
    this.model.set("frame", frame);
    nameRegions();
  }

  begin() {
    if (this.field) this.field.text = this.original;
    else this.area.value = this.original;
    this.field?.mark(0);
    forget(`loop-${this.name}`);
    this.show(this.first);
    this.say("The loop is as it was.");
  }
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// --- the parts ------------------------------------------------------------------------------------------

function play(place, { kind, values, ask }) {
  const model = new PageModel(values);
  const { cell, predict } = place.dataset;
  if (kind === "player") {
    player.render({ model, el: place });
    if (ask) place.append(new LoopForm(model, ask, `${page}-${place.dataset.part}`).element);
  } else {
    restore(model, `${page}-${cell}`);
    answers(model, ask);
    if (predict) predicts(model, predict);
    quiz.render({ model, el: place });
  }
  // What plays stands once more beneath, for places where it does not.
  for (const text of place.closest(".outputs").querySelectorAll("details.agentlib-static")) text.open = false;
}

// Several players have regions of the same names: those of the second and later ones get its number.
function nameRegions() {
  const players = [...document.querySelectorAll(".part.player")];
  players.forEach((place, number) => {
    for (const region of place.querySelectorAll("[aria-label]:is([role=region], section)")) {
      const name = region.getAttribute("aria-label");
      if (number && !name.endsWith(")")) region.setAttribute("aria-label", `${name} (player ${number + 1})`);
    }
  });
}

const parts = JSON.parse(document.getElementById("parts")?.textContent ?? "[]");
for (const place of document.querySelectorAll(".part")) play(place, parts[Number(place.dataset.part)]);
nameRegions();

// --- the page -------------------------------------------------------------------------------------------

// What is too wide can be reached by the keyboard.
function reach() {
  for (const box of document.querySelectorAll(".scroll")) {
    const wide = box.scrollWidth > box.clientWidth;
    for (const [name, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": box.querySelector("caption")?.textContent ?? "Scrolls sideways" })) {
      if (wide) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }
}

new ResizeObserver(reach).observe(document.body);
document.addEventListener("toggle", reach, { capture: true });

const contents = document.querySelector(".contents details");
if (contents && matchMedia("(max-width: 1199px)").matches) contents.open = false;
