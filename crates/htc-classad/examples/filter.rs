//! Prints the ads of a file for which a constraint is true: `cargo run --example filter jobs.ads 'RequestCpus > 1'`.
//!
//! The program stops at the first ad that cannot be read completely, as `cargo run --example filter bad.ads true`
//! shows.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::env::args;
use std::fs::File;

use htc_classad::format::long;
use htc_classad::stream::AdReader;
use htc_classad::{Context, Expr, System};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = args().skip(1);
    let (file, constraint) = words.next().zip(words.next()).ok_or("usage: filter FILE CONSTRAINT")?;
    let constraint = Expr::parse(constraint)?;
    for ad in AdReader::new(File::open(&file)?, None) {
        let ad = ad.map_err(|error| format!("{file}: {error}"))?;
        if Context::new(&System).my(&ad).holds(&constraint) {
            println!("{}", String::from_utf8_lossy(&long::print(&ad)));
        }
    }
    Ok(())
}
