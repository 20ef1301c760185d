//! States whose type is hidden.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A state of any type.
pub struct AnyState(Box<dyn Remembered>);

pub(super) trait Remembered: fmt::Debug + Send + Sync {
    fn twin(&self) -> Box<dyn Remembered>;
    fn is(&self, other: &dyn Remembered) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<S: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static> Remembered for S {
    fn twin(&self) -> Box<dyn Remembered> {
        Box::new(self.clone())
    }
    fn is(&self, other: &dyn Remembered) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl AnyState {
    pub(super) fn new(state: Box<dyn Remembered>) -> Self {
        AnyState(state)
    }

    pub(super) fn inner(&self) -> &dyn Remembered {
        &*self.0
    }

    pub(super) fn inner_mut(&mut self) -> &mut dyn Remembered {
        &mut *self.0
    }
}

impl Clone for AnyState {
    fn clone(&self) -> Self {
        AnyState(self.0.twin())
    }
}

impl PartialEq for AnyState {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&*other.0)
    }
}

impl Eq for AnyState {}

impl Hash for AnyState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

impl fmt::Debug for AnyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
