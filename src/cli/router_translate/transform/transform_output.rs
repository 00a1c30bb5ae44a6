//! Output of transforms.

use std::io::{self, Write};

use bstr::{BString, ByteSlice};

use super::options::TransformArguments;
use crate::classad::ClassAd;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::cli::common::OutputFindings;
use crate::cli::transform_report::{self as report, AdDifference};

/// Writer of the results of transforms: ads in one of four formats, or records of ads with their steps.
pub(super) enum TransformOutput {
    Ads(ListWriter),
    Records { array: bool, count: usize },
}

impl TransformOutput {
    pub(super) fn new(arguments: &TransformArguments) -> Self {
        let output = &arguments.output;
        if (arguments.trace || arguments.diff) && output.wants_json() {
            return TransformOutput::Records { array: output.json, count: 0 };
        }
        let form = if output.json {
            ListForm::Json
        } else if output.jsonl {
            ListForm::JsonLines
        } else if arguments.xml {
            ListForm::Xml
        } else if arguments.new {
            ListForm::New
        } else {
            ListForm::Long
        };
        let writer = ListWriter::new(form, AttributeOrder::Sorted);
        TransformOutput::Ads(writer.brackets_when_empty(true).detect_misread(!output.quiet))
    }

    /// Returns the findings about the ads that were written.
    pub(super) fn findings(&self) -> OutputFindings {
        match self {
            TransformOutput::Ads(writer) => OutputFindings::from_writer(writer),
            TransformOutput::Records { .. } => OutputFindings::default(),
        }
    }

    /// Returns the number of ads that were written.
    pub(super) fn ads_written(&self) -> u64 {
        match self {
            TransformOutput::Ads(writer) => writer.ads_written(),
            TransformOutput::Records { count, .. } => *count as u64,
        }
    }

    pub(super) fn writes_records(&self) -> bool {
        matches!(self, TransformOutput::Records { .. })
    }

    pub(super) fn write(
        &mut self,
        ad: &ClassAd,
        applied: &[&BString],
        trace: Option<Vec<serde_json::Value>>,
        difference: Option<AdDifference>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            TransformOutput::Ads(writer) => writer.write(ad, out).map(drop),
            TransformOutput::Records { array, count } => {
                let separator: &[u8] = match (*array, *count) {
                    (true, 0) => b"[\n",
                    (true, _) => b",\n",
                    _ => b"",
                };
                *count += 1;
                out.write_all(separator)?;
                let names: Vec<_> = applied.iter().map(|name| name.to_str_lossy()).collect();
                out.write_all(b"{\"ad\":")?;
                out.write_all(&report::ad_to_json_line(ad))?;
                write!(out, ",\"transforms\":{}", serde_json::json!(names))?;
                if let Some(trace) = trace {
                    write!(out, ",\"trace\":{}", serde_json::Value::Array(trace))?;
                }
                if let Some(difference) = difference {
                    write!(out, ",\"diff\":{}", difference.to_json())?;
                }
                out.write_all(if *array { b"}" } else { b"}\n" })
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            TransformOutput::Ads(writer) => writer.finish(out),
            TransformOutput::Records { array: true, count: 0 } => out.write_all(b"[]\n"),
            TransformOutput::Records { array: true, .. } => out.write_all(b"\n]\n"),
            TransformOutput::Records { .. } => Ok(()),
        }
    }
}
