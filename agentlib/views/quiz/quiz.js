// The quiz: pick a choice, and at once it says whether it is right and why. Everything is in the page already,
// but for repairs: a line that was written goes to Python, which runs the code with it.

// JupyterLab's own keys ("d d" deletes the cell) stay away only from the very element that carries this.
const GUARD = "data-lm-suppress-shortcuts";
const REPAIR_TRIES = 3;
const SILENT_MS = 8000;
const NO_KERNEL = "The kernel does not answer, so nothing is checked or kept. Run this cell again.";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Code comes between backticks. Texts are only ever put in as text, so markup in them stays text.
const parts = (text) => text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
const letter = (place) => String.fromCharCode(97 + place);
const strong = (text) => make("strong", {}, text);

// Lines that are shown as they stand; one that is too long goes on beneath itself, set in.
function shownLines(text) {
  return text ? [make("pre", {}, ...text.split("\n").map((line) => make("span", {}, `${line}\n`)))] : [];
}

class QuestionPart {
  constructor(question, number, quiz) {
    this.question = question;
    this.verdict = make("div", { role: "status", class: "agentlib-verdict" });
    this.inside = make("div");
    this.element = make("fieldset", {}, make("legend", {}, ...parts(quiz.title(number) + question.text)),
      ...shownLines(question.shown), this.inside, this.verdict);
    this.fill(number - 1, quiz);
  }

  lookAgain() {
    return this.question.look_again ? [make("p", {}, this.question.look_again)] : [];
  }
}

class ChoicePart extends QuestionPart {
  fill(at, quiz) {
    this.right = this.question.choices.findIndex((choice) => choice.right);
    this.predicts = this.right < 0; // what comes out is seen elsewhere
    this.noted = quiz.model.get("closing") || "Now run the cell that shows it.";
    this.twice = quiz.model.get("tries") > 1 && this.question.choices.length > 2;
    this.buttons = this.question.choices.map((choice, place) => {
      const button = make("button", { type: "button", [GUARD]: "true" }, ...parts(choice.text));
      button.addEventListener("click", () => {
        if (this.predicts) quiz.pick(at, place, -1);
        else if (this.picked < 0) quiz.pick(at, place, this.twice && place !== this.right ? place : -1);
        else if (this.open && place !== this.first) quiz.pick(at, place, this.first);
      });
      return button;
    });
    this.inside.replaceChildren(make("ol", { type: "a" }, ...this.buttons.map((button) => make("li", {}, button))));
  }

  get done() { return this.picked >= 0 && !this.open; }

  draw(picked, first) {
    this.picked = picked;
    this.first = first;
    this.open = picked >= 0 && picked === first;
    this.buttons.forEach((button, place) => {
      button.setAttribute("aria-pressed", String(place === picked && !this.open));
      // Not `disabled`: that would throw the focus out of the quiz.
      button.setAttribute("aria-disabled", String(!this.predicts && (this.done || (this.open && place === first))));
      button.querySelector(".agentlib-mark")?.remove();
      const mark = this.done && place === this.right ? " (right)" : place === first ? " (your first choice)"
        : this.done && place === picked ? " (your choice)" : "";
      if (mark) button.append(make("strong", { class: "agentlib-mark" }, mark));
    });
    if (picked < 0) return this.verdict.replaceChildren();
    if (this.predicts) return this.verdict.replaceChildren(make("p", {}, strong("Noted. "), this.noted));
    if (this.open) {
      const words = `There is a second try: ${this.question.choices.length - 1} choices are left.`;
      return this.verdict.replaceChildren(make("p", {}, strong("Not this one. "), words));
    }
    const words = (place, start) => make("p", {}, strong(start), ...parts(this.question.choices[place].why));
    const start = picked !== this.right ? "Not this one. " : first >= 0 ? "Right, at the second try. " : "Right. ";
    const shown = [words(picked, start)];
    if (picked !== this.right) shown.push(words(this.right, `Right is ${letter(this.right)}. `), ...this.lookAgain());
    const others = this.question.choices.map((_, place) => place).filter((place) => place !== picked && place !== this.right);
    if (others.length) {
      const summary = make("summary", { [GUARD]: "true" }, "And the others?");
      shown.push(make("details", {}, summary, ...others.map((place) => words(place, `${letter(place)}. `))));
    }
    this.verdict.replaceChildren(...shown);
  }
}

class RepairPart extends QuestionPart {
  fill(at, quiz) {
    // What is shown begins with the numbers of the lines.
    const lines = this.question.shown.split("\n").map((line) => line.replace(/^ *\d+ ?/, ""));
    this.line = make("select", { [GUARD]: "true" }, make("option", { value: "0" }, "choose a line"),
      ...lines.map((line, place) => make("option", { value: String(place + 1) }, `${place + 1}: ${line.trim()}`)));
    this.text = make("input", { [GUARD]: "true", type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
    this.check = make("button", { type: "button", [GUARD]: "true" }, "Check the line");
    this.line.addEventListener("change", () => { this.text.value = lines[this.line.value - 1]?.trim() ?? ""; });
    const send = () => {
      if (this.done) return;
      if (this.line.value === "0") return this.say(strong("Choose a line first. "));
      this.say("Running the code with your line ...");
      quiz.mend(at, Number(this.line.value), this.text.value);
    };
    this.check.addEventListener("click", send);
    this.text.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); send(); } });
    this.inside.append(make("label", {}, "Line to change ", this.line), make("label", {}, "How it must read ", this.text), this.check);
  }

  say(...words) { this.verdict.replaceChildren(make("p", {}, ...words)); }

  get done() { return this.picked >= 0; }

  draw(picked, first, repair) {
    const again = this.picked >= 0 && picked < 0;
    this.picked = picked;
    this.check.setAttribute("aria-disabled", String(this.done));
    this.text.readOnly = this.done;
    if (repair?.line && this.line.value === "0") {
      this.line.value = String(repair.line);
      this.text.value = repair.text;
    }
    if (again) this.line.value = "0", this.text.value = "";
    const { line, text, why } = this.question.repair;
    if (picked === 1) return this.say(strong("Right. "), ...parts(why));
    if (picked === 0) {
      const said = repair?.said ? [make("p", {}, strong("Not yet. "), ...parts(repair.said))] : [];
      return this.verdict.replaceChildren(...said, make("p", {}, strong(`Right is, for instance, line ${line}: `),
        make("code", {}, text), ". ", ...parts(why)), ...this.lookAgain());
    }
    if (!repair?.tried) return this.verdict.replaceChildren();
    const left = REPAIR_TRIES - repair.tried;
    this.say(strong("Not yet. "), ...parts(repair.said), ` (${left} more ${left === 1 ? "try" : "tries"})`);
  }
}

class Quiz {
  constructor(model, host) {
    this.model = model;
    this.parts = model.get("questions").map((question, number) =>
      new (question.repair ? RepairPart : ChoicePart)(question, number + 1, this));
    this.score = make("p", { role: "status", class: "agentlib-score" });
    this.again = make("button", { type: "button", [GUARD]: "true" }, "Try again");
    this.again.addEventListener("click", () => this.restart());
    this.problem = make("p", { role: "alert" });
    this.predicts = this.parts.every((part) => part.predicts);
    const root = make("div", { class: "agentlib-quiz", role: "group", "aria-label": this.predicts ? "Prediction" : "Quiz" },
      ...this.parts.map((part) => part.element), this.score, this.again, this.problem);
    this.draw = () => this.show();
    this.names = ["picked", "first", "repairs", "problem"].map((name) => `change:${name}`);
    this.names.forEach((name) => model.on(name, this.draw));
    host.append(root);
    // Jupyter marks the boxes around widgets whose kernel has gone, a moment after it has told them.
    this.gone = () => Boolean(host.closest(".jupyter-widgets-disconnected"));
    this.heard = () => setTimeout(() => this.show(), 200);
    model.on("comm_live_update", this.heard);
    this.show();
    this.fold(root, 40);
  }

  title(number) { return this.model.get("questions").some((one) => one.repair || one.choices.some((choice) => choice.right)) ? `${number}. ` : "Predict: "; }

  close() {
    clearTimeout(this.folding);
    this.model.off("comm_live_update", this.heard);
    this.names.forEach((name) => this.model.off(name, this.draw));
  }

  pick(number, place, before) {
    const changed = (name, value) => this.model.get(name).map((old, at) => (at === number ? value : old));
    this.set(changed("picked", place), changed("first", before));
  }

  mend(question, line, text) {
    const count = (this.model.get("attempt").count ?? 0) + 1; // the same line sent twice is a change, too
    this.model.set("attempt", { question, line, text, count });
    this.send();
  }

  // Python says that it has heard of each change. Where it does not, no kernel runs any more.
  send() {
    const turn = this.model.get("turn") + 1;
    this.model.set("turn", turn);
    this.model.save_changes();
    clearTimeout(this.silent);
    this.silent = setTimeout(() => {
      if (this.model.get("heard") < turn) this.problem.textContent = NO_KERNEL;
    }, SILENT_MS);
  }

  restart() {
    const none = this.model.get("picked").map(() => -1);
    this.model.set("repairs", none.map(() => ({})));
    this.set(none, none);
    this.parts[0]?.element.querySelector("button, select")?.focus();
  }

  set(picked, first) {
    // Drawn once both are there, so that no reader hears a state that lasts no moment.
    this.quiet = true;
    this.model.set("first", first);
    this.quiet = false;
    this.model.set("picked", picked);
    this.show();
    this.send();
  }

  show() {
    if (this.quiet) return;
    const [picked, first, repairs] = ["picked", "first", "repairs"].map((name) => this.model.get(name));
    this.parts.forEach((part, at) => {
      const state = JSON.stringify([picked[at], first[at], repairs[at]]);
      if (part.state !== state) part.draw(picked[at], first[at], repairs[at]);
      part.state = state;
    });
    this.score.hidden = this.predicts;
    const all = this.parts.length;
    const done = this.parts.filter((part) => part.done).length;
    const isRight = (part) => part.done && part.picked === (part.question.repair ? 1 : part.right);
    const right = this.parts.filter(isRight).length;
    const second = this.parts.filter((part) => isRight(part) && part.first >= 0).length;
    const how = second ? `, ${second} at the second try` : "";
    const mark = this.model.get("pass_mark");
    const passed = right >= mark * all ? "passed" : `not passed yet, it takes ${Math.round(100 * mark)}%`;
    const missed = this.parts.filter((part) => part.done && !isRight(part));
    const lessons = [...new Set(missed.map((part) => part.question.look_again.match(/lesson (\d+)/)?.[1] ?? ""))];
    const again = lessons.filter(Boolean).sort().join(", ");
    const closing = [again && `Look again at ${again.includes(",") ? "lessons" : "lesson"} ${again}.`, this.model.get("closing")].filter(Boolean).join(" ");
    this.score.textContent = done < all ? `${done} of ${all} answered, ${right} right so far${how}.`
      : `${right} of ${all} right (${Math.round((100 * right) / all)}%)${how}: ${passed}. ${closing}`.trim();
    this.again.hidden = this.predicts || !picked.some((place) => place >= 0) && !repairs.some((repair) => repair?.tried);
    this.problem.textContent = this.gone() ? "The kernel was restarted or is gone, so your answers are not kept. Run this cell again."
      : this.model.get("problem");
  }

  // The same questions stand as text in the output below. Where the quiz runs, that text is folded.
  fold(root, tries) {
    const text = root.closest(".jp-OutputArea")?.querySelector("details.agentlib-static");
    if (text) text.open = false;
    else if (tries > 0) this.folding = setTimeout(() => this.fold(root, tries - 1), 50);
  }
}

function render({ model, el }) {
  const quiz = new Quiz(model, el);
  return () => quiz.close();
}

export default { render };
