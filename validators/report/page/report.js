// The filters work without this script: it counts the checks shown, and opens the check that a link targets, with its family.
(() => {
  const form = document.querySelector(".filters");
  const checks = [...document.querySelectorAll("details.check")];
  const words = document.getElementById("shown").dataset.words;
  const count = () => {
    const visible = (item) => getComputedStyle(item).display !== "none";
    const shown = checks.filter((item) => visible(item) && visible(item.parentElement)).length;
    document.getElementById("shown").textContent = words.replace("{shown}", shown).replace("{all}", checks.length);
    document.getElementById("reset").hidden = shown === checks.length;
    document.getElementById("none").hidden = shown > 0;
  };
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let item = target?.closest("details"); item; item = item.parentElement.closest("details")) {
      item.open = true;
    }
    target?.scrollIntoView();
  };
  form.addEventListener("change", count);
  form.addEventListener("reset", () => setTimeout(count));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", follow);
  count();
  follow();
})();
