//! Finding of pairs of source job and routed job in a stream of ads, whatever the order of the ads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bstr::BString;

use crate::classad::{ClassAd, Context};
use crate::world::World;

/// Ad that waits for its counterpart.
struct PendingAd {
    ad: ClassAd,
    links: PairLinks,
}

/// Attribute of an ad that contains an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LinkKind {
    /// ClusterId and ProcId.
    Own,
    /// RoutedFromJobId.
    Source,
    /// RoutedToJobId.
    Routed,
}

/// Ids by which an ad is paired with another ad. An id that the ad lacks is empty.
struct PairLinks {
    id: BString,
    /// Id of the source job (`RoutedFromJobId`), which only a routed job has.
    source: BString,
    /// Id of the routed job (`RoutedToJobId`), which a source job has while it is routed.
    routed: BString,
}

impl PairLinks {
    fn new(ad: &ClassAd, world: &dyn World) -> Self {
        let context = Context::new(world).my(ad);
        let id = match (context.int("ClusterId"), context.int("ProcId")) {
            (Some(cluster), Some(proc)) => format!("{cluster}.{proc}").into(),
            _ => BString::default(),
        };
        let string = |name: &str| ad.string(name).map(|text| text.to_owned()).unwrap_or_default();
        PairLinks { id, source: string("RoutedFromJobId"), routed: string("RoutedToJobId") }
    }

    /// Returns the ids of this ad by which its counterpart is found.
    fn keys(&self) -> impl Iterator<Item = (LinkKind, BString)> {
        let ids =
            [(LinkKind::Own, &self.id), (LinkKind::Source, &self.source), (LinkKind::Routed, &self.routed)];
        ids.into_iter().filter(|(_, id)| !id.is_empty()).map(|(kind, id)| (kind, id.clone()))
    }

    /// Returns ids; the counterpart of this ad has at least one of them.
    fn counterpart_keys(&self) -> impl Iterator<Item = (LinkKind, BString)> {
        let ids = [
            (LinkKind::Source, &self.id),
            (LinkKind::Routed, &self.id),
            (LinkKind::Own, &self.source),
            (LinkKind::Own, &self.routed),
        ];
        ids.into_iter().filter(|(_, id)| !id.is_empty()).map(|(kind, id)| (kind, id.clone()))
    }

    /// Returns true if `routed` is the routed job of this source job: one of the two ads names the other, and neither names
    /// another job.
    fn is_source_of(&self, routed: &PairLinks) -> bool {
        let is_named_source = !self.id.is_empty() && routed.source == self.id;
        let is_named_routed = !routed.id.is_empty() && self.routed == routed.id;
        match (is_named_source, is_named_routed) {
            (true, true) => true,
            // A routed job that is not submitted yet has no id.
            (true, false) => self.routed.is_empty() || routed.id.is_empty(),
            (false, true) => routed.source.is_empty(),
            (false, false) => false,
        }
    }

    /// Describes an ad whose counterpart is missing.
    fn describe_unpaired(&self) -> String {
        let name = if self.id.is_empty() {
            "an ad without ClusterId and ProcId".to_owned()
        } else {
            format!("job {}", self.id)
        };
        match (self.source.is_empty(), self.routed.is_empty()) {
            (false, _) => format!("{name}: its source job {} is not in the input", self.source),
            (true, false) => format!("{name}: its routed job {} is not in the input", self.routed),
            (true, true) => format!("{name}: no routed job in the input has its id as RoutedFromJobId"),
        }
    }
}

/// Finder of pairs. It keeps each ad until the counterpart of the ad has been read.
#[derive(Default)]
pub(super) struct PairFinder {
    /// Pending ads by the order in which they were read.
    pending: BTreeMap<u64, PendingAd>,
    /// Numbers of the pending ads, by each of their ids.
    numbers: HashMap<(LinkKind, BString), BTreeSet<u64>>,
    added: u64,
}

impl PairFinder {
    /// Adds an ad. Returns the pair of source job and routed job that it completes, or `None`.
    pub(super) fn add(&mut self, ad: ClassAd, world: &dyn World) -> Option<(ClassAd, ClassAd)> {
        let links = PairLinks::new(&ad, world);
        let pending = |number: &u64| self.pending.get(number).map(|other| (*number, &other.links));
        let candidates = links.counterpart_keys().filter_map(|key| self.numbers.get(&key)).flatten();
        let found = candidates
            .filter_map(pending)
            .find(|(_, other)| other.is_source_of(&links) || links.is_source_of(other))
            .map(|(number, _)| number);
        match found.and_then(|number| self.take(number)) {
            Some(other) if other.links.is_source_of(&links) => Some((other.ad, ad)),
            Some(other) => Some((ad, other.ad)),
            None => {
                for key in links.keys() {
                    self.numbers.entry(key).or_default().insert(self.added);
                }
                self.pending.insert(self.added, PendingAd { ad, links });
                self.added += 1;
                None
            }
        }
    }

    /// Removes a pending ad.
    fn take(&mut self, number: u64) -> Option<PendingAd> {
        let taken = self.pending.remove(&number)?;
        for key in taken.links.keys() {
            if let Some(numbers) = self.numbers.get_mut(&key) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    self.numbers.remove(&key);
                }
            }
        }
        Some(taken)
    }

    /// Describes the ads without a counterpart, in the order in which they were read.
    pub(super) fn describe_unpaired(&self) -> Vec<String> {
        self.pending.values().map(|ad| ad.links.describe_unpaired()).collect()
    }
}
