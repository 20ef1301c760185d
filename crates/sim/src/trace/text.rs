//! Text: a line per record with the tick, the node, the event and its effects.

use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::Names;
use super::describe::Describer;

pub(super) fn write<M: Message>(names: &Names, records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines::new(names);
    records.iter().try_for_each(|record| lines.line(record, out))
}

/// Writes line by line.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    names: &'a Names,
    describer: Describer<'a>,
    /// The width of the longest node name, which aligns the columns.
    width: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(names: &'a Names) -> Self {
        let last = names.network.size().saturating_sub(1);
        // The widest id need not be at the last position.
        let ids = names.ids.iter().max().map_or(0, |id| format!(" (id {id})").len());
        Lines { names, describer: Describer::new(names), width: format!("node {last}").len() + ids }
    }

    pub(super) fn line<M: Message>(&mut self, record: &Record<M>, out: &mut dyn Write) -> io::Result<()> {
        let (node, width) = (self.names.node(record.node), self.width);
        writeln!(out, "{:>4}  {node:<width$}  {}", record.tick, self.describer.describe(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample;

    fn text<M: Message>(names: &Names, records: &[Record<M>]) -> String {
        let mut out = Vec::new();
        write(names, records, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_election_is_readable() {
        let expected = "   0  node 0 (id 3)  starts → sends candidate 3 to 1
   0  node 1 (id 4)  starts → sends candidate 4 to 2
   0  node 2 (id 5)  starts → sends candidate 5 to 0
   1  node 0 (id 3)  candidate 5 from 2 → passes on candidate 5 to 1
   1  node 1 (id 4)  candidate 3 from 0
   1  node 2 (id 5)  candidate 4 from 1
   2  node 1 (id 4)  candidate 5 from 0 → passes on candidate 5 to 2
   3  node 2 (id 5)  candidate 5 from 1 → leads; sends elected 5 to 0
   4  node 0 (id 3)  elected 5 from 2 → follows 5; passes on elected 5 to 1
   5  node 1 (id 4)  elected 5 from 0 → follows 5; passes on elected 5 to 2
   6  node 2 (id 5)  elected 5 from 1
";
        assert_eq!(text(&sample::ring_names(), &sample::ring()), expected);
    }

    #[test]
    fn faults_and_reroutes_are_described() {
        let expected = "   0  node 1 (id 20)   crashed
   0  node 0 (id 10)   starts, draws 3 of 8 → sends probe 10 phase 2 to 1; sets timer 1 (token 4) for 2
   1  node 1 (id 20)   probe 10 phase 2 from 0 lost: the receiver is down
   2  node 0 (id 10)   probe 10 phase 2 to 1 came back → skips 1; sends wake to 2
   2  node 0 (id 10)   timer 1 (token 4) is due → sends wake to all neighbours
   3  node 2 (id 300)  wake from 0 → sends report tokens [10, 20] dirty directly to 0
   4  node 0 (id 10)   report tokens [10, 20] dirty directly from 2 → names nobody
   5  node 1 (id 20)   recovered
   5  node 0 (id 10)   link to 2 cut
   5  node 2 (id 300)  wake from 0 lost: the link is cut
   6  node 0 (id 10)   link to 2 healed
   7  node 2 (id 300)  is asked to retire
   7  node 2 (id 300)  retired
";
        assert_eq!(text(&sample::fault_names(), &sample::faults()), expected);
    }

    proptest::proptest! {
        #[test]
        fn every_record_is_one_line(records in sample::any_trace()) {
            let text = text(&sample::ring_names(), &records);
            proptest::prop_assert_eq!(text.lines().count(), records.len());
            proptest::prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
}
