//! What must hold of the page everywhere.

use serde_json::{Value, json};

use super::Server;
use super::chrome::Page;
use super::readable::problems;

pub(super) fn labels_and_contrast(server: &Server, page: &Page<'_>) {
    for scheme in ["light", "dark"] {
        page.media(scheme, true);
        for run in [super::CRETE, "a=sun&n=16&lesson=sun-levels", "lessons", "a=bully&n=5&with=bully,campaigner"] {
            page.open(&server.url(run));
            assert_eq!(problems(page), json!([]), "{run}, {scheme}");
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
