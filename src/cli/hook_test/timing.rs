//! `--time N`: how long calls of the hook take.

use std::io::Write as _;
use std::time::Duration;

use super::call;
use super::options::Shared;
use crate::cli::common::{Painter, Problem, Session, Status, stdout, table};
use crate::hook_testing::{Setup, Timing};
use crate::os::Reactor;
use crate::process::Exit;

/// Calls the hook so many times and prints how long it took.
pub(super) fn time(
    setup: &Setup,
    reactor: &mut Reactor,
    times: u32,
    cli: &Shared,
    session: &Session,
) -> anyhow::Result<Status> {
    if let Some(reason) = &setup.refusal {
        return Err(Problem::new(Status::No, reason.clone()).into());
    }
    let timing = match setup.time(reactor, times).map_err(call::problem)? {
        Ok(timing) => timing,
        Err(number) => return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false })),
    };
    let (count, ends) = (timing.took.len(), &timing.ends);
    match cli.output.wants_json() {
        true => {
            let text = cli.output.rows(&[row(&timing)])?.unwrap_or_default();
            stdout().write_all(text.as_bytes())?;
        }
        false => {
            session.tell("milliseconds a call\n");
            let painted = std::io::IsTerminal::is_terminal(&std::io::stdout()) && !cli.output.quiet;
            let painter = if painted { Painter::stderr(cli.output.color) } else { Painter::plain() };
            stdout().write_all(shown(&timing, painter).as_bytes())?;
            for (end, times) in ends {
                session.tell(&format!("{times} of {count}: {end}\n"));
            }
        }
    }
    Ok(match ends.len() == 1 && ends.keys().all(|end| end == "exited with status 0") {
        true => Status::Done,
        false => Status::No,
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn shown(timing: &Timing, painter: Painter) -> String {
    let columns = [">CALLS", ">LEAST", ">MEDIAN", ">P90", ">P99", ">MOST", ">MEAN", ">USER", ">SYSTEM"];
    let count = u32::try_from(timing.took.len().max(1)).unwrap_or(u32::MAX);
    let ms = |time: Duration| format!("{:.2}", milliseconds(time));
    let mut row = vec![timing.took.len().to_string()];
    row.extend([0.0, 0.5, 0.9, 0.99, 1.0].map(|share| ms(timing.at(share))));
    row.extend([timing.took.iter().sum(), timing.user, timing.system].map(|all: Duration| ms(all / count)));
    table(&columns, [row], painter)
}

fn row(timing: &Timing) -> serde_json::Value {
    let each = |time: Duration| milliseconds(time) / timing.took.len().max(1) as f64;
    let at = |share: f64| milliseconds(timing.at(share));
    serde_json::json!({
        "calls": timing.took.len(),
        "milliseconds": {
            "least": at(0.0),
            "median": at(0.5),
            "p90": at(0.9),
            "p99": at(0.99),
            "most": at(1.0),
            "mean": each(timing.took.iter().sum()),
            "user": each(timing.user),
            "system": each(timing.system),
        },
        "ends": timing.ends,
    })
}
