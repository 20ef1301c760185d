//! Numbers for the node states and messages of a protocol.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use ahash::RandomState;

/// Values and their numbers, in the order in which the values were first seen.
pub(crate) struct Interner<T> {
    pub(crate) by_number: Vec<Arc<T>>,
    pub(crate) numbers: HashMap<Arc<T>, u32, RandomState>,
    /// The least and the greatest round in each value.
    pub(crate) rounds: Vec<Option<(u32, u32)>>,
    /// The number of a value after a subtraction from its rounds.
    pub(crate) lowered: HashMap<(u32, u32), u32, RandomState>,
}

/// Fixed keys, so that every run iterates and hashes alike.
pub(crate) fn fixed_hasher() -> RandomState {
    RandomState::with_seeds(5, 6, 7, 8)
}

impl<T: Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner {
            by_number: Vec::new(),
            numbers: HashMap::with_hasher(fixed_hasher()),
            rounds: Vec::new(),
            lowered: HashMap::with_hasher(fixed_hasher()),
        }
    }

    pub(crate) fn number(&mut self, value: T, rounds: impl FnOnce(&T) -> Option<(u32, u32)>) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.by_number.len() as u32;
        self.rounds.push(rounds(&value));
        let value = Arc::new(value);
        self.by_number.push(Arc::clone(&value));
        self.numbers.insert(value, number);
        number
    }
}
