//! A space-time diagram: a line per node, time from left to right, an arrow per message.
//!
//! The picture stands alone (no scripts, no fonts or styles from elsewhere), follows the reader's light or dark
//! preference, and tells more where the pointer rests.

mod draw;
mod layout;
mod lives;
mod style;

use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::Names;
use draw::Drawing;
use layout::Layout;

pub use layout::{MAX_ARROWS, MAX_COLUMNS, MAX_ROWS};

pub(super) fn write<M: Message>(names: &Names, records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::of(names, records);
    Drawing::of(names, records, &layout).write(out)
}

/// Text as XML takes it, inside and outside of attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use hustings_protocol::TraceEvent;

    use super::*;
    use crate::topology::{Network, Ring};
    use crate::trace::sample;

    fn svg<M: Message>(names: &Names, records: &[Record<M>]) -> String {
        let mut out = Vec::new();
        write(names, records, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Checks that every tag is closed in order and nothing unescaped is left; returns the names of all elements.
    fn elements(svg: &str) -> Vec<String> {
        let (mut open, mut all) = (Vec::new(), Vec::new());
        for (index, piece) in svg.split('<').enumerate().skip(1) {
            let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("tag {index} has no end: {piece:?}"));
            assert!(!text.contains('>'), "unescaped text {text:?}");
            for entity in tag.split('&').skip(1).chain(text.split('&').skip(1)) {
                assert!(
                    ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|name| entity.starts_with(name)),
                    "{entity}"
                );
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
                continue;
            }
            let name = tag.split([' ', '/']).next().unwrap().to_string();
            all.push(name.clone());
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?} left open");
        all
    }

    fn count(elements: &[String], name: &str) -> usize {
        elements.iter().filter(|element| *element == name).count()
    }

    #[test]
    fn pictures_are_well_formed() {
        for (names, records) in [
            (sample::ring_names(), sample::ring()),
            (sample::fault_names(), sample::faults()),
            (sample::ring_names(), sample::strange()),
            (sample::ring_names(), vec![]),
        ] {
            let elements = elements(&svg(&names, &records));
            assert_eq!(elements[0], "svg");
            assert_eq!(count(&elements, "script"), 0);
        }
    }

    #[test]
    fn every_message_is_an_arrow_that_tells_its_story() {
        let picture = svg(&sample::ring_names(), &sample::ring());
        assert_eq!(picture.matches("class=\"arrow ").count(), 8 + 2, "eight messages and two kinds in the legend");
        assert!(
            picture.contains("<title>candidate 5: node 2 (id 5), tick 0 → node 0 (id 3), tick 1</title>"),
            "{picture}"
        );
        assert!(picture.contains("<title>node 2 (id 5) leads, tick 3</title>"), "{picture}");
        assert!(
            picture.contains(">candidate</text>") && picture.contains(">elected</text>"),
            "the legend names the kinds"
        );
        assert!(!picture.contains(">probe</text>"), "the legend names no kind that does not occur");
    }

    #[test]
    fn losses_are_crosses_and_say_why() {
        let picture = svg(&sample::fault_names(), &sample::faults());
        assert_eq!(picture.matches("class=\"cross\"").count(), 2 + 1, "two losses and one in the legend");
        assert!(picture.contains(
            "probe 10 phase 2: node 0 (id 10), tick 0 → node 1 (id 20), lost at tick 1: the receiver is down"
        ));
        assert!(picture.contains("faults &amp; &lt;detours&gt;"));
    }

    #[test]
    fn a_large_run_is_bounded_and_says_so() {
        let names = Names::new("large", vec![], Network::Ring(Ring { size: 1_000_000 }));
        let records: Vec<Record<sample::Word>> = (0..50_000)
            .map(|number| Record {
                number,
                tick: number * 1_000,
                node: 0,
                cause: None,
                nth: 0,
                copy: false,
                what: TraceEvent::Recovered,
            })
            .collect();
        let picture = svg(&names, &records);
        elements(&picture);
        assert!(picture.len() < 1_000_000, "{}", picture.len());
        assert!(
            picture.contains("Shown: the first 400 of 50,000 records, the first 128 of 1,000,000 nodes."),
            "{picture}"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_trace_is_a_well_formed_picture(records in sample::any_trace()) {
            elements(&svg(&sample::ring_names(), &records));
        }
    }
}
