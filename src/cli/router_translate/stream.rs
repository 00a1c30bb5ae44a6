//! Ads in and ads out for the router's verbs.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::classad::format::list::{ListForm, ListWriter, Order};
use crate::classad::format::long;
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{
    Input, InputOptions, Output, OutputOptions, Problem, Session as Program, malformed, open_input, pipe_ends,
};
use crate::world::World;

/// Which ads are read.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Inputs {
    #[command(flatten)]
    pub input: InputOptions,
    /// Files of ads, in place of --ads
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Reads all ads of all inputs in the mode of `world`; returns how many parts of them could not be read. What is written to the output that belongs
/// to `stdin` is flushed before a read that would block.
pub(super) fn each_ad(
    (inputs, world): (&Inputs, &dyn World),
    program: &Program,
    stdin: Option<Input>,
    mut take: impl FnMut(ClassAd) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    each((inputs, world), program, stdin, |file| file, &mut take)
}

/// Goes over the ads of all inputs as `prepare` makes them readable.
fn each<R: Read>(
    (inputs, world): (&Inputs, &dyn World),
    program: &Program,
    mut stdin: Option<Input>,
    prepare: impl Fn(BufReader<Box<dyn Read + Send>>) -> R,
    take: &mut dyn FnMut(ClassAd) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut bad = 0;
    let mut files = inputs.files.clone();
    if files.is_empty() {
        files.push(inputs.input.ads.clone());
    }
    for path in files {
        let name = path.display().to_string();
        let (file, _) = open_input(&path, stdin.take().unwrap_or_else(|| pipe_ends().0), program)?;
        let mut reader =
            AdReader::new(prepare(file), None).exact(inputs.input.strict_input).dialect(Dialect::of(world));
        let problem = || Problem::cannot_read(&name);
        while let Some(record) = reader.next_ad().with_context(problem)? {
            bad += record.errors.len() as u64;
            for error in &record.errors {
                let problem = malformed(error, &name);
                if inputs.input.strict_input {
                    return Err(problem.into());
                }
                program.report(&problem.into());
            }
            if !record.ad.is_empty() {
                take(record.ad)?;
            }
        }
    }
    Ok(bad)
}

/// Where ads go.
pub(super) struct Ads {
    out: BufWriter<Output>,
    list: Option<ListWriter>,
}

impl Ads {
    /// In the form that the options name; the long form in byte order, as routers print ads.
    pub(super) fn new(options: &OutputOptions, out: Output) -> Self {
        let list = match options {
            OutputOptions { json: true, .. } => Some(ListForm::Json),
            OutputOptions { jsonl: true, .. } => Some(ListForm::JsonLines),
            _ => None,
        };
        Ads {
            out: BufWriter::with_capacity(64 << 10, out),
            list: list.map(|form| ListWriter::new(form, Order::Sorted)),
        }
    }

    pub(super) fn write(&mut self, ad: &ClassAd) -> io::Result<()> {
        match &mut self.list {
            Some(list) => list.write(ad, &mut self.out).map(|_| ()),
            None => {
                self.out.write_all(&long::print(ad))?;
                self.out.write_all(b"\n")
            }
        }
    }

    /// A source and its copy: in the long form with a line of dashes between them, else two ads.
    pub(super) fn pair(&mut self, source: &ClassAd, routed: &ClassAd) -> io::Result<()> {
        if self.list.is_some() {
            self.write(source)?;
            return self.write(routed);
        }
        self.out.write_all(&long::print(source))?;
        self.out.write_all(b"------\n")?;
        self.write(routed)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(list) = &mut self.list {
            list.finish(&mut self.out)?;
        }
        self.out.flush()
    }
}

/// Pairs of ads: a source and the copy behind it, as [`Ads::pair`] writes them.
pub(super) fn each_pair(
    of: (&Inputs, &dyn World),
    program: &Program,
    mut take: impl FnMut(ClassAd, ClassAd) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut source: Option<ClassAd> = None;
    let prepare = |file| Dashes { inner: file, line_start: true };
    let mut malformed = each(of, program, None, prepare, &mut |ad| match source.take() {
        None => {
            source = Some(ad);
            Ok(())
        }
        Some(first) => take(first, ad),
    })?;
    if source.is_some() {
        let text =
            "the last source ad has no routed ad behind it (pairs are: source, a line of dashes, routed ad)";
        program.report(&Problem::unreadable(text).into());
        malformed += 1;
    }
    Ok(malformed)
}

/// Makes the dashes between two ads of a pair an empty line, which every form of ads knows as an end.
struct Dashes<R> {
    inner: R,
    line_start: bool,
}

impl<R: io::BufRead> io::Read for Dashes<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.inner.fill_buf()?;
        let length = available.len().min(into.len());
        into[..length].copy_from_slice(&available[..length]);
        self.inner.consume(length);
        // A line that begins with a dash is no attribute: its dashes become a newline each.
        let mut dashing = false;
        for byte in &mut into[..length] {
            dashing = (dashing || self.line_start) && *byte == b'-';
            if dashing {
                *byte = b'\n';
                self.line_start = true;
            } else {
                self.line_start = *byte == b'\n';
            }
        }
        Ok(length)
    }
}
