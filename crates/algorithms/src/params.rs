//! Parameters: a plain struct with defaults that can also be read and written by name, for the command line and the
//! docs.

use alloc::string::{String, ToString};
use core::fmt;
use core::num::NonZeroU64;

/// One parameter, described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name after `-p`.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
    /// The allowed values.
    pub allowed: &'static str,
}

/// A rejected parameter; nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParamError {
    /// There is no such parameter.
    #[error("there is no parameter `{name}`; allowed: {allowed}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names of all parameters.
        allowed: String,
    },
    /// The value is not one of those allowed.
    #[error("parameter `{name}` cannot be `{value}`; allowed: {allowed}")]
    BadValue {
        /// Which parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
}

/// The parameters of an algorithm. [`crate::params!`] implements it.
pub trait Params: Clone + Default + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The descriptions, in order.
    const DESCRIPTIONS: &'static [Parameter];
    /// A value, as the user would type it.
    fn get(&self, name: &str) -> Option<String>;
    /// Sets a value from its text.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParamError>;
}

/// A type of parameter values.
pub trait ParamValue: Sized {
    /// The allowed values.
    const ALLOWED: &'static str;
    /// Parses a value.
    fn parse(text: &str) -> Option<Self>;
    /// The text of a value.
    fn show(&self) -> String;
}

impl ParamValue for u64 {
    const ALLOWED: &'static str = "a whole number";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// A number of at least 1.
impl ParamValue for NonZeroU64 {
    const ALLOWED: &'static str = "a whole number of at least 1";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// For algorithms without parameters.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NoParams;

impl Params for NoParams {
    const DESCRIPTIONS: &'static [Parameter] = &[];
    fn get(&self, _: &str) -> Option<String> {
        None
    }
    fn set(&mut self, name: &str, _: &str) -> Result<(), ParamError> {
        Err(ParamError::Unknown {
            name: name.to_string(),
            allowed: "none, this algorithm has no parameters".to_string(),
        })
    }
}

/// Declares a parameter that is one of a few words: `choices! { /// doc
/// pub enum Choice { /// doc
/// First = "first", … } }`. The first one is the default unless the struct of parameters says otherwise.
#[macro_export]
macro_rules! choices {
    ( $(#[$meta:meta])* $vis:vis enum $name:ident {
        $(#[$first_meta:meta])* $first:ident = $first_word:literal
        $(, $(#[$variant_meta:meta])* $variant:ident = $word:literal )* $(,)?
    } ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        $vis enum $name {
            $(#[$first_meta])* #[default] $first,
            $( $(#[$variant_meta])* $variant ),*
        }

        impl $crate::ParamValue for $name {
            const ALLOWED: &'static str = concat!($first_word $(, ", ", $word)*);

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $first_word => Some($name::$first),
                    $( $word => Some($name::$variant), )*
                    _ => None,
                }
            }

            fn show(&self) -> $crate::alloc::string::String {
                match self {
                    $name::$first => $first_word.into(),
                    $( $name::$variant => $word.into(), )*
                }
            }
        }
    };
}

/// Declares a struct of parameters: `params! { /// doc
/// pub struct P { "help" name: Type = default, … } }`. A name that is no Rust name comes before the field:
/// `"help" "T" as travel: u64 = 1`.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $help:literal $($typed:literal as)? $field:ident : $type:ty = $default:expr ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        $vis struct $name { $( #[doc = $help] pub $field: $type ),+ }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default ),+ }
            }
        }

        impl $crate::Params for $name {
            const DESCRIPTIONS: &'static [$crate::Parameter] = &[ $( $crate::Parameter {
                name: $crate::param_name!($($typed)? $field),
                help: $help,
                allowed: <$type as $crate::ParamValue>::ALLOWED,
            } ),+ ];

            fn get(&self, name: &str) -> Option<$crate::alloc::string::String> {
                $( if name == $crate::param_name!($($typed)? $field) {
                    return Some($crate::ParamValue::show(&self.$field));
                } )+
                None
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::ParamError> {
                $( if name == $crate::param_name!($($typed)? $field) {
                    self.$field = $crate::ParamValue::parse(value).ok_or_else(|| $crate::ParamError::BadValue {
                        name: $crate::param_name!($($typed)? $field),
                        value: value.into(),
                        allowed: <$type as $crate::ParamValue>::ALLOWED,
                    })?;
                    return Ok(());
                } )+
                Err($crate::ParamError::Unknown {
                    name: name.into(),
                    allowed: $crate::alloc::vec![$( $crate::param_name!($($typed)? $field) ),+].join(", "),
                })
            }
        }
    };
}

/// The name under which a field of [`crate::params!`] is typed.
#[doc(hidden)]
#[macro_export]
macro_rules! param_name {
    ($typed:literal $field:ident) => {
        $typed
    };
    ($field:ident) => {
        stringify!($field)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::choices! {
        /// A way.
        enum Way {
            /// Round.
            Round = "round",
            /// Straight.
            Straight = "straight",
        }
    }

    crate::params! {
        /// Four of them.
        struct Four {
            "how far" far: u64 = 3,
            "which way" way: Way = Way::Straight,
            "how steep" "in-percent" as steep: u64 = 0,
            "how often" times: NonZeroU64 = NonZeroU64::MIN,
        }
    }

    #[test]
    fn sets_and_gets_values_and_has_defaults() {
        let mut params = Four::default();
        assert_eq!(params, Four { far: 3, way: Way::Straight, steep: 0, times: NonZeroU64::MIN });
        params.set("way", "round").unwrap();
        params.set("far", "7").unwrap();
        assert_eq!((params.get("way").as_deref(), params.get("far").as_deref()), (Some("round"), Some("7")));
        params.set("in-percent", "9").unwrap();
        assert_eq!((params.steep, params.get("in-percent").as_deref()), (9, Some("9")));
        assert_eq!(Way::default(), Way::Round);
    }

    #[test]
    fn a_rejected_value_says_why_and_changes_nothing() {
        let mut params = Four::default();
        let error = params.set("way", "back").unwrap_err();
        assert_eq!(error.to_string(), "parameter `way` cannot be `back`; allowed: round, straight");
        let error = params.set("speed", "1").unwrap_err();
        assert_eq!(error.to_string(), "there is no parameter `speed`; allowed: far, way, in-percent, times");
        assert!(params.set("far", "-1").is_err());
        let error = params.set("times", "0").unwrap_err();
        assert_eq!(error.to_string(), "parameter `times` cannot be `0`; allowed: a whole number of at least 1");
        assert_eq!(Four::DESCRIPTIONS[3].allowed, "a whole number of at least 1", "lists say the same");
        assert_eq!(params, Four::default());
    }
}
