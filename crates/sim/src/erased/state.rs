//! States with an erased type.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A state of any type.
pub struct DynState(Box<dyn AnyState>);

pub(super) trait AnyState: fmt::Debug + Send + Sync {
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

impl DynState {
    pub(super) fn new(state: Box<dyn AnyState>) -> Self {
        DynState(state)
    }

    pub(super) fn inner(&self) -> &dyn AnyState {
        &*self.0
    }

    pub(super) fn inner_mut(&mut self) -> &mut dyn AnyState {
        &mut *self.0
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
