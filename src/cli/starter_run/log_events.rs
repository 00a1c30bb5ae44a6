//! `--events-of FILE`: prints a job's log, in any format, as ads.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use anyhow::Context;

use super::options::StarterRunCli;
use crate::classad::ClassAd;
use crate::classad::format::json::{self, JsonLayout};
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::stream::{AdForm, AdReader};
use crate::cli::common::{
    AdErrorReporter, AdFormat, InputKind, OpenInput, PipedStdin, PipedStdout, Problem, ProgramContext,
    Status, exit_when_reader_is_gone, open_stdio_pipe,
};
use crate::text::calendar::CivilTime;
use crate::user_log::{EventReadError, EventReader};
use crate::world::World;

/// Number of kinds of events for which the order of attributes is remembered.
const KIND_COUNT: usize = 64;

/// Detects the format of the ads in an event log from its start; returns `None` for a log in text form.
fn detect_log_form(input: &mut impl BufRead) -> io::Result<Option<AdForm>> {
    loop {
        let start = input.fill_buf()?;
        let blank = start.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match start.get(blank) {
            Some(b'<') => return Ok(Some(AdForm::Xml)),
            Some(b'{' | b'[') => return Ok(Some(AdForm::Json)),
            None if blank > 0 => input.consume(blank),
            Some(_) | None => return Ok(None),
        }
    }
}

/// Prints the events of an event log as ads. The exit status is 1 if a part of the log is not an event.
pub(super) fn print_log_events(
    cli: &StarterRunCli,
    path: &Path,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    if path.is_dir() {
        let message = format!("'{}' is a directory, not a log", path.display());
        return Err(Problem::unreadable(message).hint("name the job's log (UserLog)").into());
    }
    exit_when_reader_is_gone();
    let (stdin, output) = open_stdio_pipe();
    let input = OpenInput::open(path, stdin)?;
    let (name, kind) = (input.name.clone(), input.kind);
    if kind == InputKind::QueueLog {
        return Err(Problem::cannot_read(&name)
            .caused_by("it is a queue log, not a job's event log")
            .hint("'htc-classad-eval --ads FILE' and 'htc-router-status queue FILE' read it")
            .into());
    }
    let mut input = BufReader::with_capacity(PipedStdin::BUFFER_SIZE, input.reader);
    let world = cli.clock.world();
    let now = world.now().epoch();
    let year = i32::try_from(CivilTime::from_seconds(now, i64::from(world.zone(now).offset)).year).ok();
    let unreadable = || Problem::cannot_read(&name);
    let mut printer = EventAdPrinter {
        output,
        format: cli.output.ad_format().unwrap_or_default(),
        count: 0,
        long_ads: vec![ListWriter::new(ListForm::Long, AttributeOrder::Internal); KIND_COUNT],
        text: Vec::new(),
    };
    let mut ad = ClassAd::new();
    let mut bad = 0u64;
    let mut unreadable_log = None;
    let printed = match detect_log_form(&mut input).with_context(unreadable)? {
        Some(form) => {
            let mut reader = AdReader::new(input, Some(form));
            let mut errors = AdErrorReporter::new(name.clone(), session);
            loop {
                let Some(record) = reader.next_record().with_context(unreadable)? else {
                    bad += errors.end();
                    break Ok(());
                };
                errors.report(&record)?;
                if let Err(error) = printer.print(&record.ad, 0) {
                    break Err(error);
                }
            }
        }
        None => EventReader::new(input).try_for_each(|event| match event {
            Ok(mut event) => {
                // 25.14 uses the current year for a time without a year.
                event.time.year = event.time.year.or(year);
                event.time = event.time.to_local(|epoch| world.zone(epoch));
                event.write_ad(&mut ad);
                printer.print(&ad, event.number.into())
            }
            Err(EventReadError::Io(error)) => {
                unreadable_log = Some(error);
                Err(io::Error::other("the log cannot be read"))
            }
            Err(error) => {
                bad += 1;
                session.warn(&format!("{name}: {error}"));
                Ok(())
            }
        }),
    };
    if let Some(error) = unreadable_log {
        return Err(error).with_context(unreadable);
    }
    if printer.count == 0 && bad > 0 && kind != InputKind::EventLog {
        return Err(Problem::unreadable(format!("'{name}' is not a job's event log"))
            .hint("'htc-classad-eval --ads FILE' reads a file of ads or a history")
            .into());
    }
    match printed.and_then(|()| printer.end()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other.context("cannot print the events")?,
    }
    Ok(if bad == 0 { Status::Done } else { Status::No })
}

/// Printer of event ads to standard output. Each ad is printed as soon as it is available.
struct EventAdPrinter {
    output: PipedStdout,
    format: AdFormat,
    count: u64,
    /// Writers of long ads, one for each kind of event. Each writer remembers the order of attributes.
    long_ads: Vec<ListWriter>,
    text: Vec<u8>,
}

impl EventAdPrinter {
    /// Prints an ad; `kind` is the number of the kind of event.
    fn print(&mut self, ad: &ClassAd, kind: usize) -> std::io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        match self.format {
            AdFormat::Long => {
                self.count += 1;
                self.text = text;
                if ad.is_empty() {
                    return self.output.write_all(b"\n");
                }
                return self.long_ads[kind % KIND_COUNT].write(ad, &mut self.output).map(|_| ());
            }
            AdFormat::Json => {
                text.extend_from_slice(if self.count == 0 { b"[\n" } else { b",\n" });
                json::push(ad, JsonLayout::Indented, &mut text);
            }
            AdFormat::Jsonl => {
                json::push(ad, JsonLayout::OneLine, &mut text);
                text.push(b'\n');
            }
        }
        self.count += 1;
        let written = self.output.write_all(&text);
        self.text = text;
        written
    }

    fn end(&mut self) -> std::io::Result<()> {
        if self.format == AdFormat::Json {
            self.output.write_all(if self.count == 0 { b"[\n]\n" } else { b"\n]\n" })?;
        }
        self.output.flush()
    }
}
