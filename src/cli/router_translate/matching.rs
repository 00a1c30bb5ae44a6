//! `htc-router-translate match`: which route does each job get, and why.

use std::io::{self, BufWriter, Write};

use bstr::ByteSlice;
use clap::Args;
use serde_json::json;

use super::options::VerbOptions;
use super::router::{self, JsonRows, Reasons, Setup, StateOptions};
use super::stream::each_ad;
use crate::classad::{ClassAd, Truth};
use crate::cli::common::{Output, Session as Program, Status, pipe_ends};
use crate::router::explain::Explanation;
use crate::router::{Choice, Pass, Route, forget_routing};
use crate::runner::configured_world;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Tell for each job what each route said to it
    #[arg(long)]
    explain: bool,
    /// Only counts: jobs of each route, and why the others got none
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    state: StateOptions,
    #[command(flatten)]
    options: VerbOptions,
}

/// Carries it out: 0 when every job got a route, 1 when one got none.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = arguments.options.clock.world();
    let setup = Setup::load(&arguments.options.config, arguments.options.quirks.quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let pass = setup.pass(&arguments.state, &world)?;
    let (stdin, stdout) = pipe_ends();
    let mut report = Report {
        arguments,
        setup: &setup,
        out: BufWriter::with_capacity(64 << 10, stdout),
        json: JsonRows::new(&arguments.options.output),
        counts: vec![0; setup.table.routes.len()],
        reasons: Reasons::default(),
        pass,
    };
    let malformed = each_ad((&arguments.options.inputs, &world), program, Some(stdin), |mut job| {
        if arguments.state.ignore_prior_routing {
            forget_routing(&mut job);
        }
        report.job(&router::job_key(&job, &world), &job)
    })?;
    let missed = report.reasons.total();
    report.end(program)?;
    Ok(if missed + malformed > 0 { Status::No } else { Status::Done })
}

/// What is told of the jobs.
struct Report<'a> {
    arguments: &'a Arguments,
    setup: &'a Setup,
    pass: Pass<'a>,
    out: BufWriter<Output>,
    json: Option<JsonRows>,
    /// Jobs of each route.
    counts: Vec<u64>,
    reasons: Reasons,
}

impl Report<'_> {
    /// Finds the route of a job, and tells it.
    fn job(&mut self, key: &str, job: &ClassAd) -> anyhow::Result<()> {
        let Arguments { summary, explain, .. } = *self.arguments;
        let wants_story = !summary && (explain || self.json.is_some());
        // The story is told with the states as they are before this job counts.
        let before = wants_story.then(|| self.pass.states().to_vec());
        let choice = self.pass.choose(job);
        let story = before.map(|states| self.pass.explain(&states, job, usize::MAX));
        let chosen = match choice {
            Choice::Route(at) => Ok(at),
            _ => Err(self.pass.reason(choice, job, story.as_ref())),
        };
        match &chosen {
            Ok(at) => self.counts[*at] += 1,
            Err(reason) => self.reasons.add(reason.clone()),
        }
        // The umbrella is made anew when a route has filled up, as the next pass of the daemon would.
        if choice == Choice::AllFull {
            self.pass.end();
        }
        if summary {
            return Ok(());
        }
        let route = chosen.as_ref().map(|at| self.setup.table.routes[*at].name.as_bstr());
        if let Some(json) = &mut self.json {
            if let Some(story) = &story {
                let (name, reason) = (route.as_deref().ok(), route.as_ref().err().map(|why| why.as_str()));
                json.row(&mut self.out, &story_json(key, name.map(|name| &**name), reason, story))?;
            }
        } else if let Some(story) = story {
            let lines = story.lines(key, route.ok().map(|name| &**name));
            lines.into_iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        } else {
            match route {
                Ok(route) => writeln!(self.out, "{key}\t{route}")?,
                Err(why) => writeln!(self.out, "{key}\t-\t{why}")?,
            }
        }
        Ok(())
    }

    /// Tells what came of all of them.
    fn end(mut self, program: &Program) -> io::Result<()> {
        let Arguments { summary, ref options, .. } = *self.arguments;
        let is_json = self.json.is_some();
        if let Some(mut json) = self.json.take() {
            if summary {
                let summary = self.summary();
                json.row(&mut self.out, &summary)?;
            }
            json.end(&mut self.out)?;
        }
        if summary && is_json {
            return self.out.flush();
        }
        let mut lines = Vec::new();
        if summary {
            let jobs = |(at, route): (usize, &Route)| format!("{}: {} jobs", route.name, self.counts[at]);
            lines.extend(self.setup.table.in_order().map(jobs));
        }
        if self.reasons.total() > 0 {
            lines.extend(self.reasons.lines("not routed"));
        }
        if summary {
            lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        } else if !options.output.quiet && !lines.is_empty() {
            self.out.flush()?;
            program.tell(&format!("{}\n", lines.join("\n")));
        }
        self.out.flush()
    }

    /// Only counts, as JSON.
    fn summary(&self) -> serde_json::Value {
        let count = |(at, route): (usize, &Route)| json!({ "route": route.name.to_string(), "jobs": self.counts[at] });
        let routes: Vec<_> = self.setup.table.in_order().map(count).collect();
        json!({ "routes": routes, "not_routed": self.reasons.total(), "reasons": self.reasons.json() })
    }
}

fn truth_word(truth: Truth) -> &'static str {
    match truth {
        Truth::True => "true",
        Truth::False => "false",
        Truth::Undefined => "undefined",
        Truth::Error => "error",
    }
}

/// One job's story as a JSON object; `reason` where it gets no route.
fn story_json(
    job: &str,
    chosen: Option<&[u8]>,
    reason: Option<&str>,
    story: &Explanation,
) -> serde_json::Value {
    let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
    let routes: Vec<_> = story
        .routes
        .iter()
        .map(|seen| {
            json!({
                "route": text(&seen.route),
                "accepts": seen.full.is_none(),
                "limit": seen.full.map(|full| full.to_string()),
                "requirements": truth_word(seen.wants),
                "clause": seen.clause.as_ref().map(|clause| text(&clause.text)),
                "because": seen.clause.as_ref().map(|clause| clause.because.clone()),
                "note": seen.trap,
            })
        })
        .collect();
    json!({
        "job": job,
        "route": chosen.map(text),
        "candidate": truth_word(story.umbrella),
        "left_out": story.left_out.as_ref().map(|(name, clause)| {
            json!({ "by": name, "clause": text(&clause.text), "because": clause.because })
        }),
        "reason": reason,
        "routes": routes,
    })
}
