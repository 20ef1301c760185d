//! Traces: every event with its cause.

use hustings_protocol::Record;

/// Sees every record of a run as it happens.
pub trait Observer<M> {
    /// Something happened.
    fn record(&mut self, record: &Record<M>);
}

/// Keeps every record.
impl<M: Clone> Observer<M> for Vec<Record<M>> {
    fn record(&mut self, record: &Record<M>) {
        self.push(record.clone());
    }
}
