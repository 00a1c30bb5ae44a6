//! Usage of `condor_q`, and refusals of its options.

use std::io::Write;

use crate::cli::common::{ProgramContext, Status, stdout};

/// Text of `-help`.
pub(super) const USAGE: &str =
    "Usage: condor_q -jobads[:auto|long|xml|json|new] <file> [restrictions] [output options] [analysis options]
       condor_q -userlog <file> [restrictions] [output options] [analysis options]
    [restrictions]: <cluster> <cluster>.<proc> <owner> -constraint <expr> -run -hold -hold-codes -idle -submitter <name>
    [output options]: -batch -nobatch -totals -dag -io -grid[:ec2] -autocluster -factory -jobset -wide[:<width>]
        -autoformat[:jlhVrTY,tng] <attr>... -af[:...] <attr>... -aaf[:VrTY] <attr>... -format <fmt> <attr>
        -print-format <file> -long[:<form>] -json -xml -attributes X,Y,... -cputime -cumulative-time
        -dry-run -capture-raw-results[:<file>]
    [analysis options]: -better-analyze[:<qualifiers>] -analyze[:...] -reverse-analyze -slotads[:<form>] <file>
        -machine <name> -mconstraint <expr> -userprios <file> -verbose -unmatchable
        qualifiers: summary, reverse, priority
This condor_q reads ads and event logs from files; it asks no schedd.
";

/// Refusal of a command line: its message, and true if the usage follows the message.
pub(super) struct OptionRefusal {
    pub(super) text: String,
    pub(super) has_usage: bool,
}

impl OptionRefusal {
    pub(super) fn new(message: &str) -> Self {
        OptionRefusal { text: format!("Error: {message}\n"), has_usage: false }
    }

    pub(super) fn with_usage(message: &str) -> Self {
        OptionRefusal { text: format!("Error: {message}\n"), has_usage: true }
    }

    /// Creates the refusal of options that contradict each other.
    pub(super) fn conflict(message: &str) -> Self {
        OptionRefusal { text: format!("{message}\n"), has_usage: true }
    }

    /// Prints the reason, as the tool does.
    pub(super) fn report(self, session: &ProgramContext) -> anyhow::Result<Status> {
        session.write_stderr(&self.text);
        if self.has_usage {
            stdout().write_all(USAGE.as_bytes())?;
        }
        Ok(Status::Tool(1))
    }
}
