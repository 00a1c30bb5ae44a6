//! Outcome of a complete transfer.

use bstr::BString;

use super::failure::TransferFailure;
use super::plugin_records::PluginRecords;
use super::tally::TransferTally;
use super::task::TransferKind;

/// Outcome of a complete transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferOutcome {
    /// Direction of the transfer.
    pub way: TransferKind,
    /// Failure of the transfer, or `None` if it succeeded.
    pub failure: Option<TransferFailure>,
    /// Files and bytes transferred, by protocol.
    pub tally: TransferTally,
    /// Names at the top level of the destination.
    pub stored: Vec<BString>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Records of the plugins that were called.
    pub plugins: PluginRecords,
}

impl TransferOutcome {
    /// Returns the outcome of a transfer without files.
    pub fn empty(way: TransferKind) -> Self {
        TransferOutcome {
            way,
            failure: None,
            tally: TransferTally::default(),
            stored: Vec::new(),
            warnings: Vec::new(),
            plugins: PluginRecords::default(),
        }
    }
}
