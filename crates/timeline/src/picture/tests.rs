//! What a picture shows, read from its text.

use hustings_cluster::api::TracedMessage;

use super::*;
use crate::{NodeClock, TimelineEvent};

const MS: i64 = 1_000_000;

fn message(peer: &str, kind: &str) -> TracedMessage {
    let (peer, kind) = (peer.to_string(), kind.to_string());
    TracedMessage { peer, kind, stream: 1, number: 1, bytes: 9, office: None, term: Some(4), token: None }
}

fn event(at_ns: i64, node: usize, cause: Option<usize>, event: TraceEvent) -> TimelineEvent {
    TimelineEvent { at_ns, node, cause, contradiction_ns: 0, event }
}

/// `a` has no trace: its last message reaches `b`. `b` asks `c`, which answers; `b` writes to `a` in vain, and holds.
fn timeline() -> Timeline {
    let node = |name: &str| NodeClock { node: name.to_string(), offset_ns: 0, error_ns: 0 };
    Timeline {
        cluster: "shop".to_string(),
        nodes: vec![node("b"), node("c")],
        events: vec![
            event(10 * MS, 0, None, TraceEvent::Received(message("a", "raft-append"))),
            event(11 * MS, 0, None, TraceEvent::Disconnected { peer: "a".to_string(), reason: "<reset>".to_string() }),
            event(12 * MS, 0, None, TraceEvent::Sent(message("c", "raft-vote-request"))),
            event(13 * MS, 1, Some(2), TraceEvent::Received(message("b", "raft-vote-request"))),
            event(14 * MS, 0, None, TraceEvent::Sent(message("a", "raft-vote-request"))),
            event(300 * MS, 0, None, TraceEvent::Held { office: "leader".to_string(), token: 9 }),
        ],
    }
}

fn picture(timeline: &Timeline) -> Picture<'_> {
    let mut picture = Picture::new(timeline);
    picture.lanes = vec!["a", "b", "c"];
    picture.zero_ns = 10 * MS;
    picture.marks =
        vec![Mark { node: "a", at_ns: 10 * MS, kind: MarkKind::Gone, label: "last message from a".to_string() }];
    picture
}

#[test]
fn a_node_without_a_trace_has_a_line_that_ends() {
    let timeline = timeline();
    let svg = picture(&timeline).to_svg();
    let names: Vec<&str> = svg.lines().filter(|line| line.contains("class=\"name\"")).collect();
    assert_eq!(names.len(), 3, "{svg}");
    assert_eq!(svg.matches("class=\"lane\"").count(), 4, "that of a is dashed after its last message: {svg}");
    assert_eq!(svg.matches("<title>a: last message from a, at 0.000 ms</title>").count(), 1, "{svg}");
    // It held the office until then, and b does at the end.
    assert_eq!(svg.matches("class=\"held\"").count(), 2, "{svg}");
    assert!(svg.contains("class=\"mark holds\""), "{svg}");
    assert!(svg.contains("<title>b: holds leader (token 9), at 290.000 ms</title>"), "{svg}");
}

#[test]
fn a_node_that_is_cut_off_holds_until_its_own_trace_says_otherwise() {
    let mut timeline = timeline();
    timeline.nodes.push(NodeClock { node: "a".to_string(), offset_ns: 0, error_ns: 0 });
    let lost = TraceEvent::Lost { office: "leader".to_string(), token: 6 };
    timeline.events.insert(5, event(200 * MS, 2, None, lost));
    let picture = picture(&timeline);
    let drawing = Drawing::new(&picture);
    let terms = marks::terms(&drawing.marks, drawing.left, 900.0);
    assert_eq!(terms, [(0, drawing.left, drawing.x[5]), (1, drawing.x[6], 900.0)]);
    assert_eq!(picture.to_svg().matches("class=\"lane\"").count(), 3, "no line is dashed");
}

#[test]
fn messages_are_drawn_once_with_their_times() {
    let timeline = timeline();
    let svg = picture(&timeline).to_svg();
    for title in [
        "raft-append from a to b (term 4), 9 bytes, arrived at 0.000 ms",
        "raft-vote-request from b to c (term 4), 9 bytes, sent at 2.000 ms, arrived at 3.000 ms",
        "raft-vote-request from b to a (term 4), 9 bytes, sent at 4.000 ms",
    ] {
        assert_eq!(svg.matches(&format!("<title>{title}</title>")).count(), 1, "{title}: {svg}");
    }
    assert_eq!(svg.matches("<title>raft-").count(), 3, "{svg}");
    assert_eq!(svg.matches("stroke-dasharray=\"2 4\"").count(), 2, "only one has both ends: {svg}");
    assert_eq!(svg.matches("class=\"k0\"").count(), 2, "its messages and its entry in the legend: {svg}");
}

#[test]
fn texts_are_escaped_and_nothing_is_outside() {
    let timeline = timeline();
    let mut picture = picture(&timeline);
    picture.notes.push("a & b".to_string());
    let svg = picture.to_svg();
    assert!(svg.contains("closed: &lt;reset&gt;") && svg.contains("a &amp; b") && !svg.contains("<reset>"), "{svg}");
    let number = |text: &str, name: &str| -> Vec<f64> {
        let name = format!(" {name}=\"");
        let parts = text.split(&name).skip(1);
        parts.map(|part| part.split('"').next().expect("it ends").parse().expect("a number")).collect()
    };
    let (width, height) = (number(&svg, "width")[0], number(&svg, "height")[0]);
    assert!(number(&svg, "x").iter().all(|x| (0.0..=width).contains(x)), "{svg}");
    assert!(number(&svg, "y").iter().all(|y| (0.0..=height).contains(y)), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn a_time_is_between_its_neighbours_and_long_pauses_are_shortened() {
    let timeline = timeline();
    let picture = picture(&timeline);
    let drawing = Drawing::new(&picture);
    assert!(drawing.x.is_sorted());
    let x = |at| drawing.x_at(at);
    assert_eq!((x(12 * MS), x(13 * MS)), (drawing.x[2], drawing.x[3]));
    assert!(x(12 * MS) < x(12 * MS + MS / 2) && x(12 * MS + MS / 2) < x(13 * MS));
    assert!(x(5 * MS) <= x(10 * MS) && x(400 * MS) == x(300 * MS));
    assert!((x(300 * MS) - x(14 * MS) - MAX_STEP).abs() < 0.01);
}

#[test]
fn a_picture_fits_a_width_if_it_can() {
    let mut timeline = timeline();
    let more = (0..100).map(|place| event((301 + place) * MS, 1, None, TraceEvent::Sent(message("b", "claims"))));
    timeline.events.extend(more);
    let mut picture = picture(&timeline);
    let width = |picture: &Picture<'_>| Drawing::new(picture).width();
    assert!(width(&picture) > 1_000.0);
    picture.fit_width = Some(700.0);
    assert!((width(&picture) - 700.0).abs() < 0.01, "{}", width(&picture));
    picture.fit_width = Some(100.0);
    assert!(width(&picture) > 300.0, "it is still readable");
}

#[test]
fn a_mark_before_all_records_has_room() {
    let timeline = timeline();
    let mut picture = picture(&timeline);
    picture.marks[0].at_ns = 5 * MS;
    let drawing = Drawing::new(&picture);
    assert_eq!(drawing.x_at(5 * MS), drawing.left + STUB);
    assert!((drawing.x[0] - drawing.x_at(5 * MS) - 5.0 * MILLISECOND).abs() < 0.01);
}

#[test]
fn an_empty_timeline_has_a_picture() {
    let empty = Timeline { events: Vec::new(), ..timeline() };
    let svg = Picture::new(&empty).to_svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
}
