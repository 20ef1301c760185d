//! Writing a trace as text during the run. `TraceWriter` does the same with JSON lines.

use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::{Names, Observer, text};

/// An [`Observer`] that writes each record immediately, so that a long run needs no memory for its trace.
///
/// Observers cannot fail. After the first error nothing more is written, and [`Stream::finish`] returns that error.
#[derive(Debug)]
pub(crate) struct Stream<'a, W: Write> {
    lines: text::Lines<'a>,
    out: W,
    error: Option<io::Error>,
}

impl<'a, W: Write> Stream<'a, W> {
    /// A stream in the format [`Text`](super::Format::Text).
    pub(crate) fn new(names: &'a Names, out: W) -> Self {
        Stream { lines: text::Lines::new(names), out, error: None }
    }

    /// Flushes and returns the writer, or the first error.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }
}

impl<M: Message, W: Write> Observer<M> for Stream<'_, W> {
    fn record(&mut self, record: &Record<M>) {
        if self.error.is_none() {
            self.error = self.lines.line(record, &mut self.out).err();
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
        let mut whole = Vec::new();
        write(Format::Text, &names, &records, &mut whole).unwrap();
        let mut stream = Stream::new(&names, Vec::new());
        records.iter().for_each(|record| stream.record(record));
        assert_eq!(stream.finish().unwrap(), whole);
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
        let mut stream = Stream::new(&names, Full(100));
        sample::ring().iter().for_each(|record| stream.record(record));
        let error = stream.finish().err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::StorageFull));
    }
}
