//! The report on a phone, in a real browser. Without one the test says `SKIPPED`.

use std::path::Path;

use serde_json::json;

#[allow(dead_code, reason = "this test needs less of the browser than those of the page do")]
#[path = "../../lab/tests/browser/chrome.rs"]
mod chrome;

/// What is beside the screen. Every detail is open, as after a tap. A cell is named by the head of its column.
const BESIDE: &str = "(() => {
  document.querySelectorAll('details').forEach((one) => (one.open = true));
  const width = document.documentElement.clientWidth;
  const beside = [];
  if (document.documentElement.scrollWidth > width) beside.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const fits = (cell) => {
    const box = cell.getBoundingClientRect();
    if (box.width <= 0 || box.height <= 0 || box.left < 0 || box.right > width) return false;
    for (let at = cell; at; at = at.parentElement) if (at.scrollWidth > at.clientWidth + 1 && at.clientWidth) return false;
    return true;
  };
  for (const table of document.querySelectorAll('table')) {
    const where = table.closest('details, section')?.id || table.className;
    const heads = [...table.querySelectorAll('thead th')].map((head) => head.textContent);
    for (const row of table.querySelectorAll('tbody tr')) {
      for (const cell of row.cells) {
        const name = table.className === 'findings' ? heads[cell.cellIndex] : cell.dataset.label;
        if (cell.textContent.trim() && !fits(cell)) beside.push(`${where}: ${row.cells[0].textContent}: ${name}`);
      }
    }
  }
  return beside;
})()";

/// Rows in which a cell does not say what it is, or in which something comes before the verdict and what is measured.
const UNNAMED: &str = "(() => {
  const wrong = [];
  for (const row of document.querySelectorAll('table.findings tbody tr')) {
    const shown = [...row.cells].slice(1).filter((cell) => cell.textContent.trim());
    const named = shown.map((cell) => [getComputedStyle(cell, '::before').content.replace(/[\": ]/g, ''), cell.getBoundingClientRect().top]);
    named.sort((a, b) => a[1] - b[1]);
    const first = named.slice(0, 2).map(([name]) => name).join();
    if (first !== 'verdict,measured') wrong.push(`${row.cells[0].textContent}: ${named.map(([name]) => name)}`);
  }
  return wrong;
})()";

/// Every cell of every table of a report is on the screen of a phone, without scrolling sideways.
pub(super) fn nothing_is_beside_the_screen(page: &Path) {
    let Some(chrome) = chrome::start() else { return };
    let tab = chrome.page();
    tab.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
    tab.wait("location.protocol === 'file:' && document.readyState === 'complete' && document.querySelector('table')");
    for width in [360, 400] {
        tab.size(width, 800);
        assert_eq!(tab.eval(BESIDE), json!([]), "{} at a width of {width}", page.display());
        assert_eq!(tab.eval(UNNAMED), json!([]), "{} at a width of {width}", page.display());
    }
}
