//! Whether everything on a page has a name and can be read.

use serde_json::Value;

use super::chrome::Page;

/// Finds controls without a name, and text that is hard to read.
const CHECK: &str = r"(() => {
  const problems = [];
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const name = (element) => element.getAttribute('aria-label') || element.getAttribute('title') || element.textContent.trim()
    || [...(element.labels ?? [])].map((label) => label.textContent.trim()).join('');
  for (const element of document.querySelectorAll('button, a[href], input, select, summary, [role=button], [tabindex], canvas[role=img], svg[role]')) {
    if (isShown(element) && !name(element) && element.id !== 'network') problems.push('no name: ' + element.outerHTML.slice(0, 120));
  }
  const channel = (value) => { const part = value / 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(at).backgroundColor);
      if (r !== undefined && a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const isDrawn = element.closest('.failover svg') !== null;
    if (!node.data.trim() || element.closest('title, noscript, option') || !isDrawn && element.closest('svg')) continue;
    if (!isShown(element) || element.closest(':disabled')) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(numbers(isDrawn ? style.fill : style.color)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 600) ? 3 : 4.5;
    if (contrast < least) problems.push(`contrast ${contrast.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) problems.push('id twice: ' + id);
  return problems;
})()";

/// What is wrong with the page as it is shown now.
pub(crate) fn problems(page: &Page<'_>) -> Value {
    page.eval(CHECK)
}
