//! Job ads of `-jobads`, read by the same rules as in the tool.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use rustc_hash::FxHashMap;

use super::RouterInfoTool;
use crate::classad::{ClassAd, Context};

impl RouterInfoTool<'_> {
    /// Reads the ads of all files. If an ad has the same id as an earlier one, the earlier ad is removed, and the later one keeps
    /// its own position (`ClassAdCollection::AddClassAd` destroys the earlier ad first).
    pub(super) fn read_jobs(&self) -> io::Result<Vec<(String, ClassAd)>> {
        let mut jobs: Vec<Option<(String, ClassAd)>> = Vec::new();
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        for file in &self.options.job_files {
            let input: Box<dyn Read> = if file == "-" {
                Box::new(io::stdin())
            } else {
                match File::open(file) {
                    Ok(file) => Box::new(file),
                    Err(_) => {
                        let text = format!("Can't open file of job ads: {}\n", file.to_string_lossy());
                        self.program.write_stderr(&text);
                        continue;
                    }
                }
            };
            let mut reader = BufReader::new(input);
            let mut end = false;
            while !end {
                let ad;
                (ad, end) = read_next_ad(&mut reader)?;
                if ad.is_empty() {
                    continue;
                }
                let context = Context::new(self.world).my(&ad);
                let (Some(cluster), Some(proc)) = (context.int("ClusterId"), context.int("ProcId")) else {
                    self.program.write_stderr(
                        "Skipping ad because it doesn't have a ClusterId and/or ProcId attribute\n",
                    );
                    continue;
                };
                let key = format!("{}.{}", cluster as i32, proc as i32);
                if let Some(former) = places.insert(key.clone(), jobs.len()) {
                    jobs[former] = None;
                }
                jobs.push(Some((key, ad)));
            }
        }
        Ok(jobs.into_iter().flatten().collect())
    }
}

/// Kind of a line in a file of job ads (`CondorQClassAdFileParseHelper::PreParse`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobFileLine {
    Attribute,
    Skipped,
    Delimiter,
}

/// Returns the kind of a line. The newline is removed while an ad is read, but not while the rest of a broken ad is
/// skipped. A blank line, or a line that ends in `\r\n`, therefore has a different kind in each case.
fn classify_line(line: &[u8]) -> JobFileLine {
    let delimits: [&[u8]; 4] = [b"\n", b"...", b"***", b"-- "];
    if line.is_empty() || delimits.iter().any(|prefix| line.starts_with(prefix)) {
        return JobFileLine::Delimiter;
    }
    match line.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
        Some(b'#' | b'\n') => JobFileLine::Skipped,
        _ => JobFileLine::Attribute,
    }
}

/// Returns the next ad of a file, and true if the file has ended. A line that is not an attribute ends the attributes of the ad;
/// lines are then skipped up to the next delimiter, comment or blank line (`InsertFromStream`, `OnParseError`).
fn read_next_ad(reader: &mut dyn BufRead) -> io::Result<(ClassAd, bool)> {
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
        match classify_line(if broken { &line } else { text }) {
            JobFileLine::Delimiter => return Ok((ad, false)),
            JobFileLine::Skipped => broken = false,
            JobFileLine::Attribute if broken => {}
            JobFileLine::Attribute => broken = ad.insert_line(text).is_err(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ads(text: &str) -> Vec<String> {
        let mut reader = text.as_bytes();
        let mut ads = Vec::new();
        loop {
            let (ad, end) = read_next_ad(&mut reader).unwrap();
            ads.push(ad.iter().map(|(name, expr)| format!("{name}={expr} ")).collect());
            if end {
                return ads;
            }
        }
    }

    #[test]
    fn the_end_of_an_ad_depends_on_earlier_errors_in_it() {
        assert_eq!(ads("A = 1\n\nB = 2\n"), ["A=1 ", "B=2 "]);
        assert_eq!(ads("A = 1\r\n\r\nB = 2\r\n"), ["A=1 ", "B=2 "]);
        assert_eq!(ads("A = )\r\nC = 1\r\n\r\nB = 2\r\n"), [""]);
        assert_eq!(ads("A = )\nC = 1\n  \nB = 2\n"), ["B=2 "]);
        assert_eq!(ads("A = 1\n \nC = 1\n\nB = 2\n"), ["A=1 ", "B=2 "]);
        assert_eq!(ads("A = )\nC = 1\n# D\nB = 2\n"), ["B=2 "]);
    }
}
