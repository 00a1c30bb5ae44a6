//! Jobs of a queue log with some of their attributes, kept as compact texts: a queue of 100,000 jobs needs about 20 MB
//! of memory.

use rustc_hash::FxHashMap;

use htc_base::job::JobId;
use htc_classad::stream::Projection;
use htc_classad::{AttrName, ClassAd, Dialect, Expr, ParseError};

use super::record::{QueueLogRecord, QueueRecords};

/// Maximum number of checked values that the queue remembers.
const MAX_CHECKED_VALUES: usize = 4096;
/// Maximum length in bytes of a checked value that the queue remembers.
const MAX_CHECKED_LENGTH: usize = 4096;
/// Maximum number of names that the queue remembers of attributes that it does not keep.
const MAX_OTHER_NAMES: usize = 4096;
/// Text of a value that hides an attribute of the cluster.
const HIDDEN: &[u8] = b"undefined";

/// Attributes that are not kept although values of kept attributes refer to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MissingAttributes {
    /// No attributes: the kept attributes have the same values as in the complete ads.
    #[default]
    None,
    /// The attributes with these names.
    Names(Vec<AttrName>),
    /// Unknown: any attribute may be referred to.
    All,
}

/// Spelling of an attribute's name.
#[derive(Clone, Debug)]
struct KnownName {
    spelling: Box<[u8]>,
    /// Number of the first spelling of the name, which identifies the attribute in all spellings.
    attribute: u32,
    is_kept: bool,
    /// True if the spelling is an identifier, which needs no further check.
    is_identifier: bool,
}

/// Attributes of one ad. Each attribute is stored as the number of its spelling, the length of its value, and the
/// value.
#[derive(Clone, Debug, Default)]
struct CompactAd {
    bytes: Vec<u8>,
}

/// Attribute of a compact ad.
#[derive(Clone, Copy, Debug)]
struct CompactEntry {
    name: u32,
    value_start: usize,
    end: usize,
}

/// Size in bytes of the spelling number and the length before a value.
const ENTRY_HEADER: usize = 8;

/// Jobs and clusters of a queue with some of their attributes.
#[derive(Clone, Debug)]
pub struct ProjectedQueue {
    ads: FxHashMap<JobId, u32>,
    /// Ads by number; a destroyed ad becomes empty and its number is reused.
    stored: Vec<CompactAd>,
    free: Vec<u32>,
    /// Key and number of the ad that the previous record named.
    last: Option<(JobId, u32)>,
    names: Vec<KnownName>,
    by_spelling: FxHashMap<Box<[u8]>, u32>,
    /// Number of the first spelling of each name, by the name in lower case.
    by_name: FxHashMap<Box<[u8]>, u32>,
    /// True if all attributes are kept.
    keeps_all: bool,
    dialect: Dialect,
    /// Checked values that are not literals; true if all attributes that the value refers to are kept.
    checked: FxHashMap<Box<[u8]>, bool>,
    /// Ad into which values are inserted to check them.
    scratch: ClassAd,
    missing: MissingAttributes,
}

impl ProjectedQueue {
    /// Creates a queue that keeps the attributes with these names, or all attributes if `names` is `None`.
    pub fn new(names: Option<&[AttrName]>, dialect: Dialect) -> Self {
        let mut queue = ProjectedQueue {
            ads: FxHashMap::default(),
            stored: Vec::new(),
            free: Vec::new(),
            last: None,
            names: Vec::new(),
            by_spelling: FxHashMap::default(),
            by_name: FxHashMap::default(),
            keeps_all: names.is_none(),
            dialect,
            checked: FxHashMap::default(),
            scratch: ClassAd::new(),
            missing: MissingAttributes::None,
        };
        for name in names.unwrap_or_default() {
            queue.add_name(name.as_bytes(), true);
        }
        queue
    }

    /// Returns the attributes that must also be kept when the log is read again, because values refer to them.
    pub fn missing_attributes(&self) -> &MissingAttributes {
        &self.missing
    }

    /// Returns the jobs in numerical order, including the attributes of their clusters. A job that has none of the
    /// attributes in `any_of` gets an empty ad, unless `any_of` itself is empty.
    pub fn into_jobs(self, any_of: &[&str]) -> ProjectedJobs {
        let mut ids: Vec<JobId> = self.ads.keys().copied().filter(|id| id.is_job()).collect();
        ids.sort_unstable();
        let needed = any_of.iter().filter_map(|name| self.attribute_of(name.as_bytes())).collect();
        ProjectedJobs {
            queue: self,
            ids: ids.into_iter(),
            needs_all: any_of.is_empty(),
            needed,
            expressions: FxHashMap::default(),
        }
    }

    /// Returns the number of an attribute, or `None` if no record has named it.
    fn attribute_of(&self, name: &[u8]) -> Option<u32> {
        self.by_name.get(name.to_ascii_lowercase().as_slice()).copied()
    }

    /// Adds a spelling of a name, and returns its number.
    fn add_name(&mut self, spelling: &[u8], is_kept: bool) -> u32 {
        let number = self.names.len() as u32;
        let attribute = *self.by_name.entry(spelling.to_ascii_lowercase().into()).or_insert(number);
        let is_identifier = spelling.first().is_some_and(u8::is_ascii_alphabetic)
            && spelling.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let is_kept = is_kept || (attribute != number && self.names[attribute as usize].is_kept);
        self.by_spelling.insert(spelling.into(), number);
        self.names.push(KnownName { spelling: spelling.into(), attribute, is_kept, is_identifier });
        number
    }

    /// Returns the number of a spelling, or `None` if the attribute is not kept and the limit on such names is reached.
    fn name_number(&mut self, spelling: &[u8]) -> Option<u32> {
        if let Some(number) = self.by_spelling.get(spelling) {
            return Some(*number);
        }
        let is_kept = self.keeps_all
            || self.attribute_of(spelling).is_some_and(|number| self.names[number as usize].is_kept);
        (is_kept || self.names.len() < MAX_OTHER_NAMES).then(|| self.add_name(spelling, is_kept))
    }

    /// Returns the number of an ad, or `None` if the queue does not have the ad.
    fn ad_number(&mut self, key: JobId) -> Option<u32> {
        match self.last {
            Some((last, number)) if last == key => Some(number),
            _ => {
                let number = *self.ads.get(&key)?;
                self.last = Some((key, number));
                Some(number)
            }
        }
    }

    fn create(&mut self, key: JobId) {
        if let Some(number) = self.ad_number(key) {
            self.stored[number as usize].bytes.clear();
            return;
        }
        let number = self.free.pop().unwrap_or(self.stored.len() as u32);
        if number as usize == self.stored.len() {
            self.stored.push(CompactAd::default());
        }
        self.ads.insert(key, number);
        self.last = Some((key, number));
    }

    fn destroy(&mut self, key: JobId) {
        if let Some(number) = self.ads.remove(&key) {
            self.stored[number as usize] = CompactAd::default();
            self.free.push(number);
        }
        self.last = None;
    }

    fn set(&mut self, key: JobId, spelling: &[u8], value: &[u8]) -> Result<(), ParseError> {
        let Some(ad) = self.ad_number(key) else { return Ok(()) };
        let number = self.name_number(spelling);
        let (is_kept, is_identifier, attribute) = match number.map(|number| &self.names[number as usize]) {
            Some(name) => (name.is_kept, name.is_identifier, name.attribute),
            None => (false, false, 0),
        };
        if !is_identifier || !is_simple_literal(value) {
            self.check(spelling, value, is_identifier, is_kept)?;
        }
        if let (true, Some(number)) = (is_kept, number) {
            self.stored[ad as usize].set(number, attribute, value, &self.names);
        }
        Ok(())
    }

    /// Checks that a value is valid, and records the attributes that a kept value refers to.
    fn check(
        &mut self,
        name: &[u8],
        value: &[u8],
        is_identifier: bool,
        is_kept: bool,
    ) -> Result<(), ParseError> {
        if is_identifier && self.checked.get(value).is_some_and(|has_all| *has_all || !is_kept) {
            return Ok(());
        }
        let is_literal = self.scratch.insert_old_syntax(name, value, self.dialect)?;
        let expr = if is_literal { None } else { self.scratch.get(name) };
        self.scratch.clear();
        let Some(expr) = expr else { return Ok(()) };
        let has_all = self.keeps_all || (is_kept && self.note_references(&expr));
        if is_identifier && value.len() <= MAX_CHECKED_LENGTH {
            if self.checked.len() >= MAX_CHECKED_VALUES {
                self.checked.clear();
            }
            self.checked.insert(value.into(), has_all);
        }
        Ok(())
    }

    /// Returns true if all attributes that an expression refers to are kept; otherwise records the missing attributes.
    fn note_references(&mut self, expr: &Expr) -> bool {
        let Some(references) = Projection::for_exprs([expr]) else {
            self.missing = MissingAttributes::All;
            return false;
        };
        let is_kept = |name: &AttrName| {
            let number = self.attribute_of(name.as_bytes());
            number.is_some_and(|number| self.names[number as usize].is_kept)
        };
        let missing: Vec<AttrName> =
            references.names().iter().filter(|name| !is_kept(name)).cloned().collect();
        let has_all = missing.is_empty();
        match &mut self.missing {
            MissingAttributes::All => {}
            MissingAttributes::Names(names) => names.extend(missing),
            MissingAttributes::None if !has_all => self.missing = MissingAttributes::Names(missing),
            MissingAttributes::None => {}
        }
        has_all
    }

    fn delete(&mut self, key: JobId, spelling: &[u8]) {
        let Some(attribute) = self.attribute_of(spelling) else { return };
        if !self.names[attribute as usize].is_kept {
            return;
        }
        // If a job deletes an attribute of its cluster, the attribute is hidden from this job but remains in the
        // cluster.
        let cluster = self.ads.get(&key.cluster_id()).map(|number| &self.stored[*number as usize]);
        let is_hidden = key.is_job() && cluster.is_some_and(|ad| ad.find(attribute, &self.names).is_some());
        let Some(ad) = self.ad_number(key) else { return };
        let number = self.name_number(spelling).unwrap_or(attribute);
        let ad = &mut self.stored[ad as usize];
        if is_hidden {
            ad.set(number, attribute, HIDDEN, &self.names);
        } else if let Some(entry) = ad.find(attribute, &self.names) {
            ad.bytes.drain(entry.value_start - ENTRY_HEADER..entry.end);
        }
    }
}

impl QueueRecords for ProjectedQueue {
    fn apply_record(&mut self, record: QueueLogRecord<'_>) -> Result<(), ParseError> {
        match record {
            QueueLogRecord::New { key, .. } => self.create(key),
            QueueLogRecord::Destroy(key) => self.destroy(key),
            QueueLogRecord::Set { key, name, value } => return self.set(key, name, value),
            QueueLogRecord::Delete { key, name } => self.delete(key, name),
            QueueLogRecord::Begin
            | QueueLogRecord::End
            | QueueLogRecord::Header { .. }
            | QueueLogRecord::Marker => {}
        }
        Ok(())
    }
}

impl CompactAd {
    fn entries(&self) -> impl Iterator<Item = CompactEntry> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (name, rest) = self.bytes[at..].split_first_chunk()?;
            let (length, _) = rest.split_first_chunk()?;
            let value_start = at + ENTRY_HEADER;
            at = value_start + u32::from_le_bytes(*length) as usize;
            Some(CompactEntry { name: u32::from_le_bytes(*name), value_start, end: at })
        })
    }

    /// Returns the entry of an attribute in any spelling, or `None` if the ad does not have the attribute.
    fn find(&self, attribute: u32, names: &[KnownName]) -> Option<CompactEntry> {
        self.entries().find(|entry| names[entry.name as usize].attribute == attribute)
    }

    /// Sets an attribute. An existing attribute keeps its first spelling.
    fn set(&mut self, name: u32, attribute: u32, value: &[u8], names: &[KnownName]) {
        let length = (value.len() as u32).to_le_bytes();
        match self.find(attribute, names) {
            Some(entry) => {
                self.bytes[entry.value_start - 4..entry.value_start].copy_from_slice(&length);
                if value.len() == entry.end - entry.value_start {
                    self.bytes[entry.value_start..entry.end].copy_from_slice(value);
                } else {
                    self.bytes.splice(entry.value_start..entry.end, value.iter().copied());
                }
            }
            None => {
                self.bytes.extend_from_slice(&name.to_le_bytes());
                self.bytes.extend_from_slice(&length);
                self.bytes.extend_from_slice(value);
            }
        }
    }
}

/// Iterator over the jobs of a queue in numerical order, which builds their ads one by one.
#[derive(Debug)]
pub struct ProjectedJobs {
    queue: ProjectedQueue,
    ids: std::vec::IntoIter<JobId>,
    /// True if every ad is needed; false if only ads with one of the attributes in `needed` are needed.
    needs_all: bool,
    needed: Vec<u32>,
    /// Parsed expressions by their text; ads share them.
    expressions: FxHashMap<Box<[u8]>, Expr>,
}

impl ProjectedJobs {
    fn is_needed(&self, ad: &CompactAd) -> bool {
        let attribute = |entry: CompactEntry| self.queue.names[entry.name as usize].attribute;
        self.needs_all || ad.entries().any(|entry| self.needed.contains(&attribute(entry)))
    }

    /// Adds an attribute of a compact ad to an ad.
    fn add_attribute(&mut self, ad: &mut ClassAd, name: u32, value: &[u8]) {
        let name = &*self.queue.names[name as usize].spelling;
        if let Some(expr) = self.expressions.get(value) {
            ad.insert(name, expr.clone());
            return;
        }
        // The value was checked when it was stored, so it is valid.
        let is_literal = ad.insert_old_syntax(name, value, self.queue.dialect).unwrap_or(true);
        if !is_literal && value.len() <= MAX_CHECKED_LENGTH && self.expressions.len() < MAX_CHECKED_VALUES {
            self.expressions.extend(ad.get(name).map(|expr| (value.into(), expr)));
        }
    }
}

impl Iterator for ProjectedJobs {
    type Item = (JobId, ClassAd);

    fn next(&mut self) -> Option<(JobId, ClassAd)> {
        let id = self.ids.next()?;
        let mut ad = ClassAd::new();
        let own = *self.queue.ads.get(&id)? as usize;
        let own = std::mem::take(&mut self.queue.stored[own]);
        let cluster = self.queue.ads.get(&id.cluster_id()).map(|number| *number as usize);
        let of_cluster =
            cluster.map(|number| std::mem::take(&mut self.queue.stored[number])).unwrap_or_default();
        if self.is_needed(&own) || self.is_needed(&of_cluster) {
            for entry in own.entries() {
                self.add_attribute(&mut ad, entry.name, &own.bytes[entry.value_start..entry.end]);
            }
            for entry in of_cluster.entries() {
                let attribute = self.queue.names[entry.name as usize].attribute;
                if own.find(attribute, &self.queue.names).is_none() {
                    self.add_attribute(&mut ad, entry.name, &of_cluster.bytes[entry.value_start..entry.end]);
                }
            }
        }
        if let Some(number) = cluster {
            self.queue.stored[number] = of_cluster;
        }
        Some((id, ad))
    }
}

/// Returns true if a value is certainly a literal: decimal digits, or a string without escapes.
fn is_simple_literal(value: &[u8]) -> bool {
    match value {
        [b'"', text @ .., b'"'] => memchr::memchr3(b'"', b'\\', 0, text).is_none(),
        [b'1'..=b'9', digits @ ..] => digits.len() < 18 && digits.iter().all(u8::is_ascii_digit),
        b"0" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueLogReader;
    use htc_classad::format::long;

    const LOG: &[u8] = b"101 01.-1 Job Machine\n101 1.0 Job Machine\n103 01.-1 Owner \"ann\"\n103 1.0 Cmd \"x\"\n103 1.0 Bad 1 +\n\
        103 1.0 E A + 1\n103 1.0 E A + 1\n103 9.0 Bad 1 +\n103 1.0 JobStatus 2\n104 1.0 JobStatus\n103 1.0 jobstatus 1\n\
        101 2.1 Job Machine\n103 2.1 OWNER \"eve\"\n103 2.1 Owner \"eva\"\n103 2.1 A b c\n103 2.1 A 2.50\n101 3.0 Job Machine\n\
        103 3.0 A 1\n102 3.0\n101 1.1 Job Machine\n104 1.1 Owner\n103 1.1 A\0 1\n103 1.1 R \"say \\\"x\\\"\"\n103 1.1 1A \"x\"\n\
        105 \n103 1.1 E eval(\"A\")\n106 \n101 2.1 Job Machine\n103 2.1 A 7\n104 2.1 Nothing\n";

    fn print(jobs: impl IntoIterator<Item = (JobId, ClassAd)>) -> Vec<String> {
        let text = |ad: &ClassAd| String::from_utf8(long::print(ad)).unwrap();
        jobs.into_iter().map(|(id, ad)| format!("{id}: {}", text(&ad))).collect()
    }

    fn read(names: Option<&[&str]>) -> QueueLogReader<ProjectedQueue> {
        let names: Option<Vec<AttrName>> =
            names.map(|names| names.iter().map(|name| (*name).into()).collect());
        let queue = ProjectedQueue::new(names.as_deref(), Dialect::new_syntax());
        let mut reader = QueueLogReader::with_queue(queue);
        reader.feed(LOG);
        reader
    }

    #[test]
    fn a_compact_queue_is_the_same_as_a_queue_of_ads() {
        let mut whole = QueueLogReader::new();
        whole.feed(LOG);
        let compact = read(None);
        assert_eq!(compact.bad_records(), whole.bad_records());
        assert_eq!(compact.record_count(), whole.record_count());
        assert_eq!(*compact.queue().missing_attributes(), MissingAttributes::None);
        assert_eq!(read(Some(&["Owner"])).bad_records(), whole.bad_records());
        assert_eq!(
            print(compact.into_queue().into_jobs(&[])),
            print(whole.into_queue().into_flattened_jobs())
        );
    }

    #[test]
    fn only_wanted_attributes_are_kept() {
        let jobs = |names: &[&str], any_of: &[&str]| print(read(Some(names)).into_queue().into_jobs(any_of));
        let wanted = ["1.0: Owner = \"ann\"\njobstatus = 1\n", "1.1: Owner = undefined\n", "2.1: "];
        assert_eq!(jobs(&["Owner", "JOBSTATUS"], &[]), wanted);
        let wanted = ["1.0: Owner = \"ann\"\njobstatus = 1\n", "1.1: ", "2.1: "];
        assert_eq!(jobs(&["Owner", "JOBSTATUS"], &["JobStatus", "Cmd"]), wanted);
    }

    #[test]
    fn attributes_that_kept_expressions_refer_to_must_be_kept() {
        let missing = |names: &[&str]| read(Some(names)).queue().missing_attributes().clone();
        assert_eq!(missing(&["Owner"]), MissingAttributes::None);
        assert_eq!(missing(&["A"]), MissingAttributes::Names(vec!["b".into()]));
        assert_eq!(missing(&["E"]), MissingAttributes::All);
    }

    #[test]
    fn a_value_that_is_not_kept_is_checked_too() {
        let dialect = Dialect::new_syntax();
        let mut queue = ProjectedQueue::new(Some(&["Owner".into()]), dialect);
        queue.create(JobId::new(1, 0));
        for (name, value) in [
            ("A", "1"),
            ("A", "0"),
            ("A", "010"),
            ("A", "12345678901234567890"),
            ("A", "\"x\""),
            ("A", "\"x\\\"\""),
            ("A", "\"x"),
            ("A", "\"x\"y\""),
            ("A", "\"x\0\""),
            ("A", "B + 1"),
            ("A", "B +"),
            ("A", "1 +"),
            ("A b", "1"),
            ("A\0", "1"),
            ("1A", "\"x\""),
            ("true", "1"),
        ] {
            // The second iteration may use the remembered result.
            for _ in 0..2 {
                let expected = ClassAd::new().insert_old_syntax(name, value, dialect).map(|_| ());
                let found = queue.set(JobId::new(1, 0), name.as_bytes(), value.as_bytes());
                assert_eq!(found, expected, "{name} {value}");
            }
        }
    }
}
