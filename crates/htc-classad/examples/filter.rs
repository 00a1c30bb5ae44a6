//! Prints the ads of a file for which a constraint is true: `cargo run --example filter jobs.ads 'RequestCpus > 1'`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::env::args_os;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;

use htc_classad::format::long;
use htc_classad::stream::AdReader;
use htc_classad::{Context, Expr, System};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = args_os().skip(1);
    let (file, constraint) = words.next().zip(words.next()).ok_or("usage: filter FILE CONSTRAINT")?;
    let constraint = Expr::parse(&constraint.into_vec())?;
    let mut ads = AdReader::new(File::open(file)?, None);
    while let Some(record) = ads.next_ad()? {
        if Context::new(&System).my(&record.ad).holds(&constraint) {
            println!("{}", String::from_utf8_lossy(&long::print(&record.ad)));
        }
    }
    Ok(())
}
