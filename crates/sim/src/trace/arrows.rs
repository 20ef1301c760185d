//! Messages as diagrams draw them: from the record that sent it to the record that tells its fate.

use hustings_protocol::{Event, Loss, Message, Record, TraceEvent};

/// One message on its way.
#[derive(Debug)]
pub(super) struct Arrow<'a, M> {
    /// Who sent it.
    pub(super) from: u32,
    /// When.
    pub(super) sent: u64,
    /// For whom it was.
    pub(super) to: u32,
    /// When it came or was lost.
    pub(super) ended: u64,
    /// What it says.
    pub(super) message: &'a M,
    /// Why it did not arrive, if it did not.
    pub(super) lost: Option<Loss>,
}

/// The message whose arrival or loss a record tells, if it tells one and says who sent it.
///
/// Where a send went is not worked out again from ports: the cause says it, whatever detours there were.
pub(super) fn arrow<'a, M: Message>(records: &[Record<M>], record: &'a Record<M>) -> Option<Arrow<'a, M>> {
    let (peer, message, lost) = match &record.what {
        TraceEvent::Handled { event: Event::Message { message, .. } | Event::Direct { message, .. }, peer, .. } => {
            (*peer, message, None)
        }
        TraceEvent::Lost { peer, message, why } => (Some(*peer), message, Some(*why)),
        _ => return None,
    };
    let cause = record.cause.and_then(|number| find(records, number));
    let from = peer.or(cause.map(|cause| cause.node))?;
    // Without its cause a message is taken to have travelled one tick.
    let sent = cause.map_or(record.tick.saturating_sub(1), |cause| cause.tick).min(record.tick);
    Some(Arrow { from, sent, to: record.node, ended: record.tick, message, lost })
}

/// The record of this number.
pub(super) fn find<M>(records: &[Record<M>], number: u64) -> Option<&Record<M>> {
    find_index(records, number).map(|index| &records[index])
}

/// Where the record of this number is; records are numbered upwards.
pub(super) fn find_index<M>(records: &[Record<M>], number: u64) -> Option<usize> {
    records.binary_search_by_key(&number, |record| record.number).ok()
}
