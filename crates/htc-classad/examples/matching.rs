//! Matches a job with two slots, and explains which clause rejects the one that does not match.

#![allow(clippy::print_stdout, reason = "it is a program")]

use htc_classad::{ClassAd, MatchAd, System, explain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job: ClassAd =
        r#"[ RequestCpus = 4; Requirements = TARGET.Cpus >= RequestCpus && TARGET.OpSys == "LINUX" ]"#
            .parse()?;
    for slot in [
        r#"[ Name = "large"; Cpus = 8; OpSys = "LINUX"; Requirements = TARGET.RequestCpus > 2 ]"#,
        r#"[ Name = "small"; Cpus = 2; OpSys = "LINUX"; Requirements = true ]"#,
    ] {
        let slot: ClassAd = slot.parse()?;
        let pair = MatchAd::new(&System, &job, &slot);
        let name = &slot["Name"];
        if pair.symmetric() {
            println!("{name} matches");
            continue;
        }
        match explain::first_not_true(&pair.left(), &job["Requirements"]) {
            Some(clause) => println!("{name} does not match: {}", clause.expr),
            None => println!("{name} does not want the job"),
        }
    }
    Ok(())
}
