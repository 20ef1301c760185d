//! States with an erased type, for drivers that are compiled once for all protocols.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt;
use core::hash::{Hash, Hasher};

/// A state of any type.
pub struct DynState(Box<dyn AnyState>);

trait AnyState: fmt::Debug + Send + Sync {
    fn clone_dyn(&self) -> Box<dyn AnyState>;
    fn eq_dyn(&self, other: &dyn AnyState) -> bool;
    fn hash_dyn(&self, hasher: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<S: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static> AnyState for S {
    fn clone_dyn(&self) -> Box<dyn AnyState> {
        Box::new(self.clone())
    }
    fn eq_dyn(&self, other: &dyn AnyState) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
    fn hash_dyn(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Why a state has the type that a protocol expects.
const OWN_STATE: &str = "a state was made by the protocol that it is given to";

impl DynState {
    /// Erases the type of a state.
    pub fn new<S: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static>(state: S) -> Self {
        DynState(Box::new(state))
    }

    /// The state itself.
    ///
    /// # Panics
    /// If it has another type.
    #[inline]
    pub fn typed<S: 'static>(&self) -> &S {
        self.0.as_any().downcast_ref().expect(OWN_STATE)
    }

    /// The state itself, to be changed.
    ///
    /// # Panics
    /// If it has another type.
    #[inline]
    pub fn typed_mut<S: 'static>(&mut self) -> &mut S {
        self.0.as_any_mut().downcast_mut().expect(OWN_STATE)
    }
}

impl Clone for DynState {
    fn clone(&self) -> Self {
        DynState(self.0.clone_dyn())
    }
}

impl PartialEq for DynState {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_dyn(&*other.0)
    }
}

impl Eq for DynState {}

impl Hash for DynState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_dyn(state);
    }
}

impl fmt::Debug for DynState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn states_are_compared_by_type_and_value() {
        let mut state = DynState::new(7u8);
        let copy = state.clone();
        assert_eq!(state, copy);
        *state.typed_mut::<u8>() += 1;
        assert_ne!(state, copy);
        assert_ne!(copy, DynState::new(7u16));
        assert_eq!((*state.typed::<u8>(), format!("{copy:?}").as_str()), (8, "7"));
    }

    #[test]
    #[should_panic(expected = "made by the protocol that it is given to")]
    fn a_state_is_not_taken_for_another() {
        DynState::new(7u8).typed::<u16>();
    }
}
