//! The page of `hustings up`: the same as `hustings lab`, with the cluster and control of its processes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hustings_elections::Catalogue;
use hustings_harness::live::{Condition, Event, Live, Order};
use hustings_lab::live::{Control, ControlView, LiveNode, Monitor, ProcessView};
use hustings_lab::{Lab, Listener, Options};

use super::Input;
use crate::cli::failure::Failure;

/// How many events the page shows.
const MAX_STORY: usize = 200;
/// How long an order from the page may take.
const ORDER_TIMEOUT: Duration = Duration::from_secs(20);

/// A page that is served until it is dropped.
pub(super) struct Page {
    pub(super) url: String,
    view: Arc<Mutex<ControlView>>,
    story: VecDeque<serde_json::Value>,
    told: usize,
    monitor: Arc<Monitor>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    /// Serves the page. Orders that it gives arrive as [`Input::Order`].
    pub(super) fn serve(
        listen: SocketAddr,
        catalogue: &Catalogue,
        live: &Live,
        inputs: Sender<Input>,
    ) -> Result<Page, Failure> {
        let could_not = |error| Failure::Serve { address: listen.to_string(), error };
        let listener = Listener::bind(Options { listen, ..Options::default() }).map_err(could_not)?;
        let url = listener.url("live");
        let cluster = live.cluster();
        let node = |node| LiveNode { name: cluster.name(node).to_string(), socket: cluster.socket(node) };
        let view = Arc::new(Mutex::new(ControlView::default()));
        let control = PageControl { inputs, view: Arc::clone(&view) };
        let monitor = Monitor::start((0..cluster.size()).map(node).collect(), Some(Arc::new(control)));
        let mut lab = Lab::new(catalogue.clone());
        lab.show_cluster(Arc::clone(&monitor));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            // Without the page the story is still told, and the browser says that nobody answers.
            let _ = listener.serve(lab, &stopped);
        });
        Ok(Page { url, view, story: VecDeque::new(), told: 0, monitor, stop, thread: Some(thread) })
    }

    /// Shows what happened.
    pub(super) fn update(&mut self, events: &[Event], live: &Live) {
        self.story.extend(events.iter().map(Event::to_json));
        self.told += events.len();
        while self.story.len() > MAX_STORY {
            self.story.pop_front();
        }
        let processes = live.story().members().map(|(name, condition, cut, pid)| {
            let condition = match condition {
                Condition::Running => "running",
                Condition::Frozen => "frozen",
                Condition::Killed => "killed",
                Condition::Ended => "ended",
            };
            ProcessView { name: name.to_string(), condition, cut, pid }
        });
        *lock(&self.view) = ControlView {
            processes: processes.collect(),
            story: self.story.iter().cloned().collect(),
            story_skipped: self.told - self.story.len(),
        };
        self.monitor.notify();
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panic of the server has been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Passes orders of the page on to the thread that owns the processes.
struct PageControl {
    inputs: Sender<Input>,
    view: Arc<Mutex<ControlView>>,
}

impl Control for PageControl {
    fn act(&self, order: &str) -> Result<(), String> {
        let order: Order = order.parse().map_err(|error: hustings_harness::live::ParseOrderError| error.to_string())?;
        let (reply, answer) = channel();
        let ending = || "`hustings up` is about to end".to_string();
        self.inputs.send(Input::Order(order, reply)).map_err(|_| ending())?;
        answer.recv_timeout(ORDER_TIMEOUT).unwrap_or_else(|_| Err(ending()))
    }

    fn view(&self) -> ControlView {
        lock(&self.view).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
