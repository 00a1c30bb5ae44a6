//! The job ads that `-jobads` names, read as the tool reads them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use rustc_hash::FxHashMap;

use super::Tool;
use crate::classad::{ClassAd, Context};

impl Tool<'_> {
    /// The ads of all files, the first of each id.
    pub(super) fn jobs(&self) -> io::Result<Vec<(String, ClassAd)>> {
        let mut jobs: Vec<(String, ClassAd)> = Vec::new();
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        for file in &self.options.job_files {
            let input: Box<dyn Read> = if file == "-" {
                Box::new(io::stdin())
            } else {
                match File::open(file) {
                    Ok(file) => Box::new(file),
                    Err(_) => {
                        let text = format!("Can't open file of job ads: {}\n", file.to_string_lossy());
                        self.program.tell(&text);
                        continue;
                    }
                }
            };
            let mut reader = BufReader::new(input);
            let mut end = false;
            while !end {
                let ad;
                (ad, end) = next_ad(&mut reader)?;
                if ad.is_empty() {
                    continue;
                }
                let context = Context::new(self.world).my(&ad);
                let (Some(cluster), Some(proc)) = (context.int("ClusterId"), context.int("ProcId")) else {
                    self.program
                        .tell("Skipping ad because it doesn't have a ClusterId and/or ProcId attribute\n");
                    continue;
                };
                let key = format!("{}.{}", cluster as i32, proc as i32);
                match places.get(&key) {
                    Some(&at) => jobs[at].1 = ad,
                    None => {
                        places.insert(key.clone(), jobs.len());
                        jobs.push((key, ad));
                    }
                }
            }
        }
        Ok(jobs)
    }
}

/// What a line of a file of job ads is to the tool (`CondorQClassAdFileParseHelper::PreParse`).
enum JobLine {
    Attribute,
    Skipped,
    Delimiter,
}

fn job_line(line: &[u8]) -> JobLine {
    let delimits: [&[u8]; 3] = [b"...", b"***", b"-- "];
    if line.is_empty() || delimits.iter().any(|prefix| line.starts_with(prefix)) {
        return JobLine::Delimiter;
    }
    match line.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
        Some(b'#') => JobLine::Skipped,
        _ => JobLine::Attribute,
    }
}

/// The next ad of a file, and whether the file has ended. A line that is no attribute ends the ad's attributes: what
/// follows is passed over up to the next delimiter or comment.
fn next_ad(reader: &mut dyn BufRead) -> io::Result<(ClassAd, bool)> {
    let mut ad = ClassAd::new();
    let mut broken = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok((ad, true));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match job_line(text) {
            JobLine::Delimiter => return Ok((ad, false)),
            JobLine::Skipped => broken = false,
            JobLine::Attribute if broken => {}
            JobLine::Attribute => broken = ad.insert_line(text).is_err(),
        }
    }
}
