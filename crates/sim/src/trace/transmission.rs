//! Messages as diagrams draw them: from the record that sent one to the record of its arrival or loss.

use hustings_protocol::{Event, Loss, Message, Record, TraceEvent};

/// A message from its sender to its receiver.
#[derive(Debug)]
pub(super) struct Transmission<'a, M> {
    /// The sender.
    pub(super) from: u32,
    /// The tick when it was sent.
    pub(super) sent: u64,
    /// The receiver.
    pub(super) to: u32,
    /// The tick when it arrived or was lost.
    pub(super) ended: u64,
    /// The message.
    pub(super) message: &'a M,
    /// Why it was lost; `None` if it arrived.
    pub(super) lost: Option<Loss>,
}

/// The message whose arrival or loss this record describes, if it describes one and the sender is known.
///
/// The sender comes from the record's cause, not from ports: ports may have been rerouted in between.
pub(super) fn of_record<'a, M: Message>(records: &[Record<M>], record: &'a Record<M>) -> Option<Transmission<'a, M>> {
    let (peer, message, lost) = match &record.what {
        TraceEvent::Handled { event: Event::Message { message, .. } | Event::Direct { message, .. }, peer, .. } => {
            (*peer, message, None)
        }
        TraceEvent::Lost { peer, message, why } => (Some(*peer), message, Some(*why)),
        _ => return None,
    };
    let cause = record.cause.and_then(|number| find(records, number));
    let from = peer.or(cause.map(|cause| cause.node))?;
    // A message without a cause is assumed to have taken one tick.
    let sent = cause.map_or(record.tick.saturating_sub(1), |cause| cause.tick).min(record.tick);
    Some(Transmission { from, sent, to: record.node, ended: record.tick, message, lost })
}

/// The record with this number.
pub(super) fn find<M>(records: &[Record<M>], number: u64) -> Option<&Record<M>> {
    find_index(records, number).map(|index| &records[index])
}

/// The index of the record with this number; records are in ascending order.
pub(super) fn find_index<M>(records: &[Record<M>], number: u64) -> Option<usize> {
    records.binary_search_by_key(&number, |record| record.number).ok()
}
