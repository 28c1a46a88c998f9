// Runs before the page is drawn, so that it never flashes in the other theme.
"use strict";
try {
  const theme = localStorage.getItem("queuepool-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch (_) { /* storage is off: the system's preference holds */ }
document.documentElement.classList.add("js");
