//! Prints the values of expressions for each ad of a file, in columns:
//! `cargo run --example columns jobs.ads Owner 'RequestMemory / 1024.0'`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::fs::File;

use htc_classad::stream::AdReader;
use htc_classad::{Context, Expr, System, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("usage: columns FILE EXPRESSION...")?;
    let columns: Vec<Expr> = words.map(|text| text.parse()).collect::<Result<_, _>>()?;
    for ad in AdReader::new(File::open(file)?, None) {
        let ad = ad?;
        let context = Context::new(&System).my(&ad);
        let values = columns.iter().map(|expr| match context.eval(expr) {
            Value::Str(text) => text.to_string(),
            value => value.to_string(),
        });
        println!("{}", values.collect::<Vec<_>>().join("\t"));
    }
    Ok(())
}
