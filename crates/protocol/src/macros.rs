/// Names the kinds of a message enum: `kinds!(Message<R>: Candidate = "candidate", Elected = "elected");` implements
/// [`Message`](crate::Message) for it. Variants may have any shape, and each variant is a kind of its own. Periodic
/// kinds are listed after a semicolon: `kinds!(Message: Call = "call", Beacon = "beacon"; periodic Beacon);`.
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
