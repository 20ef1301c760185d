//! What must hold of the page everywhere.

use serde_json::{Value, json};

use super::Server;
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
    if (!node.data.trim() || !isShown(element) || element.closest('svg, noscript, option') || element.closest(':disabled')) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(numbers(style.color)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 600) ? 3 : 4.5;
    if (contrast < least) problems.push(`contrast ${contrast.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) problems.push('id twice: ' + id);
  return problems;
})()";

pub(super) fn labels_and_contrast(server: &Server, page: &Page<'_>) {
    for scheme in ["light", "dark"] {
        page.media(scheme, true);
        for run in [super::CRETE, "a=sun&n=16&lesson=sun-levels", "lessons", "a=bully&n=5&with=bully,campaigner"] {
            page.open(&server.url(run));
            assert_eq!(page.eval(CHECK), json!([]), "{run}, {scheme}");
        }
    }
    page.media("light", false);
}

/// The files of the page itself, without the runs.
pub(super) fn transfer(server: &Server, page: &Page<'_>) {
    let urls: Vec<(String, String)> = page
        .events("Network.requestWillBeSent")
        .iter()
        .map(|event| (text(&event["requestId"]), text(&event["request"]["url"])))
        .collect();
    let mut sizes: std::collections::BTreeMap<String, f64> = std::collections::BTreeMap::new();
    for event in page.events("Network.loadingFinished") {
        let Some((_, url)) = urls.iter().find(|(id, _)| *id == text(&event["requestId"])) else { continue };
        let name = url.strip_prefix(server.origin()).unwrap_or(url).split(['?', '#']).next().unwrap_or("").to_string();
        if !name.starts_with("/api/") && !name.starts_with("data:") && !name.starts_with("blob:") {
            sizes.insert(name, event["encodedDataLength"].as_f64().unwrap_or(0.0));
        }
    }
    let sum: f64 = sizes.values().sum();
    println!("transfer of the page: {sum} bytes in {} files", sizes.len());
    assert!(sizes.len() > 10 && sum < 300_000.0, "{sizes:?}");
}

pub(super) fn nothing_went_wrong(server: &Server, page: &Page<'_>) {
    let thrown = page.events("Runtime.exceptionThrown");
    assert!(thrown.is_empty(), "{thrown:?}");
    let is_error = |event: &Value| event["type"] == json!("error") || event["entry"]["level"] == json!("error");
    // The refused run above is an answer with the status 422, which browsers log.
    let expected = |event: &Value| text(&event["entry"]["text"]).contains("422");
    let logged = [page.events("Runtime.consoleAPICalled"), page.events("Log.entryAdded")].concat();
    let errors: Vec<&Value> = logged.iter().filter(|event| is_error(event) && !expected(event)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    for event in page.events("Network.requestWillBeSent") {
        let url = text(&event["request"]["url"]);
        let is_own = url.starts_with(server.origin()) || url.starts_with("blob:") || url.starts_with("data:");
        assert!(is_own, "a request to somewhere else: {url}");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
