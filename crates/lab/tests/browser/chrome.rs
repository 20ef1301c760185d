//! A real Chromium, driven over its DevTools protocol.
//!
//! The browser speaks the protocol on file descriptors 3 and 4 (`--remote-debugging-pipe`), so no port is opened and no
//! web socket is needed. A shell makes them of our pipes: standard input becomes 3, standard output becomes 4.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Programs that are Chromium, by name.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A browser with a profile of its own, which is deleted with it.
pub(crate) struct Chrome {
    child: Child,
    pipe: RefCell<Pipe>,
    last: Cell<u64>,
    _profile: tempfile::TempDir,
}

struct Pipe {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Events that came while an answer was awaited.
    events: Vec<Value>,
}

/// The browser, or `None` where there is none: then a test says loudly that it did not run.
#[allow(clippy::print_stderr, reason = "what is skipped is printed")]
pub(crate) fn start() -> Option<Chrome> {
    let found = PROGRAMS.into_iter().find(|name| {
        let asked = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    });
    let Some(program) = found else {
        let required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some();
        assert!(!required, "Chromium is required, and none of {PROGRAMS:?} can be started");
        eprintln!("SKIPPED: the page is not tested in a browser; `apt-get install chromium` gives one");
        return None;
    };
    let profile = tempfile::tempdir().expect("a folder for the profile");
    let mut child = Command::new("sh")
        .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", program])
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("about:blank")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let to = child.stdin.take().expect("it is piped");
    let from = BufReader::new(child.stdout.take().expect("it is piped"));
    let pipe = RefCell::new(Pipe { to, from, events: Vec::new() });
    Some(Chrome { child, pipe, last: Cell::new(0), _profile: profile })
}

impl Drop for Chrome {
    fn drop(&mut self) {
        let _ = self.call(None, "Browser.close", json!({}));
        let _ = self.child.wait();
    }
}

impl Chrome {
    /// Calls a method; an error of the protocol is an error of the test.
    fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, String> {
        let id = self.last.get() + 1;
        self.last.set(id);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut pipe = self.pipe.borrow_mut();
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        pipe.to.write_all(&bytes).and_then(|()| pipe.to.flush()).map_err(|error| error.to_string())?;
        loop {
            let mut answer = Vec::new();
            let read = pipe.from.read_until(0, &mut answer).map_err(|error| error.to_string())?;
            if read == 0 {
                return Err("the browser has ended".to_string());
            }
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
            if answer["id"] == json!(id) {
                return match answer.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(answer["result"].clone()),
                };
            }
            pipe.events.push(answer);
        }
    }

    /// Opens a page in a context of its own: no cookies, no storage of others.
    pub(crate) fn page(&self) -> Page<'_> {
        let context = self.call(None, "Target.createBrowserContext", json!({})).expect("a context");
        let target = json!({ "url": "about:blank", "browserContextId": context["browserContextId"] });
        let target = self.call(None, "Target.createTarget", target).expect("a tab");
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call(None, "Target.attachToTarget", attach).expect("a session");
        let session = session["sessionId"].as_str().expect("an id").to_string();
        let page = Page { chrome: self, session };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.size(1280, 720);
        page
    }
}

/// A tab.
pub(crate) struct Page<'a> {
    chrome: &'a Chrome,
    session: String,
}

/// How long a page may take to do something. It takes milliseconds; a busy machine takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

impl Page<'_> {
    /// Calls a method of the tab.
    pub(crate) fn call(&self, method: &str, params: Value) -> Value {
        self.chrome.call(Some(&self.session), method, params).expect("the browser does it")
    }

    /// The size of the window.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let mobile = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Light or dark, still or moving.
    pub(crate) fn media(&self, scheme: &str, still: bool) {
        let motion = if still { "reduce" } else { "no-preference" };
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": motion },
        ]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Opens an address and waits until the page has shown its run.
    pub(crate) fn open(&self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.wait("document.documentElement.dataset.ready === 'yes'");
    }

    /// The value of an expression; a promise is awaited.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// The text of an element.
    pub(crate) fn text(&self, selector: &str) -> String {
        let found = self.eval(&format!("document.querySelector({}).textContent", json!(selector)));
        found.as_str().unwrap_or_default().to_string()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        // The page answers between two of its frames, so this does not spin.
        let asked = format!("new Promise((done) => setTimeout(() => done(Boolean({expression})), 30))");
        let params = json!({ "expression": asked, "returnByValue": true, "awaitPromise": true });
        let is_true = || {
            // It is an error if the page leads to another one meanwhile.
            let result = self.chrome.call(Some(&self.session), "Runtime.evaluate", params.clone());
            let Ok(result) = result else { return false };
            assert!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
            result["result"]["value"] == json!(true)
        };
        while !is_true() {
            assert!(Instant::now() < deadline, "still not true: {expression}\n{}", self.text("body"));
        }
    }

    /// Clicks at a place, as a mouse does.
    pub(crate) fn click_at(&self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", params);
        }
    }

    /// Clicks the middle of an element.
    pub(crate) fn click(&self, selector: &str) {
        let place = self.eval(&format!(
            "(() => {{ const box = document.querySelector({}).getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        let number = |at: usize| place[at].as_f64().expect("a place");
        self.click_at(number(0), number(1));
    }

    /// Presses a key, as a keyboard does.
    pub(crate) fn key(&self, key: &str) {
        let text = match key {
            "Enter" => Some("\r"),
            " " => Some(" "),
            "Tab" => None,
            one if one.chars().count() == 1 => Some(one),
            _ => None,
        };
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut down = json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if let Some(text) = text {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up);
    }

    /// All events of this tab so far with this name.
    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        let pipe = self.chrome.pipe.borrow();
        let ours = |event: &&Value| event["method"] == json!(name) && event["sessionId"] == json!(self.session);
        pipe.events.iter().filter(ours).map(|event| event["params"].clone()).collect()
    }

    /// A picture of the window, as PNG.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        decode(shot["data"].as_str().expect("a picture"))
    }
}

/// Base 64.
fn decode(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').map(value).collect();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for four in letters.chunks(4) {
        let bits = four.iter().fold(0u32, |bits, six| bits << 6 | u32::from(*six)) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
