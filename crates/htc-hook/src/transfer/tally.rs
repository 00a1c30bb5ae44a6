//! Counts of transferred files and bytes by protocol: TransferInputStats and TransferOutputStats.

use bstr::ByteSlice;

use super::task::{TransferKind, TransferTaskResult};
use htc_classad::{ClassAd, Context, EvalWorld};

/// Number of bytes sent for a directory in addition to its name.
pub const DIRECTORY_OVERHEAD_BYTES: u64 = 4;

/// Counts of files and bytes transferred in one direction in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransferTally {
    /// Attribute names with their counts, in the order in which the names first occurred.
    counts: Vec<(String, i64)>,
    /// Number of bytes over all protocols.
    pub bytes: u64,
}

impl TransferTally {
    /// Adds the copied files of a transfer. `failed` is true if the transfer failed. A URL that the receiver downloads
    /// is counted as sent, because the sender sends the URL.
    ///
    /// Sender and receiver both count, and each sends its counts to the other. The sender counts files and directories.
    /// The receiver counts only files, and its count of input files is final. The receiver counts bytes at the end of a
    /// successful transfer; its number of bytes replaces the sender's number unless it is 0
    /// (`UpdateTransferStatsTotals`, `GetTransferAck`).
    pub fn add_task_result(&mut self, way: TransferKind, carried: &TransferTaskResult, failed: bool) {
        let sent = carried.urls.iter().filter(|_| way.is_input()).map(|(url, _)| url.len()).sum::<usize>();
        let bytes = carried.bytes + sent as u64;
        let of_files = carried.bytes.saturating_sub(DIRECTORY_OVERHEAD_BYTES * carried.directories);
        let files = carried.files.saturating_sub(carried.directories);
        let files = if way.is_input() && files > 0 { files } else { carried.files };
        let size = if !failed && of_files > 0 { of_files } else { bytes };
        if size > 0 {
            self.add("CedarSizeBytes", size as i64);
        }
        if files > 0 {
            self.add("CedarFilesCount", files as i64);
        }
        self.bytes += if way.is_input() { bytes } else { of_files };
    }

    /// Adds the results that plugins report for files (`AggregateThisTransferStats`).
    pub fn add_plugin_results(&mut self, results: &[ClassAd], world: &dyn EvalWorld) {
        for ad in results {
            let context = Context::new(world).my(ad);
            let Some(protocol) = context.string("TransferProtocol").filter(|protocol| *protocol != "cedar")
            else {
                continue;
            };
            let protocol = protocol.to_str_lossy().to_uppercase();
            self.add(&format!("{protocol}FilesCount"), 1);
            if let Some(bytes) = context.int("TransferTotalBytes") {
                self.add(&format!("{protocol}SizeBytes"), bytes);
                self.bytes += u64::try_from(bytes).unwrap_or(0);
            }
        }
    }

    fn add(&mut self, name: &str, number: i64) {
        match self.counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count = count.saturating_add(number),
            None => self.counts.push((name.to_owned(), number)),
        }
    }

    /// Returns the counts as a nested ad, including the totals of earlier runs (`updateFileTransferStats`).
    pub fn to_stats_ad(&self, before: &ClassAd, world: &dyn EvalWorld) -> ClassAd {
        if self.counts.is_empty() {
            return before.clone();
        }
        let mut ad = ClassAd::new();
        for (name, number) in &self.counts {
            let total = format!("{name}Total");
            let old = Context::new(world).my(before).int(total.as_str()).unwrap_or(0);
            ad.set(total.as_str(), number.saturating_add(old));
            ad.set(format!("{name}LastRun").as_str(), *number);
        }
        ad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::System;

    #[test]
    fn totals_continue_from_run_to_run() {
        let mut tally = TransferTally::default();
        tally.add_task_result(
            TransferKind::Input,
            &TransferTaskResult { bytes: 6, files: 1, ..TransferTaskResult::default() },
            false,
        );
        let (ad, _) =
            htc_classad::format::long::parse(b"TransferProtocol = \"dbl\"\nTransferTotalBytes = 23\n");
        tally.add_plugin_results(&[ad], &System);
        let first = tally.to_stats_ad(&ClassAd::new(), &System);
        let second = tally.to_stats_ad(&first, &System);
        let int = |ad: &ClassAd, name: &str| Context::new(&System).my(ad).int(name);
        assert_eq!(int(&first, "DBLSizeBytesTotal"), Some(23));
        assert_eq!(int(&second, "DBLSizeBytesTotal"), Some(46));
        assert_eq!(int(&second, "CedarFilesCountLastRun"), Some(1));
        assert_eq!(tally.bytes, 29);
        assert_eq!(TransferTally::default().to_stats_ad(&first, &System), first);
    }

    #[test]
    fn directories_are_counted_as_both_sides_report_them() {
        let counts = |way, carried: &TransferTaskResult, failed| {
            let mut tally = TransferTally::default();
            tally.add_task_result(way, carried, failed);
            tally.to_stats_ad(&ClassAd::new(), &System)
        };
        let of = |bytes, files, directories| TransferTaskResult {
            bytes,
            files,
            directories,
            ..Default::default()
        };
        let count = |ad: &ClassAd, name: &str| Context::new(&System).my(ad).int(format!("{name}LastRun"));
        let both = |way, carried: &TransferTaskResult, failed| {
            let ad = counts(way, carried, failed);
            (count(&ad, "CedarSizeBytes"), count(&ad, "CedarFilesCount"))
        };
        // First an empty directory and two empty files, then the same with five bytes in one of the files.
        assert_eq!(both(TransferKind::Output, &of(4, 3, 1), false), (Some(4), Some(3)));
        assert_eq!(both(TransferKind::Output, &of(9, 3, 1), false), (Some(5), Some(3)));
        assert_eq!(both(TransferKind::Output, &of(9, 3, 1), true), (Some(9), Some(3)));
        assert_eq!(both(TransferKind::Input, &of(4, 1, 1), false), (Some(4), Some(1)));
        assert_eq!(both(TransferKind::Input, &of(9, 3, 1), false), (Some(5), Some(2)));
        assert_eq!(both(TransferKind::Input, &of(9, 3, 1), true), (Some(9), Some(2)));
    }
}
