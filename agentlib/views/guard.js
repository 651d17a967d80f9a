// Keeps JupyterLab's own keys away from the widgets beside this one, gives nameless sliders a name, folds the
// static form beneath them, and says what a slider alone keeps to itself: that its kernel has gone, and why a
// number that was typed is not taken.
//
// With the focus on a slider, JupyterLab would still take "d d" as "delete this cell". It leaves an element
// alone only if that very element carries the attribute below; on an ancestor the attribute does nothing.

const GUARD = "data-lm-suppress-shortcuts";
const PLACES = ".jp-OutputArea-output, .jp-OutputArea-child, .cell-output-ipywidget-background";

function nameSliders(place) {
  for (const slider of place.querySelectorAll(".widget-slider, .jupyter-widget-slider")) {
    const name = slider.querySelector(".widget-label")?.textContent?.trim();
    if (!name) continue;
    for (const handle of slider.querySelectorAll(".noUi-handle")) handle.setAttribute("aria-label", name);
    for (const readout of slider.querySelectorAll(".widget-readout")) {
      readout.setAttribute("role", "textbox");
      readout.setAttribute("aria-label", `${name}, type a value`);
    }
  }
}

// What to do where a control no longer reaches Python. A run that waits must not be begun anew.
const GONE = [
  [".widget-slider, .jupyter-widget-slider", "run this cell again to use this slider."],
  [".agentlib-person", "these buttons reach nobody. If the run was written to a file, go on from there with resume."],
];

const sliderOf = (element) => element.closest(".widget-slider, .jupyter-widget-slider");

function note(words, kind) {
  const element = document.createElement("p");
  element.className = `agentlib-guard-note agentlib-guard-${kind}`;
  element.setAttribute("role", "status");
  element.textContent = words;
  return element;
}

// A slider takes the nearest number that it has, and nothing at all for what is no number. It says neither.
function watchTyping(place) {
  const typed = (event) => {
    const readout = event.target.closest?.(".widget-readout");
    if (!readout || (event.type === "keydown" && event.key !== "Enter")) return;
    const wanted = readout.textContent.trim();
    const slider = sliderOf(readout);
    setTimeout(() => {
      slider.querySelector(".agentlib-guard-typed")?.remove();
      const taken = readout.textContent.trim();
      if (!wanted || Number(wanted.replaceAll(",", "")) === Number(taken.replaceAll(",", ""))) return;
      const handle = slider.querySelector(".noUi-handle");
      const [least, most] = ["aria-valuemin", "aria-valuemax"].map((name) => Number(handle?.getAttribute(name)));
      const name = slider.querySelector(".widget-label")?.textContent?.trim() || "This slider";
      slider.append(note(`${wanted.slice(0, 20)} is not taken: ${name} is a whole number from ${least} to ${most}.`, "typed"));
    }, 50);
  };
  place.addEventListener("keydown", typed, { capture: true });
  place.addEventListener("focusout", typed, { capture: true });
  return () => {
    place.removeEventListener("keydown", typed, { capture: true });
    place.removeEventListener("focusout", typed, { capture: true });
  };
}

// Jupyter marks the boxes around widgets whose kernel has gone, a moment after it has told them.
function watchKernel(el, place, model) {
  const look = () => {
    const gone = el.closest(".jupyter-widgets-disconnected");
    for (const [controls, words] of GONE) {
      for (const control of place.querySelectorAll(controls)) {
        const shown = control.querySelector(".agentlib-guard-gone");
        if (!gone) shown?.remove();
        else if (!shown) control.append(note(`The kernel was restarted or is gone: ${words}`, "gone"));
      }
    }
  };
  const heard = () => setTimeout(look, 200);
  model.on("comm_live_update", heard);
  return () => model.off("comm_live_update", heard);
}

function guardPlace(place, el, model) {
  const stopTyping = watchTyping(place);
  const stopKernel = watchKernel(el, place, model);
  const guardTarget = (event) => event.target.setAttribute(GUARD, "true");
  const observer = new MutationObserver(() => nameSliders(place));
  place.addEventListener("focusin", guardTarget);
  observer.observe(place, { childList: true, subtree: true });
  nameSliders(place);
  return () => {
    place.removeEventListener("focusin", guardTarget);
    observer.disconnect();
    stopTyping();
    stopKernel();
  };
}

// What the widgets show stands once more in the output below, for places without widgets.
function foldStaticForm(place) {
  const form = place.closest(".jp-OutputArea")?.querySelector("details.agentlib-static");
  if (form) form.open = false;
  form?.parentElement.querySelector(".agentlib-before")?.remove(); // "Run this cell": it has run
  return Boolean(form);
}

function render({ model, el }) {
  let release = () => {};
  let tries = 0;
  const fold = (place, left) => {
    if (!foldStaticForm(place) && left > 0) timer = setTimeout(() => fold(place, left - 1), 50);
  };
  // The view is made before it is put into the page, so its place may not be there yet.
  const settle = () => {
    const place = el.closest(PLACES) ?? (tries > 40 ? el.parentElement : null);
    if (place) {
      release = guardPlace(place, el, model);
      fold(place, 40);
    } else if (tries++ < 60) timer = setTimeout(settle, 50);
  };
  let timer = setTimeout(settle, 0);
  el.style.display = "none";
  return () => {
    clearTimeout(timer);
    release();
  };
}

export default { render };
