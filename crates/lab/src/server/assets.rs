//! The page's files, embedded.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Name, type and content of every file but the first.
const FILES: &[(&str, &str, &str)] = &[
    ("api.js", SCRIPT, include_str!("../../page/api.js")),
    ("app.js", SCRIPT, include_str!("../../page/app.js")),
    ("chart.js", SCRIPT, include_str!("../../page/chart.js")),
    ("codec.js", SCRIPT, include_str!("../../page/codec.js")),
    ("colours.js", SCRIPT, include_str!("../../page/colours.js")),
    ("compare.js", SCRIPT, include_str!("../../page/compare.js")),
    ("density.js", SCRIPT, include_str!("../../page/density.js")),
    ("diagram.js", SCRIPT, include_str!("../../page/diagram.js")),
    ("dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("editor.js", SCRIPT, include_str!("../../page/editor.js")),
    ("enter.js", SCRIPT, include_str!("../../page/enter.js")),
    ("failover.js", SCRIPT, include_str!("../../page/failover.js")),
    ("form.js", SCRIPT, include_str!("../../page/form.js")),
    ("geometry.js", SCRIPT, include_str!("../../page/geometry.js")),
    ("icon.svg", PICTURE, include_str!("../../page/icon.svg")),
    ("lab.js", SCRIPT, include_str!("../../page/lab.js")),
    ("lessons.js", SCRIPT, include_str!("../../page/lessons.js")),
    ("live.css", STYLE, include_str!("../../page/live.css")),
    ("live.js", SCRIPT, include_str!("../../page/live.js")),
    ("menu.js", SCRIPT, include_str!("../../page/menu.js")),
    ("model.js", SCRIPT, include_str!("../../page/model.js")),
    ("network.js", SCRIPT, include_str!("../../page/network.js")),
    ("panels.js", SCRIPT, include_str!("../../page/panels.js")),
    ("player.js", SCRIPT, include_str!("../../page/player.js")),
    ("style.css", STYLE, include_str!("../../page/style.css")),
];

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

const INDEX: &str = include_str!("../../page/index.html");
const ENTER: &str = include_str!("../../page/enter.html");

pub(super) async fn index() -> Response {
    html(INDEX)
}

/// Leads a browser that has just been given its cookie to the page.
pub(super) fn enter() -> Response {
    html(ENTER)
}

fn html(content: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], content).into_response()
}

pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => ([(header::CONTENT_TYPE, *kind)], *content).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such file").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page must be quick to load, wherever it is.
    #[test]
    fn the_page_is_small_and_complete() {
        let bytes: usize = FILES.iter().map(|(.., content)| content.len()).sum::<usize>() + INDEX.len();
        assert!(bytes < 300_000, "the page has {bytes} bytes");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let on_disk = std::fs::read_dir(folder).expect("the page's folder").filter_map(Result::ok);
        for name in on_disk.map(|entry| entry.file_name().to_string_lossy().to_string()) {
            let is_page = ["index.html", "enter.html"].contains(&name.as_str());
            let is_embedded = is_page || FILES.iter().any(|(known, ..)| *known == name);
            assert!(is_embedded || name == "test", "{name} is not embedded");
        }
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        for (name, _, content) in FILES.iter().chain(&[("index.html", "", INDEX), ("enter.html", "", ENTER)]) {
            let foreign = content.match_indices("http").map(|(at, _)| &content[at..content.len().min(at + 40)]);
            for address in foreign.filter(|text| text.starts_with("http://") || text.starts_with("https://")) {
                assert!(address.starts_with("http://www.w3.org/"), "{name}: {address}");
            }
            assert!(!content.contains("innerHTML"), "{name} makes elements from text");
        }
    }
}
