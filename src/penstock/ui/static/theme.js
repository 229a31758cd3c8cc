// Runs before anything is painted: the theme that was chosen, or the system's.
(function () {
  const key = "penstock-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem(key); } catch { return null; }
  };
  const apply = () => { root.dataset.theme = chosen() || (system.matches ? "dark" : "light"); };
  window.penstockTheme = () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(key, next); } catch { /* private mode: it holds for this page */ }
    root.dataset.theme = next;
    return next;
  };
  system.addEventListener("change", apply);
  apply();
})();
