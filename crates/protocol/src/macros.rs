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

/// Inside an implementation of [`Protocol`](crate::Protocol): every handler passes its event to one method, which takes
/// the state, the [`Event`](crate::Event) and the context. It is for protocols that treat all events alike.
#[macro_export]
macro_rules! handle_events {
    ($handle:ident) => {
        fn handle_start<C: $crate::Context<Self>>(
            &self,
            state: &mut Self::State,
            reason: $crate::StartReason,
            cx: &mut C,
        ) {
            self.$handle(state, $crate::Event::Start(reason), cx);
        }
        fn handle_message<C: $crate::Context<Self>>(
            &self,
            state: &mut Self::State,
            from: $crate::Port,
            message: Self::Message,
            cx: &mut C,
        ) {
            self.$handle(state, $crate::Event::Message { from, message }, cx);
        }
        fn handle_direct<C: $crate::Context<Self>>(
            &self,
            state: &mut Self::State,
            from: $crate::Id,
            message: Self::Message,
            cx: &mut C,
        ) {
            self.$handle(state, $crate::Event::Direct { from, message }, cx);
        }
        fn handle_unreachable<C: $crate::Context<Self>>(
            &self,
            state: &mut Self::State,
            port: $crate::Port,
            message: Self::Message,
            cx: &mut C,
        ) {
            self.$handle(state, $crate::Event::Unreachable { port, message }, cx);
        }
        fn handle_unreachable_direct<C: $crate::Context<Self>>(
            &self,
            state: &mut Self::State,
            to: $crate::Id,
            message: Self::Message,
            cx: &mut C,
        ) {
            self.$handle(state, $crate::Event::UnreachableDirect { to, message }, cx);
        }
        fn handle_timer<C: $crate::Context<Self>>(&self, state: &mut Self::State, timer: $crate::Timer, cx: &mut C) {
            self.$handle(state, $crate::Event::Timer(timer), cx);
        }
        fn handle_change<C: $crate::Context<Self>>(&self, state: &mut Self::State, change: $crate::Change, cx: &mut C) {
            self.$handle(state, $crate::Event::Change(change), cx);
        }
        fn handle_rejoin<C: $crate::Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
            self.$handle(state, $crate::Event::Rejoin, cx);
        }
        fn handle_retire<C: $crate::Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
            self.$handle(state, $crate::Event::Retire, cx);
        }
    };
}
