// The quiz: pick a choice, and at once it says whether it is right and why. Everything is in the page already.

// JupyterLab's own keys ("d d" deletes the cell) stay away only from the very element that carries this.
const GUARD = "data-lm-suppress-shortcuts";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Code comes between backticks. Texts are only ever put in as text, so markup in them stays text.
const parts = (text) => text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

class QuestionPart {
  constructor(question, number, pick) {
    this.question = question;
    this.verdict = make("div", { role: "status", class: "agentlib-verdict" });
    this.buttons = question.choices.map((choice, place) => {
      const button = make("button", { type: "button", [GUARD]: "true" }, ...parts(choice.text));
      button.addEventListener("click", () => { if (this.picked < 0) pick(place); });
      return button;
    });
    const items = this.buttons.map((button) => make("li", {}, button));
    this.element = make("fieldset", {}, make("legend", {}, `${number}. `, ...parts(question.text)),
      make("ol", { type: "a" }, ...items), this.verdict);
    this.picked = -1;
  }

  draw(picked) {
    this.picked = picked;
    const right = this.question.choices.findIndex((choice) => choice.right);
    this.buttons.forEach((button, place) => {
      button.setAttribute("aria-pressed", String(place === picked));
      // Not `disabled`: that would throw the focus out of the quiz.
      button.setAttribute("aria-disabled", String(picked >= 0));
      button.querySelector(".agentlib-mark")?.remove();
      const mark = picked < 0 ? "" : place === right ? " (right)" : place === picked ? " (your choice)" : "";
      if (mark) button.append(make("strong", { class: "agentlib-mark" }, mark));
    });
    if (picked < 0) return this.verdict.replaceChildren();
    const words = (place, start) => make("p", {}, make("strong", {}, start), ...parts(this.question.choices[place].why));
    const shown = [words(picked, picked === right ? "Right. " : "Not this one. ")];
    if (picked !== right) shown.push(words(right, `Right is ${String.fromCharCode(97 + right)}. `));
    const others = this.question.choices.map((_, place) => place).filter((place) => place !== picked && place !== right);
    if (others.length) {
      const summary = make("summary", { [GUARD]: "true" }, "And the others?");
      shown.push(make("details", {}, summary, ...others.map((place) => words(place, `${String.fromCharCode(97 + place)}. `))));
    }
    this.verdict.replaceChildren(...shown);
  }
}

class Quiz {
  constructor(model, host) {
    this.model = model;
    this.parts = model.get("questions").map((question, number) =>
      new QuestionPart(question, number + 1, (place) => this.pick(number, place)));
    this.score = make("p", { role: "status", class: "agentlib-score" });
    this.again = make("button", { type: "button", [GUARD]: "true" }, "Try again");
    this.again.addEventListener("click", () => this.restart());
    this.problem = make("p", { role: "alert" });
    const root = make("div", { class: "agentlib-quiz", role: "group", "aria-label": "Quiz" },
      ...this.parts.map((part) => part.element), this.score, this.again, this.problem);
    this.draw = () => this.show();
    model.on("change:picked", this.draw);
    model.on("change:problem", this.draw);
    host.append(root);
    this.show();
    this.fold(root, 40);
  }

  close() {
    clearTimeout(this.folding);
    this.model.off("change:picked", this.draw);
    this.model.off("change:problem", this.draw);
  }

  pick(number, place) {
    this.set(this.model.get("picked").map((old, at) => (at === number ? place : old)));
  }

  restart() {
    this.set(this.model.get("picked").map(() => -1));
    this.parts[0]?.buttons[0]?.focus();
  }

  set(picked) {
    this.model.set("picked", picked);
    this.model.save_changes();
  }

  show() {
    const picked = this.model.get("picked");
    this.parts.forEach((part, place) => { if (part.picked !== picked[place] || picked[place] < 0) part.draw(picked[place]); });
    const all = this.parts.length;
    const answered = picked.filter((place) => place >= 0).length;
    const right = this.parts.filter((part, place) => part.question.choices[picked[place]]?.right).length;
    const mark = this.model.get("pass_mark");
    const passed = right >= mark * all ? "passed" : `not passed yet, it takes ${Math.round(100 * mark)}%`;
    this.score.textContent = answered < all ? `${answered} of ${all} answered, ${right} right so far.`
      : `${right} of ${all} right (${Math.round((100 * right) / all)}%): ${passed}.`;
    this.again.hidden = answered === 0;
    this.problem.textContent = this.model.get("problem");
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
