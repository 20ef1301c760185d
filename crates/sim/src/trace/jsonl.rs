//! JSON lines: each line is a complete [`Record`]. Replays and other programs read this format.

use std::io::{self, Write};

use hustings_protocol::{Message, Record};

pub(super) fn write<M: Message>(records: &[Record<M>], out: &mut dyn Write) -> io::Result<()> {
    records.iter().try_for_each(|record| line(record, out))
}

pub(super) fn line<M: Message>(record: &Record<M>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::{self, Word};

    #[test]
    fn every_line_reads_back_as_the_same_record() {
        for records in [sample::ring(), sample::faults(), sample::invalid()] {
            let mut out = Vec::new();
            write(&records, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let back: Vec<Record<Word>> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(back, records);
        }
    }

    #[test]
    fn a_line_holds_the_record_and_nothing_else() {
        let mut out = Vec::new();
        line(&sample::ring()[3], &mut out).unwrap();
        let expected = concat!(
            r#"{"number":3,"tick":1,"node":0,"cause":2,"what":"handled","#,
            r#""event":{"message":{"from":1,"message":{"candidate":5}}},"peer":2,"#,
            r#""effects":[{"send":[0,{"candidate":5}]}]}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn nth_is_written_unless_it_is_zero() {
        let mut record = sample::ring().swap_remove(3);
        (record.nth, record.copy) = (2, true);
        let mut out = Vec::new();
        line(&record, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(r#""cause":2,"nth":2,"copy":true,"what""#), "{text}");
        assert_eq!(serde_json::from_str::<Record<Word>>(&text).unwrap(), record);
    }
}
