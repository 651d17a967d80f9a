// Light or dark: as the reader's system has it, until the switch is pressed. The player and the plots read the
// attribute that JupyterLab sets, so it is set here too.
(() => {
  const KEPT = "agentlib-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem(KEPT);
  } catch { /* a browser that keeps nothing follows the system */ }
  const isDark = () => (chosen ? chosen === "dark" : system.matches);
  const button = document.createElement("button");
  const show = () => {
    document.documentElement.dataset.jpThemeLight = String(!isDark());
    button.textContent = isDark() ? "Light theme" : "Dark theme";
  };
  button.type = "button";
  button.className = "theme";
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEPT, chosen);
    } catch { /* it holds for this page */ }
    show();
  });
  system.addEventListener("change", show);
  show();
  addEventListener("DOMContentLoaded", () => document.querySelector("header")?.append(button));
})();
