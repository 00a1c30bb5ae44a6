//! Checks expressions like an editor, one per line of standard input. Reports syntax errors, valid expressions that
//! probably do not mean what their author intended, and unknown attributes: `echo "Cpus = 4 && Memry > 2" | cargo run
//! --example lint`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::io;

use htc_classad::references::{self, ReferenceSpelling};
use htc_classad::{ClassAd, Context, Dialect, Expr, LineCaret, Span, System, pitfalls};

fn main() -> io::Result<()> {
    let known = ClassAd::from([("Cpus", 1), ("Memory", 1), ("Disk", 1)]);
    for (number, line) in (1..).zip(io::stdin().lines()) {
        let line = line?;
        let report = |span: Span, message: &str| {
            let caret = LineCaret { source: "stdin", line: number, text: line.as_bytes(), span, cut: 0 };
            println!("{}", caret.render(message));
        };
        for pitfall in pitfalls::find(&line, Dialect::new_syntax()) {
            report(pitfall.span, &format!("{}; {}", pitfall.message, pitfall.hint));
        }
        match Expr::parse(&line) {
            Err(error) => report(error.span, &error.to_string()),
            Ok(expr) => {
                let context = Context::new(&System).my(&known);
                for name in references::external(&expr, context, ReferenceSpelling::Full).iter().flatten() {
                    println!("stdin:{number}: no known attribute is called {name}");
                }
            }
        }
    }
    Ok(())
}
