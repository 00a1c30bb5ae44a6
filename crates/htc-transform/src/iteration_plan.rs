//! Iteration over the items and counts of a TRANSFORM statement (`MacroStreamXFormSource::init_iterator`,
//! `first_iteration`, `next_iteration`).

use bstr::{BStr, BString, ByteSlice};

use super::iterate::{self, ItemSource, IterationArguments, IterationError};
use super::macros::{BuiltInMacros, IterationPosition, PLATFORM_NAMES};
use super::observer::{Observer, TransformFailure};
use super::program::Transform;
use super::session::TransformSession;
use htc_config::evaluate::to_integer;

/// Items and counts of an iteration.
#[derive(Clone, Debug)]
pub struct IterationPlan {
    arguments: IterationArguments,
    items: Vec<BString>,
    /// Number of bytes after the TRANSFORM statement that were read as items.
    pub consumed: usize,
}

impl IterationPlan {
    /// Returns the number of runs for each ad.
    pub fn runs_per_ad(&self) -> u64 {
        self.row_count() as u64 * u64::from(self.arguments.count.max(1))
    }

    fn row_count(&self) -> usize {
        if self.arguments.variables.is_empty() { 1 } else { self.items.len().max(1) }
    }

    /// Returns the file that the items were read from, or the command with its final `|`; `None` for other
    /// sources.
    pub fn item_file(&self) -> Option<&BStr> {
        match &self.arguments.source {
            ItemSource::File(name) => Some(name.as_ref()),
            _ => None,
        }
    }
}

/// Error while an iteration is planned.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IterationPlanError {
    /// The statement or its items are not valid.
    #[error(transparent)]
    Iterate(#[from] IterationError),
    /// A macro of the statement cannot be expanded.
    #[error(transparent)]
    Expand(#[from] TransformFailure),
}

impl TransformSession<'_> {
    /// Returns the plan of the transform's iteration, or `None` if the transform runs once for each ad. Call this
    /// function before the first ad, because it defines the macros of the iteration. `read` reads the items of `from
    /// FILE` and `from -`, and `command` runs the command of `from CMD |`.
    ///
    /// # Errors
    /// The arguments are not valid, or items cannot be read.
    pub fn plan_iteration(
        &mut self,
        transform: &Transform,
        observer: &mut dyn Observer,
        read: iterate::ReadItems<'_>,
        command: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Option<IterationPlan>, IterationPlanError> {
        let Some(iteration) = &transform.envelope.iteration else { return Ok(None) };
        let parameter = |name: &str| {
            self.config.and_then(|config| config.raw(name.as_bytes()).map(|v| v.into_owned().into()))
        };
        let platform = PLATFORM_NAMES.map(|name| parameter(name).unwrap_or_default());
        self.built_in =
            BuiltInMacros::Iterating(IterationPosition { platform, ..IterationPosition::default() });
        let text = self.expand_without_ad(&iteration.line, &iteration.arguments, observer)?;
        if htc_base::text::space::trim(&text).is_empty() {
            self.set_single_run();
            return Ok(None);
        }
        let arguments = iterate::parse_arguments(&text, |count| to_integer(count, self.world))?;
        let line = iteration.line.number;
        let source = &iteration.line.source.text;
        let rest = source.get(iteration.rest_offset..).unwrap_or_default();
        let (items, consumed) = iterate::read_items(&arguments, rest, line, self.world, read, command)?;
        let trivial = arguments.foreach_mode == iterate::ForeachMode::CountOnly && arguments.count == 1;
        if trivial {
            self.set_single_run();
        }
        Ok((!trivial).then_some(IterationPlan { arguments, items, consumed }))
    }

    /// Sets `$(Iterating)` to 0, for one run per ad.
    fn set_single_run(&mut self) {
        if let BuiltInMacros::Iterating(turn) = &mut self.built_in {
            turn.is_single = true;
        }
    }

    /// Calls `run` for each item and count with the variables set, until `run` returns false. Macros are passed between
    /// the runs for one item and reset for the next item.
    pub fn run_for_each_item(&mut self, plan: &IterationPlan, mut run: impl FnMut(&mut Self) -> bool) {
        let start = self.macros.mark();
        let variables = &plan.arguments.variables;
        let mut id = 0;
        'rows: for row in 0..plan.row_count() {
            self.macros.rewind(start);
            let item = plan.items.get(row).map(|item| item.as_bytes()).unwrap_or_default();
            for (variable, value) in variables.iter().zip(iterate::split_item(item, variables.len())) {
                self.macros.set(variable, value);
            }
            for step in 0..plan.arguments.count.max(1) {
                if let BuiltInMacros::Iterating(turn) = &mut self.built_in {
                    (turn.step, turn.run_id) = (step, id);
                    turn.row = u32::try_from(row).unwrap_or(u32::MAX);
                }
                id = id.saturating_add(1);
                if !run(self) {
                    break 'rows;
                }
            }
        }
        self.macros.rewind(start);
    }
}
