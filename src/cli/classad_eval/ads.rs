//! Streams of ads and what is wrong in them.

use std::ffi::OsStr;
use std::io::{self, Empty, Read};
use std::os::unix::ffi::OsStrExt;

use anyhow::Context as _;

use super::options::Cli;
use crate::classad::stream::{AdError, AdReader, AdRecord, Dealer, Form, Skim};
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{Problem, Session, malformed};

/// Errors of a stream that are told one by one; of the rest only the number.
const MOST_MESSAGES: u64 = 20;

/// A stream of ads whose errors are told as they come, or kept for whoever tells them.
pub(super) struct Ads<'a, R> {
    pub(super) reader: AdReader<R>,
    errors: Errors<'a>,
    /// Errors that are told later.
    kept: Option<Vec<AdError>>,
    read: u64,
}

impl<'a, R: Read> Ads<'a, R> {
    pub(super) fn new(read: R, name: String, cli: &Cli, dialect: Dialect, session: &'a Session) -> Self {
        let reader = AdReader::new(read, cli.stream.from).dialect(dialect);
        let strict = cli.input.strict_input;
        let errors = Errors { name, session, strict, count: 0 };
        Ads { reader: reader.exact(strict), errors, kept: None, read: 0 }
    }

    /// Divides the stream: what others like this are made by, what deals its ads out, and who tells their errors.
    pub(super) fn deal(self) -> (Like<'a>, Dealer<R>, Errors<'a>) {
        (Like { hand: self.reader.hand(), errors: self.errors.clone() }, self.reader.dealer(), self.errors)
    }

    /// The next ad that has anything in it.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<AdRecord>> {
        loop {
            let Some(mut record) = self.reader.next_ad().with_context(|| self.errors.problem())? else {
                self.end()?;
                return Ok(None);
            };
            if !self.tell(&mut record)? {
                return Ok(None);
            }
            if !record.ad.is_empty() {
                self.read += 1;
                return Ok(Some(record));
            }
        }
    }

    /// Reads the next ad into a record: what is wanted of it, if the ads are long ones, else the whole ad. Whether there was one.
    pub(super) fn next_part(&mut self, skim: &mut Skim, record: &mut AdRecord) -> anyhow::Result<bool> {
        loop {
            if self.detect()? != Form::Long {
                return Ok(self.next()?.map(|next| *record = next).is_some());
            }
            if !self.reader.next_part(skim, record).with_context(|| self.errors.problem())? {
                self.end()?;
                return Ok(false);
            }
            let has_errors = !record.errors.is_empty();
            if !self.tell(record)? {
                return Ok(false);
            }
            // An ad of which nothing is wanted counts, one that is all errors does not.
            if !has_errors || !self.reader.whole().is_empty() {
                self.read += 1;
                return Ok(true);
            }
        }
    }

    /// The whole of the ad that was read in part.
    pub(super) fn whole(&mut self) -> ClassAd {
        self.reader.whole()
    }

    /// Takes back an ad that is done with.
    pub(super) fn reuse(&mut self, ad: ClassAd) {
        self.reader.reuse(ad);
    }

    /// Tells the errors of an ad, or keeps them; whether to go on.
    fn tell(&mut self, record: &mut AdRecord) -> anyhow::Result<bool> {
        match &mut self.kept {
            None => self.errors.tell(&record.errors).map(|()| true),
            Some(kept) => {
                let stops = self.errors.strict && !record.errors.is_empty();
                kept.append(&mut record.errors);
                Ok(!stops)
            }
        }
    }

    /// There are no more.
    fn end(&mut self) -> anyhow::Result<()> {
        if self.kept.is_none() {
            self.errors.end(self.read)?;
        }
        Ok(())
    }

    /// The form of the input.
    pub(super) fn detect(&mut self) -> anyhow::Result<Form> {
        self.reader.detect().with_context(|| self.errors.problem())
    }

    /// The form of the input as far as it is known.
    pub(super) fn form(&self) -> Form {
        self.reader.form()
    }
}

impl Ads<'_, Empty> {
    /// What there is to tell of the portion that has been read: errors, and how many ads and lines it had.
    pub(super) fn portion(&mut self) -> (Vec<AdError>, u64, u64) {
        let errors = self.kept.as_mut().map(std::mem::take).unwrap_or_default();
        (errors, std::mem::take(&mut self.read), self.reader.lines())
    }
}

/// Makes streams for portions of another one.
pub(super) struct Like<'a> {
    hand: AdReader<Empty>,
    errors: Errors<'a>,
}

impl<'a> Like<'a> {
    /// A stream with nothing in it yet.
    pub(super) fn hand(&self) -> Ads<'a, Empty> {
        Ads { reader: self.hand.hand(), errors: self.errors.clone(), kept: Some(Vec::new()), read: 0 }
    }
}

/// Tells errors of a stream.
#[derive(Clone)]
pub(super) struct Errors<'a> {
    name: String,
    session: &'a Session,
    strict: bool,
    count: u64,
}

impl Errors<'_> {
    /// The error of an input that cannot be read.
    pub(super) fn problem(&self) -> Problem {
        Problem::cannot_read(&self.name)
    }

    pub(super) fn tell(&mut self, errors: &[AdError]) -> anyhow::Result<()> {
        for error in errors {
            if self.strict {
                return Err(malformed(error, &self.name).into());
            }
            self.count += 1;
            if self.count <= MOST_MESSAGES {
                let help = error.help.map(|help| format!("\n    hint: {help}")).unwrap_or_default();
                let text = error.caret(&self.name).render(&error.message);
                self.session.warn(&format!("skipped: {text}{help}"));
            }
        }
        Ok(())
    }

    /// The stream has ended, with so many ads read.
    pub(super) fn end(&mut self, read: u64) -> anyhow::Result<()> {
        if self.count > MOST_MESSAGES {
            self.session.warn(&format!("{}: {} errors in all", self.name, self.count));
        }
        if self.count > 0 && read == 0 {
            return Err(Problem::unreadable(format!("no ad could be read from {}", self.name))
                .hint("the forms are long, json, jsonl, xml, new; name one with --from")
                .into());
        }
        self.count = 0;
        Ok(())
    }
}

/// Opens a second stream.
pub(super) fn open<'a>(
    path: &OsStr,
    cli: &Cli,
    dialect: Dialect,
    session: &'a Session,
) -> anyhow::Result<Ads<'a, Box<dyn Read>>> {
    let name = path.to_string_lossy().into_owned();
    let read: Box<dyn Read> = if path.as_bytes() == b"-" {
        Box::new(io::stdin())
    } else {
        let problem = || Problem::cannot_read(&name);
        let file = std::fs::File::open(path).with_context(problem)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(problem().caused_by(io::Error::from(io::ErrorKind::IsADirectory)).into());
        }
        Box::new(file)
    };
    Ok(Ads::new(read, name, cli, dialect, session))
}
