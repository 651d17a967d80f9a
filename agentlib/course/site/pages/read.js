// A page to read: its players play and its quizzes answer, without a kernel. Without this file all of it can be read
// as tables and folds.
import { PageModel } from "./page_model.js";
import player from "./player.js";
import quiz from "./quiz.js";

const KEPT = "agentlib-read-";
const page = document.body.dataset.page;
const NO_PYTHON = "A repair is checked by running the code with your line. That works in the lab, where Python runs.";

// --- what is kept in this browser -----------------------------------------------------------------------

function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(KEPT + name));
  } catch {
    return null; // nothing, or not ours
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(KEPT + name, JSON.stringify(value));
  } catch { /* it holds until the page is left */ }
}

// --- quizzes and predictions ----------------------------------------------------------------------------

// Answers count for the very questions that they were given to.
function restore(model, name) {
  const before = kept(name);
  const asked = JSON.stringify(model.get("questions"));
  if (before?.asked === asked) for (const key of ["picked", "first"]) model.values[key] = before[key];
  const save = () => keep(name, { asked, picked: model.get("picked"), first: model.get("first") });
  model.on("change:picked", save);
}

function answers(model) {
  model.on("change:turn", () => { model.values.heard = model.get("turn"); }); // there is no kernel to wait for
  model.on("change:attempt", () => model.set("problem", NO_PYTHON));
}

// The guess that was made first counts: what came out is known from then on.
function predicts(model, name) {
  model.values.closing = "What came out is shown where the next cell ends.";
  const shown = document.querySelector(`[data-predicted="${CSS.escape(name)}"]`);
  const texts = model.get("questions")[0].choices.map((choice) => choice.text);
  const tell = () => {
    const guess = kept(`guess-${name}`) ?? texts[model.get("picked")[0]];
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

// --- the parts ------------------------------------------------------------------------------------------

function play(place, { kind, values }) {
  const model = new PageModel(values);
  const { cell, predict } = place.dataset;
  if (kind === "player") player.render({ model, el: place });
  else {
    restore(model, `${page}-${cell}`);
    answers(model);
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
