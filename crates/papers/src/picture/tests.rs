use super::route::Course;
use super::*;

fn message(tick: u64, from: u32, kind: &str, to: u32) -> PictureMessage {
    PictureMessage { tick, from, to, kind: kind.to_string() }
}

fn picture(shape: Shape, size: u32, levels: (u32, u32), messages: Vec<PictureMessage>) -> Picture {
    let letters = [("ok", "o"), ("election", "e"), ("coordinator", "C")];
    Picture {
        shape,
        size,
        names: (0..size).map(|at| at.to_string()).collect(),
        down: Vec::new(),
        levels,
        messages,
        spec: PictureSpec {
            shape,
            numbers: Numbering::Ticks,
            letters: letters.map(|(kind, letter)| (kind.to_string(), letter.to_string())).to_vec(),
        },
    }
}

#[test]
fn messages_along_one_way_are_one_arrow_with_their_numbers() {
    let sent = vec![message(0, 0, "election", 1), message(1, 1, "election", 2), message(8, 0, "coordinator", 1)];
    let arrows = picture(Shape::Ring, 8, (0, 1), sent).arrows();
    let labels = |index: usize| -> Vec<&str> { arrows[index].labels.iter().map(|label| label.text.as_str()).collect() };
    assert_eq!((arrows.len(), labels(0), labels(1)), (2, vec!["1e", "9C"], vec!["2e"]));
    assert_eq!(arrows[0].course, Course::Clockwise(0));
}

#[test]
fn steps_are_counted_by_kind_within_a_tick() {
    let sent = vec![message(0, 0, "election", 1), message(1, 1, "election", 2), message(1, 1, "ok", 0)];
    let mut bully = picture(Shape::Complete, 3, (0, 1), sent);
    bully.spec.numbers = Numbering::Steps;
    let labels: Vec<String> = bully.labels().into_iter().map(|label| label.text).collect();
    assert_eq!(labels, ["1e", "3e", "2o"]);
    let legend: Vec<String> = bully.legend().into_iter().map(|(_, entry)| entry).collect();
    assert_eq!(legend, ["1: election", "2: ok", "3: election"]);
}

#[test]
fn upper_rings_carry_the_hops_between_their_nodes() {
    let sun = picture(Shape::Sun, 64, (4, 3), Vec::new());
    assert_eq!([0, 1, 4, 16, 20, 48].map(|at| sun.level(at)), [3, 1, 2, 3, 2, 3]);
    assert_eq!(sun.ring_of(0, 16), 3);
    assert_eq!(sun.ring_of(0, 4), 2);
    assert_eq!(sun.ring_of(0, 1), 1);
    // From the last segment back to the top point.
    assert_eq!((sun.ring_of(60, 0), sun.ring_of(63, 0)), (2, 1));
}

#[test]
fn skipped_nodes_and_spokes_have_courses_of_their_own() {
    let sent = vec![message(0, 0, "election", 2), message(0, 0, "crash", 8), message(0, 1, "reply", 5)];
    let mut ring = picture(Shape::Informer, 8, (0, 1), sent);
    ring.down = vec![1];
    let courses: Vec<Course> = ring.arrows().into_iter().map(|arrow| arrow.course).collect();
    assert_eq!(courses, [Course::Clockwise(0), Course::Spoke, Course::Chord]);
}

#[test]
fn the_picture_is_well_formed_and_names_every_node() {
    let sent = vec![message(0, 0, "election", 1), message(0, 0, "election", 4), message(3, 60, "coordinator", 0)];
    for shape in [Shape::Ring, Shape::Sun, Shape::Informer, Shape::SunInformer, Shape::Complete] {
        let svg = draw(&picture(shape, 64, (4, 2), sent.clone()), "x");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{shape:?}");
        for part in [">63</text>", ">1e</tspan>", "id=\"x-head-0\"", "e: election", "C: coordinator"] {
            assert!(svg.contains(part), "{shape:?}: no {part}");
        }
        assert!(!svg.contains("NaN"), "{shape:?}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
