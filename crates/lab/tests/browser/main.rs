//! The page in a real browser. Without one the tests say `SKIPPED`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what is measured or skipped is printed")]

mod checks;
mod chrome;
mod pictures;
mod readable;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use chrome::{Chrome, Page};
use hustings_elections::Catalogue;
use hustings_lab::request::Bounds;
use hustings_lab::{Lab, Listener, Options};
use hustings_sim::replay::{InspectedNode, Inspection};
use serde_json::{Value, json};

const CRETE: &str = "a=bully&ids=0,1,2,3,4,5,6,7&crash=7@0&initiators=4";

/// A laboratory that is served until it is dropped.
struct Server {
    listener_url: String,
    stop: &'static AtomicBool,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    fn start() -> Self {
        let listener = Listener::bind(Options::default()).expect("a free port");
        let listener_url = listener.url("");
        // The server's thread may outlive any borrow, and a test needs one flag.
        let stop: &'static AtomicBool = Box::leak(Box::default());
        let thread = std::thread::spawn(move || {
            listener.serve(Lab::new(Catalogue::default()), stop).expect("it serves");
        });
        Server { listener_url, stop, thread: Some(thread) }
    }

    fn url(&self, run: &str) -> String {
        format!("{}#{run}", self.listener_url)
    }

    /// The address without path and token.
    fn origin(&self) -> &str {
        self.listener_url.split("/?").next().expect("an address")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(ended.is_some_and(|ended| ended.is_ok()) || std::thread::panicking(), "the server failed");
    }
}

/// The number of messages of a kind that the page shows.
fn count(page: &Page<'_>, kind: &str) -> String {
    page.text(&format!("tr[data-kind='{kind}'] button.number"))
}

/// The page stands still at this position.
fn at(page: &Page<'_>, position: u64) {
    page.eval(&format!("hustings.lab.player.pause(), hustings.lab.player.go({position}), 1"));
    page.wait(&format!("document.querySelector('#position').textContent.startsWith('event {position} of')"));
}

#[test]
fn the_page() {
    let Some(chrome) = chrome::start() else { return };
    let server = Server::start();
    let page = chrome.page();
    page.media("light", false);
    final_counters_of_cretes_scenario(&server, &page);
    stepping_back_restores_the_former_state(&server, &page);
    let shared = a_dropped_message_and_a_recovery(&server, &page);
    a_shared_address_shows_the_same_run(&server, &chrome, &page, &shared);
    a_file_leads_to_the_page_and_no_other_site_does(&server, &chrome);
    the_keyboard_alone(&server, &page);
    lessons_comparisons_and_traces(&server, &page);
    checks::labels_and_contrast(&server, &page);
    what_is_wrong_is_shown(&server, &page);
    large_runs(&server, &page);
    checks::transfer(&server, &page);
    checks::nothing_went_wrong(&server, &page);
}

fn final_counters_of_cretes_scenario(server: &Server, page: &Page<'_>) {
    page.open(&server.url(CRETE));
    page.key("End");
    page.wait("document.querySelector('#leader').textContent === '★ Node 6 leads'");
    let counters = ["election", "ok", "coordinator", "total"].map(|kind| count(page, kind));
    assert_eq!(counters, ["6", "3", "7", "16"]);
    assert_eq!(page.text("#leader-more"), "all 7 live nodes agree");
    assert_eq!(page.eval("document.querySelectorAll('.node.leader').length"), json!(1));
    assert_eq!(page.eval("document.querySelectorAll('.node.down').length"), json!(1));
}

/// Compares what the page shows after every event, read backwards, with the engine's own states.
fn stepping_back_restores_the_former_state(server: &Server, page: &Page<'_>) {
    let finished = hustings_lab::run::run(CRETE, &Catalogue::default(), &Bounds::OWN).expect("it runs");
    let scenario = &finished.request.built.scenario;
    let (protocol, ranks) = finished.request.election.protocol(scenario);
    let mut inspection = Inspection::new(&protocol, &ranks, scenario).expect("a run");
    let states = |inspection: &Inspection<'_>| -> Value {
        let node = |at: u32| {
            let all = inspection.variables(at).into_iter().map(|(name, value)| (name, Value::String(value)));
            let InspectedNode { is_live, is_leading, leader, .. } = inspection.node(at);
            let leader = leader.map_or(-1, i64::from);
            let role = match (is_live, is_leading) {
                (false, _) => "down",
                (true, true) => "leader",
                (true, false) => "other",
            };
            json!([role, leader, Value::Object(all.collect())])
        };
        Value::Array((0..8).map(node).collect())
    };
    let mut expected = vec![states(&inspection)];
    for record in &finished.records {
        inspection.step(record.clone()).expect("a run");
        expected.push(states(&inspection));
    }
    page.open(&server.url(CRETE));
    page.key("End");
    for (position, expected) in expected.iter().enumerate().rev() {
        page.wait(&format!("hustings.lab.state.count === {position}"));
        let shown = page.eval(
            "[...document.querySelectorAll('#network .node')].map((node, at) => { \
             const role = ['down', 'leader'].find((one) => node.classList.contains(one)) ?? 'other'; \
             const { leader, vars } = hustings.lab.state.nodes[at]; return [role, leader, vars]; })",
        );
        assert_eq!(shown, *expected, "after {position} events");
        // The variables of the node that acted last are on the page itself.
        if position > 0 {
            let node = finished.records[position - 1].node as usize;
            let listed = page.eval(
                "(() => { const list = document.querySelector('#inspector dl'); const names = list.querySelectorAll('dt'); \
                 const values = list.querySelectorAll('dd'); return [Number(list.dataset.node), \
                 Object.fromEntries([...names].map((name, at) => [name.textContent, values[at].textContent]))]; })()",
            );
            assert_eq!(listed, json!([node, expected[node][2]]), "after {position} events");
        }
        page.key("ArrowLeft");
    }
}

/// Returns the address of the branch.
fn a_dropped_message_and_a_recovery(server: &Server, page: &Page<'_>) -> String {
    page.open(&server.url(CRETE));
    at(page, 2);
    // Node 4 has asked 5, 6 and 7; its question to 6 is under the pointer.
    let place = page.eval(
        "(() => { const { lab } = hustings; const flight = lab.network.flights.find(({ index }) => \
         lab.model.messages[index].o === 6); const box = document.querySelector('#network').getBoundingClientRect(); \
         return [box.x + flight.x, box.y + flight.y]; })()",
    );
    page.click_at(place[0].as_f64().expect("a place"), place[1].as_f64().expect("a place"));
    page.wait("document.querySelector('.menu')");
    assert!(page.text(".menu-title").contains("election"), "{}", page.text(".menu-title"));
    page.click(".menu button");
    page.wait("location.hash.includes('do=2:drop:0.1')");
    page.wait("!document.querySelector('#branches').hidden");
    at(page, 3);
    assert_eq!(page.text("#say"), "“election” from node 4 does not reach node 6: you dropped it.");
    page.key("End");
    page.wait("document.querySelector('#leader').textContent === '★ Node 6 leads'");
    assert_eq!(page.text("#leader-more"), "all 7 live nodes agree");
    assert_eq!(page.eval("document.querySelectorAll('.branch').length"), json!(2));
    page.wait("location.hash.endsWith(`at=${hustings.lab.model.length}`)");
    page.eval("location.hash").as_str().expect("an address").to_string()
}

fn a_shared_address_shows_the_same_run(server: &Server, chrome: &Chrome, page: &Page<'_>, shared: &str) {
    let other = chrome.page();
    other.media("light", false);
    other.open(&server.url(shared.trim_start_matches('#')));
    let shown = |page: &Page<'_>| {
        let state = "JSON.stringify([hustings.lab.state.nodes, hustings.lab.state.counts, hustings.lab.model.events])";
        (page.text("#position"), page.text("#say"), page.text("#leader"), page.eval(state))
    };
    other.wait("hustings.lab.state.count === hustings.lab.model.length");
    assert_eq!(shown(&other), shown(page));
    // Without the token nothing is shown, whatever the address.
    let stranger = chrome.page();
    stranger.call("Page.navigate", json!({ "url": format!("{}/{shared}", server.origin()) }));
    stranger.wait("document.body && document.body.textContent.includes('no-token')");
}

/// `hustings lab` opens a private file that leads to the address with the token.
fn a_file_leads_to_the_page_and_no_other_site_does(server: &Server, chrome: &Chrome) {
    let page = chrome.page();
    let follow = |url: &str| {
        let mut file = tempfile::Builder::new().suffix(".html").tempfile().expect("a file");
        let url = url.replace('&', "&amp;");
        write!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={url}\">").expect("there is room");
        page.call("Page.navigate", json!({ "url": format!("file://{}", file.path().display()) }));
        // The browser has read it when it is elsewhere.
        page.wait("location.protocol === 'http:' && document.body");
    };
    follow(&server.url("a=bully&n=5&at=3"));
    page.wait("document.documentElement.dataset.ready === 'yes'");
    assert_eq!(page.eval("location.pathname + location.search"), json!("/"), "the token is not in the address");
    assert!(page.eval("location.hash").as_str().is_some_and(|hash| hash.contains("a=bully")), "the run is");
    assert_eq!(page.eval("document.cookie"), json!(""), "nor does the page know it");
    // Another site that leads to the page shows it nothing: its server may be another one, on another port.
    follow(&format!("{}/", server.origin()));
    page.wait("document.body.textContent.includes('no-token')");
}

fn the_keyboard_alone(server: &Server, page: &Page<'_>) {
    page.open(&server.url("a=bully&n=5&at=3"));
    for _ in 0..60 {
        page.key("Tab");
        if page.eval("document.activeElement.classList.contains('node')") == json!(true) {
            break;
        }
    }
    assert_eq!(page.eval("document.activeElement.classList.contains('node')"), json!(true), "Tab reaches the nodes");
    page.key("ArrowDown");
    assert_eq!(page.eval("document.activeElement.dataset.at"), json!("1"));
    page.key("Enter");
    page.wait("document.activeElement.getAttribute('role') === 'menuitem'");
    assert_eq!(page.eval("document.activeElement.textContent"), json!("Crash"));
    page.key("Enter");
    page.wait("location.hash.includes('do=3:crash:1')");
    page.key("End");
    page.wait("document.querySelector('#leader').textContent === '★ Node 5 leads'");
    page.key("c");
    page.wait("location.hash.includes('crash:4')");
    page.wait("document.querySelector('#leader').textContent === 'Nobody leads'");
    page.key("End");
    page.wait("!document.querySelector('#notice').hidden");
    page.eval("document.querySelector('#notice').focus(), 1");
    page.key("Enter");
    page.wait("location.hash.includes('start:')");
    page.key("End");
    page.wait("document.querySelector('#leader').textContent === '★ Node 4 leads'");
    page.key("Home");
    page.wait("hustings.lab.state.count === 0");
    page.key("?");
    page.wait("document.querySelector('dialog[open]')");
    page.key("Escape");
    page.wait("!document.querySelector('dialog[open]')");
    page.key("3");
    page.wait("!document.querySelector('#view-lessons').hidden");
}

fn lessons_comparisons_and_traces(server: &Server, page: &Page<'_>) {
    page.open(&server.url("lessons"));
    assert!(page.eval("document.querySelectorAll('.card').length").as_u64() >= Some(12));
    page.click(".card[data-lesson='chang-roberts-worst']");
    page.wait(
        "!document.querySelector('#lesson').hidden && hustings.lab.model?.timeline.algorithm === 'chang-roberts'",
    );
    page.key("End");
    page.wait("document.querySelector('#leader').textContent === '★ Node 7 leads'");
    assert_eq!([count(page, "candidate"), count(page, "elected")], ["36", "8"]);
    assert!(page.text("tr[data-kind='total']").contains("44 ✓"), "the formula gives the same");
    // A trace that leaves the page comes back as the same run.
    page.eval(
        "(async () => { const body = 'a=franklin&n=4'; \
         const trace = await (await fetch('api/export/jsonl', { method: 'POST', body })).blob(); \
         const data = new DataTransfer(); data.items.add(new File([trace], 'run.jsonl')); \
         dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); })()",
    );
    page.wait("hustings.lab.model.timeline.algorithm === 'franklin' && hustings.lab.isForeign");
    for format in ["svg", "mermaid", "shiviz", "text"] {
        let asked =
            format!("fetch('api/export/{format}', {{ method: 'POST', body: 'a=bully' }}).then((a) => a.text())");
        let text = page.eval(&asked).as_str().expect("a text").to_string();
        assert!(text.len() > 200, "{format}: {text}");
    }
    page.open(&server.url("a=bully&n=6&with=bully,improved-bully"));
    page.wait("hustings.compare.shown?.length === 2");
    page.eval("hustings.compare.go(hustings.compare.end), 1");
    let totals = "[...document.querySelectorAll('.one tr.total button.number')].map((one) => one.textContent)";
    assert_eq!(page.eval(totals), json!(["35", "15"]));
    page.eval("document.querySelector('#chart-max').value = 24, hustings.compare.chart()");
    page.wait("document.querySelectorAll('.chart .point').length === 24");
    assert!(page.eval("document.querySelectorAll('.chart .formula').length").as_u64() >= Some(1));
}

fn what_is_wrong_is_shown(server: &Server, page: &Page<'_>) {
    page.open(&server.url("a=bully&n=5"));
    page.eval(
        "(() => { const box = document.querySelector('#nodes'); box.value = 9999; \
               box.dispatchEvent(new Event('change')); })()",
    );
    page.wait("document.querySelector('#problem').textContent.includes('at most 500 are allowed')");
    assert_eq!(page.eval("document.querySelector('#nodes').getAttribute('aria-invalid')"), json!("true"));
}

fn large_runs(server: &Server, page: &Page<'_>) {
    page.open(&server.url("a=chang-roberts&n=500&ids=random"));
    page.eval("hustings.lab.player.pause(), hustings.lab.player.go(0), hustings.lab.player.play(), 1");
    page.wait("hustings.lab.player.frames.length >= 120 || !hustings.lab.player.isPlaying");
    let rate = page.eval("Math.round(hustings.lab.player.fps)");
    let flying = page.eval("Math.max(...hustings.lab.network.flights.map((_, at) => at + 1), 0)");
    println!(
        "frame rate with 500 nodes, in a headless browser: {rate} frames/s, {flying} messages in flight at the end"
    );
    assert!(page.eval("hustings.lab.player.frames.length").as_u64() >= Some(2));
    page.open(&server.url("a=chang-roberts&n=100000&ids=random"));
    page.wait("hustings.lab.isDense");
    page.key("End");
    page.wait("document.querySelector('#leader').textContent.includes('leads')");
    assert!(page.text("#leader-more").contains("100000"), "{}", page.text("#leader-more"));
}
