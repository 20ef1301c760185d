//! The options that describe an election, for `sim` and `check`.

use std::marker::PhantomData;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use hustings_sim::simulate::{ElectionSpec, Field};

use super::flags::{FLAGS, Takes, option};

/// A command, and the fields that its options set.
pub(crate) trait Fields {
    /// Whether the command has an option for the field.
    fn has(field: Field) -> bool;
}

/// `sim` has an option for every field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimFields;

impl Fields for SimFields {
    fn has(_: Field) -> bool {
        true
    }
}

/// `check` explores all delays and faults, and has its own forms of `--ids` and `--initiators`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckFields;

impl Fields for CheckFields {
    fn has(field: Field) -> bool {
        matches!(
            field,
            Field::Nodes
                | Field::Values
                | Field::Votes
                | Field::Cheats
                | Field::Best
                | Field::Topology
                | Field::Params
                | Field::Runs
        )
    }
}

/// The election that the options of a command describe.
#[derive(Clone, Debug)]
pub(crate) struct ElectionArgs<C> {
    /// The election.
    pub(crate) spec: ElectionSpec,
    /// The algorithm's parameters, as `name=value`.
    pub(crate) params: Vec<String>,
    /// The options as typed, for commands that repeat them.
    given: Vec<(Field, String)>,
    command: PhantomData<C>,
}

impl<C> ElectionArgs<C> {
    /// Whether the options leave everything at its default.
    pub(crate) fn is_default(&self) -> bool {
        self.spec == ElectionSpec::default() && self.params.is_empty()
    }

    /// The fields that were given, as typed.
    pub(crate) fn given(&self) -> &[(Field, String)] {
        &self.given
    }

    /// The options as they would be typed, except for these fields.
    pub(crate) fn typed_without(&self, fields: &[Field]) -> Vec<String> {
        let mut words = Vec::new();
        for flag in FLAGS.iter().filter(|flag| !fields.contains(&flag.field)) {
            for (_, text) in self.given.iter().filter(|(field, _)| *field == flag.field) {
                words.push(option(flag.field));
                if flag.takes != Takes::Switch {
                    words.push(text.clone());
                }
            }
        }
        words
    }

    /// Takes the size, the topology and the parameters from `other`, unless the options give a size.
    pub(crate) fn default_size_from(&mut self, other: &Self, has_id_list: bool) {
        if self.spec.nodes.is_some() || self.spec.topology.is_some() || self.spec.values.is_some() || has_id_list {
            return;
        }
        self.spec.nodes = other.spec.nodes;
        self.spec.topology.clone_from(&other.spec.topology);
        let keeps_params = !self.params.is_empty();
        if !keeps_params {
            self.params.clone_from(&other.params);
        }
        let taken = |field: Field| match field {
            Field::Nodes | Field::Topology => true,
            Field::Params => !keeps_params,
            _ => false,
        };
        self.given.extend(other.given.iter().filter(|(field, _)| taken(*field)).cloned());
    }
}

impl<C: Fields> Args for ElectionArgs<C> {
    fn augment_args(command: Command) -> Command {
        let flags = FLAGS.iter().filter(|flag| C::has(flag.field));
        flags.fold(command, |command, flag| command.arg(flag.arg()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Fields> FromArgMatches for ElectionArgs<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (spec, params, given) = (ElectionSpec::default(), Vec::new(), Vec::new());
        let mut args = ElectionArgs { spec, params, given, command: PhantomData };
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for flag in FLAGS.iter().filter(|flag| C::has(flag.field)) {
            let texts: Vec<String> = match flag.takes {
                Takes::Switch => matches.get_flag(flag.long).then(|| "true".to_string()).into_iter().collect(),
                _ => matches.get_many::<String>(flag.long).into_iter().flatten().cloned().collect(),
            };
            for text in texts {
                // The value parser has accepted the text.
                let set = self.spec.set(flag.field, &text);
                set.map_err(|error| clap::Error::raw(clap::error::ErrorKind::ValueValidation, error.to_string()))?;
                if flag.field == Field::Params {
                    self.params.push(text.clone());
                }
                self.given.push((flag.field, text));
            }
        }
        Ok(())
    }
}
