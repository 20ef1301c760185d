/// Names the kinds of a message enum: `kinds!(Message<R>: Candidate = "candidate", Elected = "elected");` implements
/// [`Message`](crate::Message) for it. Variants of any shape will do; two variants may share a kind only by being one.
/// Kinds that never end are listed behind a semicolon: `kinds!(Message: Call = "call", Beacon = "beacon"; periodic
/// Beacon);`.
#[macro_export]
macro_rules! kinds {
    ($name:ident $(<$rank:ident>)? : $( $variant:ident = $kind:literal ),+ $(,)? $(; periodic $($again:ident),+)? ) => {
        impl $(<$rank: $crate::Rank>)? $crate::Message for $name $(<$rank>)? {
            const KINDS: &'static [&'static str] = &[$($kind),+];

            #[inline(always)]
            fn kind(&self) -> usize {
                #[allow(clippy::enum_variant_names)]
                enum Index { $($variant),+ }
                match self {
                    $( Self::$variant { .. } => Index::$variant as usize, )+
                }
            }

            $(
                #[inline(always)]
                fn is_periodic(&self) -> bool {
                    matches!(self, $(Self::$again { .. })|+)
                }
            )?
        }
    };
}
