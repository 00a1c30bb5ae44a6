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
    AdErrorReporter, AdFormat, InputKind, MAX_ERROR_MESSAGES, OpenInput, PipedStdin, PipedStdout, Problem,
    ProgramContext, Status, exit_when_reader_is_gone, malformed_ad_problem, open_stdio_pipe,
};
use crate::text::calendar::CivilTime;
use crate::text::plural::counted;
use crate::user_log::{EventReadError, EventReader};
use crate::world::World;

/// Attribute that each event ad has (`ULogEvent::toClassAd`).
const EVENT_TYPE_NUMBER: &str = "EventTypeNumber";

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

/// Prints the events of an event log as ads. The exit status is 3 if a part of the log is not an event.
pub(super) fn print_log_events(
    cli: &StarterRunCli,
    path: &Path,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    if path.is_dir() {
        let message = format!("'{}' is a directory, not a log", path.display());
        return Err(Problem::unreadable(message).hint("give the path of the job's log (UserLog)").into());
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
    let result = match detect_log_form(&mut input).with_context(unreadable)? {
        Some(form) => print_event_ads(AdReader::new(input, Some(form)), &name, &mut printer, session),
        None => {
            let calendar = EventCalendar { year, world: &world };
            print_text_events(EventReader::new(input), &name, &calendar, &mut printer, session)
        }
    };
    let damaged = match result {
        // The reader of standard output has ended.
        Err(EventLogError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(EventLogError::Print(error)) => return Err(error).context("cannot print the events"),
        Err(EventLogError::Read(error)) => return Err(error).with_context(unreadable),
        Err(EventLogError::Refused(problem)) => return Err(problem.into()),
        Ok(damaged) => damaged,
    };
    if printer.count == 0 && damaged > 0 && kind != InputKind::EventLog {
        return Err(not_an_event_log(&name).into());
    }
    match printer.end() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other.context("cannot print the events")?,
    }
    Ok(Status::Done)
}

/// Reason why no further events are printed.
enum EventLogError {
    /// The log cannot be read.
    Read(io::Error),
    /// The events cannot be printed.
    Print(io::Error),
    /// The log is damaged or not an event log, so it is refused.
    Refused(Problem),
}

fn not_an_event_log(name: &str) -> Problem {
    Problem::unreadable(format!("'{name}' is not a job's event log"))
        .hint("'htc-classad-eval --ads FILE' reads a file of ads or a history")
}

/// Prints the ads of a log in JSON or XML, each of which is an event. Returns the number of errors.
fn print_event_ads(
    mut reader: AdReader<impl BufRead>,
    name: &str,
    printer: &mut EventAdPrinter,
    session: &ProgramContext,
) -> Result<u64, EventLogError> {
    let mut errors = AdErrorReporter::new(name.to_owned(), session);
    let mut damaged = 0;
    while let Some(record) = reader.next_record().map_err(EventLogError::Read)? {
        if let (Some(error), true) = (record.errors.first(), session.is_strict()) {
            return Err(EventLogError::Refused(malformed_ad_problem(error, name)));
        }
        errors.report(&record).map_err(EventLogError::Refused)?;
        if !record.ad.contains(EVENT_TYPE_NUMBER) {
            let place = format!("{name}: ad {}", printer.count + damaged + 1);
            let problem =
                Problem::unreadable(format!("{place} is not an event: it has no {EVENT_TYPE_NUMBER}"));
            if printer.count == 0 || session.is_strict() {
                return Err(EventLogError::Refused(
                    problem.hint("'htc-classad-eval --ads FILE' reads a file of ads or a history"),
                ));
            }
            damaged += 1;
            session.record_unreadable_ad();
            session.report(&problem.into());
            continue;
        }
        printer.print(&record.ad, 0).map_err(EventLogError::Print)?;
    }
    Ok(damaged + errors.end())
}

/// Converter of the times of events in a log.
struct EventCalendar<'a> {
    /// Year of times without one: 25.14 uses the current year.
    year: Option<i32>,
    world: &'a dyn World,
}

/// Prints the events of a log in text form as ads. Returns the number of errors.
fn print_text_events(
    events: EventReader<impl BufRead>,
    name: &str,
    calendar: &EventCalendar<'_>,
    printer: &mut EventAdPrinter,
    session: &ProgramContext,
) -> Result<u64, EventLogError> {
    let mut ad = ClassAd::new();
    let mut damaged = 0;
    for event in events {
        match event {
            Ok(mut event) => {
                event.time.year = event.time.year.or(calendar.year);
                event.time = event.time.to_local(|epoch| calendar.world.zone(epoch));
                event.write_ad(&mut ad);
                printer.print(&ad, event.number.into()).map_err(EventLogError::Print)?;
            }
            Err(EventReadError::Io(error)) => return Err(EventLogError::Read(error)),
            Err(error) => {
                let problem = Problem::unreadable(format!("{name}:{error}"));
                if session.is_strict() {
                    return Err(EventLogError::Refused(problem));
                }
                damaged += 1;
                session.record_unreadable_ad();
                if damaged <= MAX_ERROR_MESSAGES {
                    session.report(&problem.into());
                }
            }
        }
    }
    if damaged > MAX_ERROR_MESSAGES {
        session.warn(&format!("{name}: {} in total", counted(damaged, "error")));
    }
    Ok(damaged)
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
