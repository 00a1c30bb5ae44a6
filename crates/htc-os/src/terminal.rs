//! The terminal at standard input, lent to a child that a person works with and given back as it was.

use std::io;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcsetpgrp};

/// What is given back when this is dropped; nothing where standard input is no terminal.
#[derive(Debug)]
pub struct TerminalGuard {
    saved_settings: Option<(Termios, Pid)>,
}

impl TerminalGuard {
    /// Notes how it is.
    pub fn save() -> Self {
        TerminalGuard { saved_settings: tcgetattr(io::stdin()).ok().map(|settings| (settings, getpgrp())) }
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        let Some((settings, front)) = &self.saved_settings else { return };
        // Who is not in front may take the terminal only while the signal for that is blocked.
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTTOU);
        let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK);
        // It may be gone by now.
        let _ = tcsetpgrp(io::stdin(), *front);
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, settings);
        if let Ok(before) = before {
            let _ = before.thread_set_mask();
        }
    }
}
