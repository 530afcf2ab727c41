// The filters work without this: it only tells how many checks are left, and opens a check that a link leads to.
(() => {
  const form = document.querySelector(".filters");
  const checks = [...document.querySelectorAll("details.check")];
  const tell = () => {
    const shown = checks.filter((item) => getComputedStyle(item).display !== "none").length;
    document.getElementById("shown").textContent = `${shown} of ${checks.length} checks shown`;
    document.getElementById("reset").hidden = shown === checks.length;
    document.getElementById("none").hidden = shown > 0;
  };
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
    }
  };
  form.addEventListener("change", tell);
  form.addEventListener("reset", () => setTimeout(tell));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", follow);
  tell();
  follow();
})();
