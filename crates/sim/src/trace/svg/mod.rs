//! A space-time diagram: a line per node, time from left to right, an arrow per message.
//!
//! The file is self-contained (no scripts, no external fonts or styles), follows the reader's light or dark
//! preference, and shows details as tooltips.

mod draw;
mod layout;
mod style;
mod timeline;

use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::Names;
use draw::Drawing;
use layout::Layout;

pub(super) fn write<M: Message>(names: &Names, records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::of(names, records);
    Drawing::of(names, records, &layout).write(out)
}

#[cfg(test)]
mod tests {
    use hustings_protocol::TraceEvent;

    use super::*;
    use crate::topology::Network;
    use crate::trace::sample;

    fn svg<M: Message>(names: &Names, records: &[Record<M>]) -> String {
        let mut out = Vec::new();
        write(names, records, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Checks that every tag is closed in order and everything is escaped; returns the names of all elements.
    fn elements(svg: &str) -> Vec<String> {
        let (mut open, mut all) = (Vec::new(), Vec::new());
        for (index, piece) in svg.split('<').enumerate().skip(1) {
            let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("tag {index} has no end: {piece:?}"));
            assert!(!text.contains('>'), "unescaped text {text:?}");
            for entity in tag.split('&').skip(1).chain(text.split('&').skip(1)) {
                assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|name| entity.starts_with(name)), "{entity}");
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
    fn diagrams_are_well_formed() {
        for (names, records) in [
            (sample::ring_names(), sample::ring()),
            (sample::fault_names(), sample::faults()),
            (sample::ring_names(), sample::invalid()),
            (sample::ring_names(), vec![]),
        ] {
            let elements = elements(&svg(&names, &records));
            assert_eq!(elements[0], "svg");
            assert_eq!(count(&elements, "script"), 0);
        }
    }

    #[test]
    fn every_message_is_an_arrow_with_a_tooltip() {
        let diagram = svg(&sample::ring_names(), &sample::ring());
        assert_eq!(diagram.matches("class=\"arrow ").count(), 8 + 2, "eight messages and two kinds in the legend");
        assert!(
            diagram.contains("<title>candidate 5: node 2 (id 5), tick 0 → node 0 (id 3), tick 1</title>"),
            "{diagram}"
        );
        assert!(diagram.contains("<title>node 2 (id 5) leads, tick 3</title>"), "{diagram}");
        assert!(
            diagram.contains(">candidate</text>") && diagram.contains(">elected</text>"),
            "the legend names the kinds"
        );
        assert!(!diagram.contains(">probe</text>"), "the legend names no kind that does not occur");
    }

    #[test]
    fn losses_are_crosses_with_the_reason() {
        let diagram = svg(&sample::fault_names(), &sample::faults());
        assert_eq!(diagram.matches("class=\"cross\"").count(), 2 + 1, "two losses and one in the legend");
        assert!(diagram.contains(
            "probe 10 phase 2: node 0 (id 10), tick 0 → node 1 (id 20), lost at tick 1: the receiver is down"
        ));
        assert!(diagram.contains("faults &amp; &lt;detours&gt;"));
    }

    #[test]
    fn a_large_diagram_is_cut_with_a_note() {
        let names = Names::new("large", vec![], Network::Ring(1_000_000));
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
        let diagram = svg(&names, &records);
        elements(&diagram);
        assert!(diagram.len() < 1_000_000, "{}", diagram.len());
        assert!(
            diagram.contains("Shown: the first 400 of 50,000 records, the first 128 of 1,000,000 nodes."),
            "{diagram}"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_trace_gives_a_well_formed_diagram(records in sample::any_trace()) {
            elements(&svg(&sample::ring_names(), &records));
        }
    }
}
