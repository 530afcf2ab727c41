// The filters work without this script: it counts the checks shown, and opens the check that a link targets.
(() => {
  const form = document.querySelector(".filters");
  const checks = [...document.querySelectorAll("details.check")];
  const words = document.getElementById("shown").dataset.words;
  const count = () => {
    const shown = checks.filter((item) => getComputedStyle(item).display !== "none").length;
    document.getElementById("shown").textContent = words.replace("{shown}", shown).replace("{all}", checks.length);
    document.getElementById("reset").hidden = shown === checks.length;
    document.getElementById("none").hidden = shown > 0;
  };
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
    }
  };
  form.addEventListener("change", count);
  form.addEventListener("reset", () => setTimeout(count));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", follow);
  count();
  follow();
})();
