//! Pictures of every view, for people to look at: `HUSTINGS_PICTURES=DIR cargo test -p hustings-lab --test browser`.

use std::path::PathBuf;

use super::{CRETE, Server, chrome};

/// Name, run, and what to do before the picture is taken.
const VIEWS: &[(&str, &str, &str)] = &[
    (
        "run",
        CRETE,
        "hustings.lab.player.pause(), hustings.lab.player.go(hustings.lab.model.events.findIndex((e) => e.r === 'leader') + 1), \
         hustings.lab.player.time += 0.25, hustings.lab.draw(), 1",
    ),
    ("end", CRETE, "hustings.lab.player.pause(), hustings.lab.player.go(999), 1"),
    (
        "menu",
        CRETE,
        "hustings.lab.player.pause(), hustings.lab.player.go(5), hustings.lab.nodeMenu(6, { x: 500, y: 380 }), 1",
    ),
    ("selected", "a=chang-roberts&n=8&ids=descending", "hustings.lab.player.pause(), hustings.lab.selectEvent(20), 1"),
    (
        "sun",
        "a=sun&n=16&initiators=5",
        "hustings.lab.player.pause(), hustings.lab.player.go(20), hustings.lab.player.time += 0.4, hustings.lab.draw(), 1",
    ),
    (
        "divided",
        "a=divided&n=16&initiators=5",
        "hustings.lab.player.pause(), hustings.lab.player.go(24), hustings.lab.player.time += 0.3, hustings.lab.draw(), 1",
    ),
    (
        "tree",
        "a=tree&n=15",
        "hustings.lab.player.pause(), hustings.lab.player.go(30), hustings.lab.player.time += 0.3, hustings.lab.draw(), 1",
    ),
    (
        "graph",
        "a=aefa&n=24&topology=random:3-5",
        "hustings.lab.player.pause(), hustings.lab.player.go(60), hustings.lab.player.time += 0.3, hustings.lab.draw(), 1",
    ),
    ("branches", "a=bully&n=6&do=9:crash:5;20:start:0", "hustings.lab.player.pause(), hustings.lab.player.go(26), 1"),
    (
        "lesson",
        "lesson=franklin-rounds",
        "hustings.lab.player.pause(), hustings.lab.player.go(30), hustings.lab.player.time += 0.3, hustings.lab.draw(), 1",
    ),
    ("lessons", "lessons", "1"),
    (
        "compare",
        "a=bully&n=8&with=bully,improved-bully,campaigner",
        "(async () => { hustings.compare.go(1.8); document.querySelector('#chart-max').value = 24; await hustings.compare.chart(); })()",
    ),
    ("density", "a=chang-roberts&n=20000&ids=random", "hustings.lab.player.pause(), hustings.lab.player.go(8), 1"),
    (
        "five-hundred",
        "a=chang-roberts&n=500&ids=random",
        "hustings.lab.player.pause(), hustings.lab.player.go(2000), hustings.lab.player.time += 0.3, hustings.lab.draw(), 1",
    ),
    ("wrong", "a=bully&topology=ring", "1"),
];

const SIZES: [(u32, u32); 3] = [(1280, 720), (1920, 1080), (390, 844)];

#[test]
fn pictures() {
    let Some(folder) = std::env::var_os("HUSTINGS_PICTURES").map(PathBuf::from) else { return };
    let only = std::env::var("HUSTINGS_PICTURES_OF").unwrap_or_default();
    let chrome = chrome::start().expect("pictures need a browser");
    let server = Server::start();
    let page = chrome.page();
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, run, prepare) in
        VIEWS.iter().filter(|(name, ..)| only.is_empty() || only.split(',').any(|one| one == *name))
    {
        for scheme in ["light", "dark"] {
            page.media(scheme, false);
            for (width, height) in SIZES {
                page.size(width, height);
                page.open(&server.url(run));
                page.eval(prepare);
                page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
                let file = folder.join(format!("{name}-{scheme}-{width}.png"));
                std::fs::write(file, page.picture()).expect("it is written");
            }
        }
    }
}
