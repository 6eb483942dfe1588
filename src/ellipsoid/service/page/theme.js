// Light, dark, or as the system has it; set before anything is drawn, so that nothing flashes.
"use strict";
{
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
