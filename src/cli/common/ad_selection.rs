//! Selection, order and number of the ads that are processed.

use clap::Args;

use super::option_group::OptionGroup;
use super::sort_keys::{SortKeys, parse_expressions};
use super::{Problem, ProgramContext};
use crate::classad::{ClassAd, Context, Expr};
use crate::world::World;

/// Options that select and order ads.
#[derive(Args, Clone, Debug, Default)]
pub struct AdSelectionOptions {
    /// Keep ads for which EXPR is true; if repeated, all must be true
    #[arg(long, short = 'c', value_name = "EXPR", help_heading = OptionGroup::Input)]
    pub constraint: Vec<String>,
    /// The ads are processed in this order, after all of them have been read.
    #[arg(long, value_name = "EXPR", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub sort: Vec<String>,
    /// Sort in descending order
    #[arg(long, requires = "sort", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub reverse: bool,
    /// Stop after N results
    #[arg(long, value_name = "N", help_heading = OptionGroup::Input, hide_short_help = true)]
    pub limit: Option<u64>,
}

impl AdSelectionOptions {
    /// Parses the options to a selection.
    ///
    /// # Errors
    /// Returns an error for a constraint or sort key that is not an expression.
    pub(crate) fn parse(&self) -> Result<AdSelection, Problem> {
        Ok(AdSelection {
            constraint: parse_expressions("--constraint", &self.constraint)?,
            order: SortKeys::new(parse_expressions("--sort", &self.sort)?, self.reverse),
            left: self.limit.unwrap_or(u64::MAX),
        })
    }

    /// True if an option selects or orders ads, so that not all ads pass in the order of the input.
    pub(crate) fn is_given(&self) -> bool {
        !self.constraint.is_empty() || !self.sort.is_empty() || self.limit.is_some()
    }
}

/// Selection of ads.
#[derive(Clone, Debug)]
pub(crate) struct AdSelection {
    constraint: Vec<Expr>,
    order: SortKeys,
    /// Maximum number of ads that may still be selected.
    left: u64,
}

impl AdSelection {
    /// Creates a selection of all ads.
    pub(crate) fn all() -> Self {
        AdSelection { constraint: Vec::new(), order: SortKeys::default(), left: u64::MAX }
    }

    /// True if the constraint is true for an ad, or if there is no constraint.
    pub(crate) fn holds(&self, ad: &ClassAd, world: &dyn World) -> bool {
        let context = Context::new(world).my(ad);
        self.constraint.iter().all(|expr| context.holds(expr))
    }

    /// Returns true if an ad is selected, and counts it towards the limit.
    pub(crate) fn selects(&mut self, ad: &ClassAd, world: &dyn World) -> bool {
        let selects = self.left > 0 && self.holds(ad, world);
        self.left -= u64::from(selects);
        selects
    }

    /// True if no further ad can be selected.
    pub(crate) fn is_finished(&self) -> bool {
        self.left == 0
    }

    /// True if the ads are sorted, so that all of them must be read before the first one is processed.
    pub(crate) fn is_sorted(&self) -> bool {
        !self.order.is_empty()
    }

    /// Sorts the items whose ads the constraint selects, and keeps the first ones up to the limit.
    pub(crate) fn sort_and_limit<T>(
        &self,
        items: &mut Vec<T>,
        ad: impl Fn(&T) -> &ClassAd,
        world: &dyn World,
        session: &ProgramContext,
    ) {
        self.order.sort(items, ad, world, ("ad", session));
        items.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
    }
}
