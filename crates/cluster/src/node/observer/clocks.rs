//! Round trips to other members, and how far their clocks are apart from this node's.
//!
//! A request carries the time at which it was sent (*t1*); the response adds when the request arrived (*t2*) and when
//! the response left (*t3*), on the other clock; it arrives at *t4*. As in NTP, the round trip is (*t4* − *t1*) −
//! (*t3* − *t2*), and the other clock is ahead by ((*t2* − *t1*) + (*t3* − *t4*)) / 2, with an error of at most half
//! the round trip, whatever the delays in either direction were. Later, drift adds to the error.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hustings_protocol::Id;

use crate::clock::Timestamp;

/// The time between two requests to a peer.
const INTERVAL: Duration = Duration::from_secs(5);
/// After a connection was established, so many requests follow each other faster.
const FIRST_REQUESTS: u32 = 4;
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// How many round trips are remembered. The best one counts.
const MAX_SAMPLES: usize = 8;
/// The assumed drift between two clocks: two quartz clocks that are each wrong by 50 millionths.
const DRIFT_PPM: u64 = 100;

/// The clocks of other members.
#[derive(Default)]
pub(in crate::node) struct PeerClocks {
    peers: BTreeMap<Id, PeerState>,
    /// When the next request is due, or earlier.
    due: Option<Timestamp>,
}

#[derive(Default)]
struct PeerState {
    incarnation: u64,
    /// When to send the next request; `None` without a connection.
    next_request: Option<Timestamp>,
    requests: u32,
    /// When the last request was sent, while it is not answered.
    pending: Option<Timestamp>,
    samples: VecDeque<Sample>,
    count: u64,
}

#[derive(Clone, Copy)]
struct Sample {
    at: Timestamp,
    rtt_ns: u64,
    offset_ns: i64,
}

impl Sample {
    fn error_ns(&self, now: Timestamp) -> u64 {
        let drift = now.since(self.at).as_nanos() as u64 / 1_000_000 * DRIFT_PPM;
        (self.rtt_ns.div_ceil(2)).saturating_add(drift)
    }
}

/// What is known about the clock of a member.
pub(super) struct Estimate {
    pub(super) offset_ns: i64,
    pub(super) error_ns: u64,
    pub(super) rtt_ns: u64,
    pub(super) samples: u64,
}

impl PeerClocks {
    pub(super) fn handle_up(&mut self, peer: Id, incarnation: u64, now: Timestamp) {
        let state = self.peers.entry(peer).or_default();
        if state.incarnation != incarnation {
            // Its host may have been restarted, and its clock with it.
            *state = PeerState { incarnation, ..PeerState::default() };
        }
        (state.next_request, state.requests, state.pending) = (Some(now), 0, None);
        self.due = Some(now);
    }

    pub(super) fn handle_down(&mut self, peer: Id) {
        if let Some(state) = self.peers.get_mut(&peer) {
            (state.next_request, state.pending) = (None, None);
        }
    }

    pub(super) fn retain(&mut self, is_member: impl Fn(Id) -> bool) {
        self.peers.retain(|id, _| is_member(*id));
    }

    /// A peer that a request is due for. Cheap if there is none.
    pub(in crate::node) fn poll_request(&mut self, now: Timestamp) -> Option<Id> {
        self.due.filter(|due| *due <= now)?;
        let next = self.peers.iter().filter_map(|(id, state)| Some((state.next_request?, *id))).min();
        self.due = next.map(|(at, _)| at);
        next.filter(|(at, _)| *at <= now).map(|(_, id)| id)
    }

    /// A request was sent.
    pub(in crate::node) fn handle_sent(&mut self, peer: Id, sent: Timestamp) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        state.requests = state.requests.saturating_add(1);
        let interval = if state.requests < FIRST_REQUESTS { FIRST_INTERVAL } else { INTERVAL };
        (state.next_request, state.pending) = (Some(sent + interval), Some(sent));
    }

    /// A response arrived. One that was not asked for, or whose times make no sense, has no effect.
    pub(in crate::node) fn handle_response(&mut self, peer: Id, times: [Timestamp; 3], now: Timestamp) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        if state.pending.take_if(|sent| *sent == times[0]).is_none() {
            return;
        }
        let [sent, received, replied, arrived] = [times[0], times[1], times[2], now].map(|time| i128::from(time.0));
        let rtt = (arrived - sent) - (replied - received);
        let offset = ((received - sent) + (replied - arrived)) / 2;
        if let (Ok(rtt_ns), Ok(offset_ns), true) = (u64::try_from(rtt), i64::try_from(offset), replied >= received) {
            if state.samples.len() >= MAX_SAMPLES {
                state.samples.pop_front();
            }
            state.samples.push_back(Sample { at: now, rtt_ns, offset_ns });
            state.count += 1;
        }
    }

    /// The last round trip to a peer that is connected.
    pub(in crate::node) fn rtt_ns(&self, peer: Id) -> Option<u64> {
        let state = self.peers.get(&peer).filter(|state| state.next_request.is_some())?;
        state.samples.back().map(|sample| sample.rtt_ns)
    }

    /// What is known about the clocks, also of members that are no longer connected.
    pub(super) fn estimates(&self, now: Timestamp) -> impl Iterator<Item = (Id, Estimate)> {
        self.peers.iter().filter_map(move |(id, state)| {
            let best = state.samples.iter().min_by_key(|sample| sample.error_ns(now))?;
            let estimate = Estimate {
                offset_ns: best.offset_ns,
                error_ns: best.error_ns(now),
                rtt_ns: state.samples.back()?.rtt_ns,
                samples: state.count,
            };
            Some((*id, estimate))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Id = Id(2);

    fn ms(count: u64) -> Timestamp {
        Timestamp(count * 1_000_000)
    }

    /// Sends a request at `sent`. The peer's clock is ahead by a second; the ways take these times.
    fn exchange(clocks: &mut PeerClocks, sent: u64, there: u64, back: u64) {
        clocks.handle_sent(PEER, ms(sent));
        let received = sent + there + 1_000;
        clocks.handle_response(PEER, [ms(sent), ms(received), ms(received + 5)], ms(sent + there + 5 + back));
    }

    fn estimate(clocks: &PeerClocks, now: u64) -> (i64, u64, u64) {
        let (_, estimate) = clocks.estimates(ms(now)).next().expect("there was a round trip");
        (estimate.offset_ns / 1_000_000, estimate.error_ns / 1_000_000, estimate.rtt_ns / 1_000_000)
    }

    #[test]
    fn the_offset_is_right_within_its_error_however_uneven_the_ways_are() {
        for (there, back) in [(4, 4), (8, 0), (0, 8), (1, 7)] {
            let mut clocks = PeerClocks::default();
            clocks.handle_up(PEER, 1, ms(0));
            exchange(&mut clocks, 10, there, back);
            let (offset, error, rtt) = estimate(&clocks, 23);
            assert_eq!((error, rtt), (4, 8));
            assert!((offset - 1_000).unsigned_abs() <= error, "{offset} ± {error}");
        }
    }

    #[test]
    fn the_best_round_trip_counts_until_drift_makes_it_worse() {
        let mut clocks = PeerClocks::default();
        clocks.handle_up(PEER, 1, ms(0));
        exchange(&mut clocks, 10, 1, 1);
        exchange(&mut clocks, 100, 9, 1);
        assert_eq!(estimate(&clocks, 200), (1_000, 1, 10));
        assert_eq!(clocks.rtt_ns(PEER), Some(10_000_000));
        // 100 millionths of 100 seconds are 10 ms, as much as for the later one.
        exchange(&mut clocks, 100_000, 2, 2);
        assert_eq!(estimate(&clocks, 100_010), (1_000, 2, 4));
    }

    #[test]
    fn requests_are_frequent_at_first_and_rare_later() {
        let mut clocks = PeerClocks::default();
        assert_eq!(clocks.poll_request(ms(0)), None);
        clocks.handle_up(PEER, 1, ms(0));
        let mut sent = Vec::new();
        for now in 0..11_000 {
            if clocks.poll_request(ms(now)) == Some(PEER) {
                clocks.handle_sent(PEER, ms(now));
                sent.push(now);
            }
        }
        assert_eq!(sent, [0, 100, 200, 300, 5_300, 10_300]);
        clocks.handle_down(PEER);
        assert_eq!(clocks.poll_request(ms(60_000)), None, "nothing is sent without a connection");
    }

    #[test]
    fn responses_that_make_no_sense_have_no_effect() {
        let mut clocks = PeerClocks::default();
        clocks.handle_up(PEER, 1, ms(0));
        clocks.handle_response(PEER, [ms(5), ms(1), ms(1)], ms(6));
        for times in [[ms(10), ms(20), ms(19)], [ms(10), ms(0), ms(50)], [ms(11), ms(1), ms(1)]] {
            clocks.handle_sent(PEER, ms(10));
            clocks.handle_response(PEER, times, ms(12));
        }
        clocks.handle_sent(PEER, ms(10));
        clocks.handle_response(PEER, [ms(10), Timestamp(u64::MAX), Timestamp(u64::MAX)], ms(12));
        assert_eq!(clocks.estimates(ms(20)).count(), 0);
        clocks.handle_response(Id(9), [ms(1), ms(1), ms(1)], ms(1));
    }

    #[test]
    fn a_restarted_peer_has_another_clock() {
        let mut clocks = PeerClocks::default();
        clocks.handle_up(PEER, 1, ms(0));
        exchange(&mut clocks, 10, 1, 1);
        clocks.handle_down(PEER);
        assert_eq!((clocks.estimates(ms(20)).count(), clocks.rtt_ns(PEER)), (1, None));
        clocks.handle_up(PEER, 1, ms(30));
        assert_eq!(clocks.estimates(ms(30)).count(), 1);
        clocks.handle_up(PEER, 2, ms(40));
        assert_eq!(clocks.estimates(ms(40)).count(), 0);
        clocks.retain(|id| id != PEER);
        assert_eq!(clocks.poll_request(ms(50)), None);
    }
}
