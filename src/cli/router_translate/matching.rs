//! `htc-router-translate match`: which route does each job get, and why.

use std::io::{self, BufWriter, Write};

use bstr::ByteSlice;
use clap::Args;
use serde_json::json;

use super::options::VerbOptions;
use super::router::{self, JsonRows, Reasons, Setup, StateOptions};
use super::stream::each_ad;
use crate::classad::Truth;
use crate::cli::common::{Problem, Session as Program, Status, brief, pipe_ends};
use crate::router::explain::{Explanation, explain, reason};
use crate::router::{Choice, Chooser, Route};

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
    let world = world.strict(setup.config.is_strict());
    let mut states = setup.states(&arguments.state, &world)?;
    let (stdin, stdout) = pipe_ends();
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let mut chooser = Chooser::new(&setup.table, &setup.knobs, router::owner(&arguments.state), &world);
    let mut umbrella = chooser
        .umbrella(&states)
        .map_err(|error| Problem::unreadable(brief(&error.to_string()).into_owned()))?
        .filter(|_| setup.table.enabled);
    let mut json = JsonRows::new(&arguments.options.output);
    let (mut turn, mut managed) = (0, 0);
    let mut reasons = Reasons::default();
    let mut counts = vec![0u64; setup.table.routes.len()];
    let malformed = each_ad((&arguments.options.inputs, &world), program, Some(stdin), |mut job| {
        if arguments.state.ignore_prior_routing {
            router::forget_routing(&mut job);
        }
        let key = router::job_key(&job, &world);
        let wants_story = !arguments.summary && (arguments.explain || json.is_some());
        // The story is told with the states as they are before this job counts.
        let before = wants_story.then(|| states.clone());
        let full = setup.knobs.max_jobs >= 0 && managed >= setup.knobs.max_jobs;
        let choice = match &umbrella {
            Some(_) if full => Choice::Stopped,
            Some(umbrella) => chooser.choose(umbrella, &job, &mut states, &mut turn),
            None => Choice::AllFull,
        };
        let chosen = match choice {
            Choice::Route(at) => Some(at),
            _ => None,
        };
        let story = wants_story.then(|| {
            let states = before.as_ref().unwrap_or(&states);
            explain(&chooser, &setup.table, umbrella.as_ref(), states, &job, usize::MAX, &world)
        });
        let mut why = String::new();
        match chosen {
            Some(at) => {
                managed += 1;
                counts[at] += 1;
            }
            None => {
                let reason = match choice {
                    Choice::Stopped => {
                        format!("the router is full (JOB_ROUTER_MAX_JOBS = {})", setup.knobs.max_jobs)
                    }
                    _ if !setup.table.enabled => "routing is disabled".into(),
                    _ => match &story {
                        Some(story) => story.reason(),
                        None => reason(&chooser, &setup.table, umbrella.as_ref(), &states, &job, &world),
                    },
                };
                why.clone_from(&reason);
                reasons.add(reason);
            }
        }
        // The umbrella is made anew when a route has filled up, as the next pass of the daemon would.
        if choice == Choice::AllFull && umbrella.is_some() {
            umbrella = None;
        }
        if arguments.summary {
            return Ok(());
        }
        let route = chosen.map(|at| setup.table.routes[at].name.as_bstr());
        if let Some(json) = &mut json {
            if let Some(story) = &story {
                let reason = chosen.is_none().then_some(why.as_str());
                json.row(&mut out, &story_json(&key, route.map(|r| r.as_bytes()), reason, story))?;
            }
        } else if arguments.explain {
            let story = story.as_ref().map(|story| story.lines(&key, route.map(|r| r.as_bytes())));
            story.into_iter().flatten().try_for_each(|line| writeln!(out, "{line}"))?;
        } else {
            match route {
                Some(route) => writeln!(out, "{key}\t{route}")?,
                None => writeln!(out, "{key}\t-\t{why}")?,
            }
        }
        Ok(())
    })?;
    match json {
        Some(json) if !arguments.summary => json.end(&mut out)?,
        Some(mut json) => {
            let count = |(at, route): (usize, &Route)| serde_json::json!({ "route": route.name.to_string(), "jobs": counts[at] });
            let routes: Vec<_> = setup.table.in_order().map(count).collect();
            let summary = serde_json::json!({ "routes": routes, "not_routed": reasons.total(), "reasons": reasons.json() });
            json.row(&mut out, &summary)?;
            json.end(&mut out)?;
        }
        None => {}
    }
    finish(arguments, program, &setup, &counts, &reasons, &mut out)?;
    Ok(if reasons.total() + malformed > 0 { Status::No } else { Status::Done })
}

fn finish(
    arguments: &Arguments,
    program: &Program,
    setup: &Setup,
    counts: &[u64],
    reasons: &Reasons,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = Vec::new();
    let json = arguments.options.output.json || arguments.options.output.jsonl;
    if arguments.summary && json {
        return out.flush();
    }
    if arguments.summary {
        for (at, route) in setup.table.in_order() {
            lines.push(format!("{}: {} jobs", route.name, counts[at]));
        }
    }
    if reasons.total() > 0 {
        lines.extend(reasons.lines("not routed"));
    }
    if arguments.summary {
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    } else if !arguments.options.output.quiet && !lines.is_empty() {
        out.flush()?;
        program.tell(&format!("{}\n", lines.join("\n")));
    }
    out.flush()
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
pub(super) fn story_json(
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
