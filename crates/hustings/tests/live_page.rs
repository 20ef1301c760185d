//! The page of `hustings up` in a real browser. Without one the test says `SKIPPED`.

#[path = "../../lab/tests/browser/chrome.rs"]
#[allow(dead_code, reason = "each test file uses what it needs")]
mod chrome;
#[path = "../../lab/tests/browser/readable.rs"]
mod readable;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::up::Up;
use chrome::Page;

const IS_HELD: &str = "hustings.live.state?.leader?.current && hustings.live.state.leader.holder";

fn token(page: &Page<'_>) -> u64 {
    page.eval("hustings.live.state.leader.token").as_u64().expect("a number")
}

/// Pictures for people to look at: `HUSTINGS_PICTURES=DIR`.
fn take_pictures(page: &Page<'_>, name: &str) {
    let Some(folder) = std::env::var_os("HUSTINGS_PICTURES").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).expect("a folder");
    for scheme in ["light", "dark"] {
        page.media(scheme, false);
        for (width, height) in [(1280, 720), (1920, 1080), (390, 844)] {
            page.size(width, height);
            page.eval("new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(1)), 700))");
            let file = folder.join(format!("{name}-{scheme}-{width}.png"));
            std::fs::write(file, page.picture()).expect("it is written");
        }
    }
    page.media("light", false);
    page.size(1280, 720);
}

/// Every control has a name and every text can be read, light and dark.
fn check_readable(page: &Page<'_>, what: &str) {
    for scheme in ["light", "dark"] {
        page.media(scheme, true);
        assert_eq!(readable::problems(page), json!([]), "{what}, {scheme}");
    }
    page.media("light", false);
}

/// The diagram of the last failover: it is that of the leader that is shown, and marks it.
fn check_diagram(page: &Page<'_>, former: &str) {
    page.wait("document.querySelector('.failover')?.dataset.token === String(hustings.live.state.leader.token)");
    let holder = page.eval(IS_HELD);
    let names = page.eval("[...document.querySelectorAll('.failover svg text.name')].map((name) => name.textContent)");
    assert_eq!(names, json!(["a", "b", "c", "d", "e"]), "the killed one has a lane, too");
    let holder = holder.as_str().expect("a name");
    let marks =
        page.eval("[...document.querySelectorAll('.failover svg .holds title')].map((title) => title.textContent)");
    let marks: Vec<String> = serde_json::from_value(marks).expect("texts");
    let token = token(page);
    assert!(marks.len() == 1 && marks[0].starts_with(&format!("{holder}: holds leader (token {token})")), "{marks:?}");
    let told = page.text(".failover-steps [data-held='true']");
    assert!(told.contains(&format!("★ {holder}: holds leader (token {token})")), "{told}");
    let steps = page.text(".failover-steps");
    assert!(steps.contains(&format!("connections to {former} closed")), "{steps}");
    let messages = page.eval("document.querySelectorAll('.failover svg g[stroke] > path').length");
    assert!(messages.as_u64() > Some(10), "{messages} messages");
}

#[test]
fn the_live_leader_is_killed_by_button_and_the_next_one_shown() {
    let Some(chrome) = chrome::start() else { return };
    let mut up = Up::start(&[]);
    let url = up.wait_for("page")["url"].as_str().expect("an address").to_string();
    up.wait_for("agreed");
    let page = chrome.page();
    page.media("light", false);
    page.open(&url);
    page.wait(IS_HELD);
    take_pictures(&page, "live");
    check_readable(&page, "before");
    let (former, before) = (page.eval(IS_HELD), token(&page));
    page.click("#live-kill-leader");
    page.wait(&format!(
        "({IS_HELD}) && hustings.live.state.leader.token > {before} && document.querySelector('#live-took')"
    ));
    assert!(token(&page) > before);
    assert_ne!(page.eval(IS_HELD), former);
    let former = former.as_str().expect("a name").to_string();
    page.wait(&format!("document.querySelector(\"[data-member='{former}'] .words\").textContent === 'killed'"));
    let told = page.text("#live-leader");
    assert!(told.contains("leads with token"), "{told}");
    check_diagram(&page, &former);
    check_readable(&page, "after a failover");
    take_pictures(&page, "live-failover");
    page.click(&format!("[data-member='{former}'] [data-action='revive']"));
    page.wait("hustings.live.state.control.processes.every((process) => process.condition === 'running')");
    page.wait(&format!("document.querySelector(\"[data-member='{former}']\").dataset.role === 'follower'"));
    assert_eq!(page.events("Runtime.exceptionThrown"), Vec::<Value>::new());
    let problems = page.events("Log.entryAdded");
    assert!(problems.iter().all(|entry| entry["entry"]["level"] != json!("error")), "{problems:#?}");
    let origin = url.split("/?").next().expect("an address");
    for request in page.events("Network.requestWillBeSent") {
        let asked = request["request"]["url"].as_str().unwrap_or_default();
        assert!(asked.starts_with(origin) || asked.starts_with("data:"), "{asked}");
    }
    // What the page did was told by the program, too.
    let kill = up.wait_until("the kill", |line| line["action"] == "kill");
    assert_eq!(kill["member"], former.as_str());
    up.say("quit");
    assert_eq!(up.end(), Some(0));
}
