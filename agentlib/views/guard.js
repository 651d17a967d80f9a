// Keeps JupyterLab's own keys away from the widgets beside this one, gives nameless sliders a name, and folds the
// static form beneath them.
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

function guardPlace(place) {
  const guardTarget = (event) => event.target.setAttribute(GUARD, "true");
  const observer = new MutationObserver(() => nameSliders(place));
  place.addEventListener("focusin", guardTarget);
  observer.observe(place, { childList: true, subtree: true });
  nameSliders(place);
  return () => {
    place.removeEventListener("focusin", guardTarget);
    observer.disconnect();
  };
}

// What the widgets show stands once more in the output below, for places without widgets.
function foldStaticForm(place) {
  const form = place.closest(".jp-OutputArea")?.querySelector("details.agentlib-static");
  if (form) form.open = false;
  return Boolean(form);
}

function render({ el }) {
  let release = () => {};
  let tries = 0;
  const fold = (place, left) => {
    if (!foldStaticForm(place) && left > 0) timer = setTimeout(() => fold(place, left - 1), 50);
  };
  // The view is made before it is put into the page, so its place may not be there yet.
  const settle = () => {
    const place = el.closest(PLACES) ?? (tries > 40 ? el.parentElement : null);
    if (place) {
      release = guardPlace(place);
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
