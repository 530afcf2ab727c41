// Run in the page by test_report_browser.py: what cannot be read or is cut off. Arguments: the lowest contrast of texts,
// and of shapes that mean something. Contrast as WCAG 2.2 defines it.
const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const behind = (item) => {
  for (; item; item = item.parentElement) {
    const found = rgb(getComputedStyle(item).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const seen = (item) => item.checkVisibility({visibilityProperty: true}) && item.getBoundingClientRect().right > 0;
const name = (item) =>
  `${item.tagName} ${item.className.baseVal ?? item.className} ${item.textContent.trim().slice(0, 40)}`;
const texts = [...document.querySelectorAll("body *:not(script, style, option)")].filter(
  (item) => seen(item) && [...item.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
const shapes = [...document.querySelectorAll("rect.bound, rect.waiting, path.judged, .well, .unwell")].filter(seen);
return {
  texts: texts.length,
  shapes: shapes.length,
  faint: texts.map((item) => [contrast(rgb(getComputedStyle(item).color), behind(item)), name(item)])
    .filter(([value]) => value < arguments[0]),
  faintShapes: shapes.map((item) => {
    const {fill, stroke} = getComputedStyle(item);
    return [contrast(rgb(stroke === "none" ? fill : stroke), behind(item.closest("svg"))), name(item)];
  }).filter(([value]) => value < arguments[1]),
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  outside: [...document.querySelectorAll("body *")].filter(seen)
    .filter((item) => item.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(name),
  clipped: texts.filter((item) => getComputedStyle(item).display !== "inline" &&
    (item.scrollWidth > item.clientWidth + 1 || item.scrollHeight > item.clientHeight + 3) &&
    getComputedStyle(item).overflow !== "visible").map(name),
};
