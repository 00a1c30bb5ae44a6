//! Matches a job with two slots, and explains which clause rejects the one that does not match.

#![allow(clippy::print_stdout, reason = "it is a program")]

use htc_classad::{ClassAd, Context, Dialect, MatchAd, System, explain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dialect = Dialect::new_syntax();
    let job = ClassAd::parse_new(
        b"[ RequestCpus = 4; Requirements = TARGET.Cpus >= RequestCpus && TARGET.OpSys == \"LINUX\" ]",
        dialect,
    )?;
    for slot in [
        &b"[ Name = \"large\"; Cpus = 8; OpSys = \"LINUX\"; Requirements = TARGET.RequestCpus > 2 ]"[..],
        b"[ Name = \"small\"; Cpus = 2; OpSys = \"LINUX\"; Requirements = true ]",
    ] {
        let slot = ClassAd::parse_new(slot, dialect)?;
        let name = Context::new(&System).my(&slot).string("Name").unwrap_or_default();
        if MatchAd::new(&System, &job, &slot).symmetric() {
            println!("{name} matches");
            continue;
        }
        let context = Context::new(&System).my(&job).target(&slot);
        let requirements = job.get("Requirements").ok_or("the job has no Requirements")?;
        match explain::first_not_true(&context, &requirements) {
            Some(clause) => println!("{name} does not match: {}", clause.expr),
            None => println!("{name} does not want the job"),
        }
    }
    Ok(())
}
