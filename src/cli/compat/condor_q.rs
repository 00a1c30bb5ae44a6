//! Behaviour under the name `condor_q`: the tool's output formats for ads of a file, byte by byte. There is
//! no schedd to query (reference: condor_q.V6/queue.cpp). `condor_router_q` uses them for a queue log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use super::condor_q_options::CondorQOptions;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::format::long;
use crate::classad::stream::{Delimiter, Projection, ReferenceReader};
use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::{ProgramContext, Status, exit_when_reader_is_gone, stdout, tool_user_maps};
use crate::os::RealWorld;
use crate::world::World;

/// Runs `condor_q` for a file of ads.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn run(words: &[OsString], session: &ProgramContext) -> anyhow::Result<Status> {
    let mut options = match CondorQOptions::from_words(words, session)? {
        Ok(options) => options,
        Err(status) => return Ok(status),
    };
    let Some(file) = options.file.take() else {
        session.write_stderr("Error: there is no queue here\nhint: name a file of ads with -jobads\n");
        return Ok(Status::Tool(1));
    };
    if options.is_table() {
        session.write_stderr(
            "Error: the tables of condor_q are not made here\nhint: name columns, such as -af:jh Owner JobStatus Cmd, or use -long, -json \
             or -xml; 'htc-classad-eval --ads FILE --count-by JobStatus' counts, 'htc-router-status FILE' shows routed jobs\n",
        );
        return Ok(Status::Tool(1));
    }
    let is_stdin = file == "-";
    let read: Box<dyn Read> = match (!is_stdin).then(|| File::open(&file)) {
        None => Box::new(io::stdin()),
        Some(Ok(file)) => Box::new(file),
        Some(Err(_)) => {
            session.write_stderr(&format!("Can't open file of ClassAds: {}\n", file.to_string_lossy()));
            return Ok(Status::Tool(1));
        }
    };
    let world = RealWorld::new().with_shared_user_maps(tool_user_maps(None));
    let constraint = options.constraint(session);
    exit_when_reader_is_gone();
    let mut out = BufWriter::new(stdout());
    let mut jobs = JobsById::default();
    let mut reader = ReferenceReader::new(read, options.form, Delimiter::Queue);
    let mut skim = options.projection(constraint.as_ref());
    let mut ad = ClassAd::new();
    // An unreadable ad ends the list without a message, as in the reference.
    while let Ok(true) = match &mut skim {
        Some(skim) => reader.next_projected(skim, &mut ad),
        None => reader.next_ad().map(|next| next.map(|next| ad = next).is_some()),
    } {
        if !keeps_ad(constraint.as_ref(), &ad, &world) {
            if skim.is_none() {
                reader.reuse(std::mem::take(&mut ad));
            }
        } else if !jobs.add(std::mem::take(&mut ad), &world) {
            session.write_stderr("Error: Two results with the same ID.\n");
        }
    }
    options.print_jobs(&jobs, &world, &mut out, session)?;
    out.flush()?;
    Ok(Status::Tool(0))
}

/// Returns true if the reference keeps an ad: it keeps an ad if the evaluation fails, but not if the value is
/// neither true nor false.
pub(super) fn keeps_ad(constraint: Option<&Expr>, ad: &ClassAd, world: &dyn World) -> bool {
    let Some(constraint) = constraint else { return true };
    Context::new(world).my(ad).try_eval(constraint).is_none_or(|value| value.truth() == Some(true))
}

impl CondorQOptions {
    /// Returns the attributes that are needed of each ad, if they are known in advance: with columns.
    fn projection(&self, constraint: Option<&Expr>) -> Option<Projection> {
        if self.long.is_some() {
            return None;
        }
        let mut skim = self.mask.projection(constraint.into_iter())?;
        ["ClusterId", "ProcId", "JobSetId"].into_iter().for_each(|name| skim.add(name.into()));
        Some(skim)
    }

    /// Prints the jobs of a queue that match the constraint, up to the limit, as ads or in columns.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub(super) fn print_queue<'a>(
        &mut self,
        ads: impl Iterator<Item = &'a ClassAd>,
        world: &dyn World,
        out: &mut dyn Write,
        session: &ProgramContext,
    ) -> io::Result<()> {
        let mut jobs = JobsById::default();
        for ad in ads.take(self.limit.unwrap_or(usize::MAX)) {
            jobs.add(ad.clone(), world);
        }
        self.print_jobs(&jobs, world, out, session)
    }

    fn print_jobs(
        &mut self,
        jobs: &JobsById,
        world: &dyn World,
        out: &mut dyn Write,
        session: &ProgramContext,
    ) -> io::Result<()> {
        match self.long {
            Some(form) => self.print_long(form, jobs, out),
            None => self.print_columns(jobs, world, out, session),
        }
    }

    fn print_long(&self, form: ListForm, jobs: &JobsById, out: &mut dyn Write) -> io::Result<()> {
        if self.unsorted && form == ListForm::Long && !self.attributes.is_empty() {
            return self.print_unsorted(jobs, out);
        }
        let order = if self.unsorted { AttributeOrder::Internal } else { AttributeOrder::Sorted };
        let mut writer = ListWriter::new(form, order);
        if !self.attributes.is_empty() {
            writer = writer.only(self.attributes.iter().cloned());
        }
        for ad in jobs.by_id.values() {
            writer.write(ad, out)?;
        }
        writer.finish(out)
    }

    /// Prints projections that are not sorted: they keep the order of the ads and include private attributes.
    fn print_unsorted(&self, jobs: &JobsById, out: &mut dyn Write) -> io::Result<()> {
        let options = long::PrintOptions {
            order: long::PrintOrder::Ad,
            private: true,
            only: Some(self.attributes.clone()),
            ..long::PrintOptions::default()
        };
        for ad in jobs.by_id.values() {
            let text = long::print_with(ad, &options);
            if !text.is_empty() {
                out.write_all(&text)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Prints columns. Everything is rendered before the first line, because headings are as wide as the
    /// widest value.
    fn print_columns(
        &mut self,
        jobs: &JobsById,
        world: &dyn World,
        out: &mut dyn Write,
        session: &ProgramContext,
    ) -> io::Result<()> {
        let mut rows = BTreeMap::new();
        let mut cluster = 0;
        for (at, ad) in jobs.by_id.values().enumerate() {
            if self.mask.is_empty() {
                break;
            }
            let context = Context::new(world).my(ad);
            // For an ad without a cluster the reference uses an uninitialised variable, often that of the
            // previous ad: the row is sorted there, but never replaces another row.
            let is_known = context.int("ClusterId").or_else(|| context.int("JobSetId")).is_some();
            cluster = context.int("ClusterId").map_or(cluster, |cluster| cluster as i32);
            let mut process = context.int("ProcId").map_or(-1, |process| process as i32);
            if let (None, Some(set)) = (context.int("ClusterId"), context.int("JobSetId")) {
                cluster = 0;
                process = if ad.contains("ProcId") { process } else { set as i32 };
            }
            let own = if is_known { 0 } else { at + 1 };
            match rows.entry((packed_id(cluster, process), own)) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(self.mask.render(ad, &context));
                }
                std::collections::btree_map::Entry::Occupied(_) => {
                    session.write_stderr("Error: Two results with the same ID.\n");
                }
            }
        }
        let mut text = Vec::new();
        if self.mask.has_headings() {
            self.mask.display_headings(&mut text);
        }
        for row in rows.values() {
            let start = text.len();
            self.mask.display(row, world, &mut text);
            if self.trimmed && text[start..].ends_with(b"\n") {
                let kept = text[start..].trim_ascii_end().len();
                text.truncate(start + kept);
                text.push(b'\n');
            }
            if text.len() > 1 << 16 {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)
    }
}

/// Packs cluster and process into one 64-bit integer, as the reference does.
fn packed_id(cluster: i32, process: i32) -> i64 {
    i64::from(cluster) << 32 | i64::from(process as u32)
}

/// Jobs of a file by job ID. Of two jobs with the same ID the first is kept; a job without ClusterId has its
/// number in the file as part of its key.
#[derive(Default)]
struct JobsById {
    by_id: BTreeMap<(i64, i32), ClassAd>,
    number: i32,
}

impl JobsById {
    fn add(&mut self, ad: ClassAd, world: &dyn World) -> bool {
        let context = Context::new(world).my(&ad);
        let number = self.number;
        self.number += 1;
        let (cluster, mut process) = match (context.int("ClusterId"), context.int("JobSetId")) {
            (Some(cluster), _) => (cluster as i32, number),
            (None, Some(set)) => (0, set as i32),
            (None, None) => (i32::MAX, number),
        };
        if let Some(own) = context.int("ProcId") {
            process = own as i32;
        }
        let own = if cluster == i32::MAX { number } else { 0 };
        let id = (packed_id(cluster, process), own);
        if self.by_id.contains_key(&id) {
            return false;
        }
        self.by_id.insert(id, ad);
        true
    }
}
