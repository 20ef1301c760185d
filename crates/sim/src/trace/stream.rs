//! Writing a trace during the run.

use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::{Names, Observer, jsonl, text};

/// An [`Observer`] that writes each record immediately, so that a long run needs no memory for its trace.
///
/// Observers cannot fail. After the first error nothing more is written, and [`Stream::finish`] returns that error.
#[derive(Debug)]
pub struct Stream<'a, W: Write> {
    lines: Lines<'a>,
    out: W,
    error: Option<io::Error>,
}

#[derive(Debug)]
enum Lines<'a> {
    Text(text::Lines<'a>),
    Jsonl,
}

impl<'a, W: Write> Stream<'a, W> {
    /// Writes [`Format::Text`](super::Format::Text).
    pub fn text(names: &'a Names, out: W) -> Self {
        Stream { lines: Lines::Text(text::Lines::new(names)), out, error: None }
    }

    /// Writes [`Format::Jsonl`](super::Format::Jsonl).
    pub fn jsonl(out: W) -> Self {
        Stream { lines: Lines::Jsonl, out, error: None }
    }

    /// Flushes and returns the writer, or the first error.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }
}

impl<M: Message, W: Write> Observer<M> for Stream<'_, W> {
    fn record(&mut self, record: &Record<M>) {
        if self.error.is_none() {
            let written = match &mut self.lines {
                Lines::Text(lines) => lines.line(record, &mut self.out),
                Lines::Jsonl => jsonl::line(record, &mut self.out),
            };
            self.error = written.err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Format, sample, write};

    #[test]
    fn a_stream_writes_the_same_as_a_whole_trace() {
        let (names, records) = (sample::ring_names(), sample::ring());
        for format in [Format::Text, Format::Jsonl] {
            let mut whole = Vec::new();
            write(format, &names, &records, &mut whole).unwrap();
            let mut stream = match format {
                Format::Text => Stream::text(&names, Vec::new()),
                _ => Stream::jsonl(Vec::new()),
            };
            records.iter().for_each(|record| stream.record(record));
            assert_eq!(stream.finish().unwrap(), whole, "{format}");
        }
    }

    /// A writer that accepts a few bytes, then fails.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn finish_returns_the_first_error() {
        let names = sample::ring_names();
        let mut stream = Stream::text(&names, Full(100));
        sample::ring().iter().for_each(|record| stream.record(record));
        let error = stream.finish().err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::StorageFull));
    }
}
