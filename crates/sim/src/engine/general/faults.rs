//! What faults do to a run: nodes go down and come up, links are cut and healed.

use hustings_protocol::{Protocol, TraceEvent};

use super::tick_inputs::{StartSignal, StatusChange, TickInputs};
use super::{Cause, Engine};
use crate::scenario::FaultKind;

impl<P: Protocol> Engine<'_, P> {
    pub(super) fn begin_faults(&mut self, inputs: &mut TickInputs<P::Message>) {
        while let Some(fault) = self.faults.get(self.faults_done).filter(|fault| fault.tick <= self.now) {
            let what = fault.what.clone();
            self.faults_done += 1;
            let size = self.scenario.network.size();
            match what {
                FaultKind::Crash(at) if at < size && self.accounting.is_live(at) => {
                    self.goes_down(at);
                    inputs.status_changes.push((at, StatusChange::Crashed));
                }
                FaultKind::Recover(at) if at < size && !self.accounting.is_live(at) => {
                    self.comes_up_in(at, inputs);
                    inputs.status_changes.push((at, StatusChange::Recovered));
                }
                FaultKind::Join(at) if at < size && !self.accounting.is_live(at) => {
                    self.comes_up_in(at, inputs);
                    inputs.status_changes.push((at, StatusChange::Joined));
                }
                FaultKind::Retire(at) => inputs.retiring.push(at),
                FaultKind::Cut(..) | FaultKind::Heal(..) | FaultKind::HealAll | FaultKind::Partition(_) => {
                    self.change_links(&what);
                }
                FaultKind::Crash(_) | FaultKind::Recover(_) | FaultKind::Join(_) => {}
            }
        }
    }

    pub(super) fn goes_down(&mut self, at: u32) {
        self.accounting.mark_down(at, self.now);
        self.incarnations[at as usize] += 1;
        self.retransmit_buffer.forget(at);
        if let Some(notifier) = &mut self.notifier {
            notifier.changes(self.now);
        }
    }

    pub(super) fn comes_up_in(&mut self, at: u32, inputs: &mut TickInputs<P::Message>) {
        if self.comes_up(at) {
            inputs.signals.push((at, StartSignal::Planned));
        }
    }

    /// A node comes up. Returns whether a start signal waited for it.
    pub(super) fn comes_up(&mut self, at: u32) -> bool {
        self.accounting.mark_up(at);
        self.states[at as usize] = self.protocol.init();
        if let Some(notifier) = &mut self.notifier {
            notifier.comes_up(at, self.now);
        }
        self.absent.remove(&at) == Some(true)
    }

    pub(super) fn change_links(&mut self, fault: &FaultKind) {
        let before = self.observer.is_some().then(|| self.link_faults.clone());
        self.link_faults.apply(fault, self.now);
        self.components = None;
        if let Some(notifier) = &mut self.notifier {
            notifier.changes(self.now);
        }
        let Some(before) = before else { return };
        for (at, peer) in self.link_faults.changes(&before, fault, &self.scenario.network) {
            let is_cut = self.link_faults.is_blocked(at, peer);
            self.record(at, Cause::NONE, || {
                if is_cut { TraceEvent::LinkCut { peer } } else { TraceEvent::LinkHealed { peer } }
            });
        }
    }
}
