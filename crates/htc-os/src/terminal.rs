//! Terminal at standard input, which an interactive child uses and whose settings are restored afterwards.

use std::io;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcsetpgrp};

/// Guard that restores the terminal on drop. It has no effect if standard input is not a terminal.
#[derive(Debug)]
pub struct TerminalGuard {
    saved_settings: Option<(Termios, Pid)>,
}

impl TerminalGuard {
    /// Saves the settings and the foreground process group of the terminal.
    pub fn save() -> Self {
        TerminalGuard { saved_settings: tcgetattr(io::stdin()).ok().map(|settings| (settings, getpgrp())) }
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        let Some((settings, front)) = &self.saved_settings else { return };
        // A background process can become the foreground group only while SIGTTOU is blocked or ignored.
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTTOU);
        let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK);
        // An error is ignored, because the terminal may no longer exist.
        let _ = tcsetpgrp(io::stdin(), *front);
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, settings);
        if let Ok(before) = before {
            let _ = before.thread_set_mask();
        }
    }
}
