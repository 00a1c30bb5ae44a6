//! `--time N`: measures the duration of calls of the hook.

use std::io::Write as _;
use std::time::Duration;

use super::call;
use super::options::SharedOptions;
use crate::cli::common::{Painter, Problem, ProgramContext, Status, render_table, stdout};
use crate::hook_testing::{CallSetup, CallTiming, Interruptible};
use crate::os::Reactor;
use crate::process::Exit;

/// Calls the hook `times` times and prints the durations of the calls.
pub(super) fn time_calls(
    setup: &CallSetup,
    reactor: &mut Reactor,
    times: u32,
    cli: &SharedOptions,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    if let Some(reason) = &setup.refusal {
        return Err(Problem::new(Status::No, reason.clone()).into());
    }
    let timing = match setup.measure_time(reactor, times).map_err(call::call_problem)? {
        Interruptible::Finished(timing) => timing,
        Interruptible::Interrupted(number) => {
            return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
        }
    };
    let (count, ends) = (timing.durations.len(), &timing.ends);
    match cli.output.wants_json() {
        true => {
            let text = cli.output.render_json(&[timing_to_json(&timing)])?.unwrap_or_default();
            stdout().write_all(text.as_bytes())?;
        }
        false => {
            session.write_stderr("milliseconds per call\n");
            let painted = std::io::IsTerminal::is_terminal(&std::io::stdout()) && !cli.output.quiet;
            let painter = if painted { Painter::stderr(cli.output.color) } else { Painter::plain() };
            stdout().write_all(render_timing(&timing, painter).as_bytes())?;
            for (end, times) in ends {
                session.write_stderr(&format!("{times} of {count}: {end}\n"));
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

fn render_timing(timing: &CallTiming, painter: Painter) -> String {
    let columns = [">CALLS", ">LEAST", ">MEDIAN", ">P90", ">P99", ">MOST", ">MEAN", ">USER", ">SYSTEM"];
    let count = u32::try_from(timing.durations.len().max(1)).unwrap_or(u32::MAX);
    let ms = |time: Duration| format!("{:.2}", milliseconds(time));
    let mut row = vec![timing.durations.len().to_string()];
    row.extend([0.0, 0.5, 0.9, 0.99, 1.0].map(|share| ms(timing.quantile(share))));
    row.extend(
        [timing.durations.iter().sum(), timing.user, timing.system].map(|all: Duration| ms(all / count)),
    );
    render_table(&columns, [row], painter)
}

fn timing_to_json(timing: &CallTiming) -> serde_json::Value {
    let each = |time: Duration| milliseconds(time) / timing.durations.len().max(1) as f64;
    let at = |share: f64| milliseconds(timing.quantile(share));
    serde_json::json!({
        "calls": timing.durations.len(),
        "milliseconds": {
            "least": at(0.0),
            "median": at(0.5),
            "p90": at(0.9),
            "p99": at(0.99),
            "most": at(1.0),
            "mean": each(timing.durations.iter().sum()),
            "user": each(timing.user),
            "system": each(timing.system),
        },
        "ends": timing.ends,
    })
}
