//! `-writeconfig` and `-summary` (`config_val.cpp`, `do_write_config`).

use bstr::{BString, ByteSlice};

use super::entries::{Kind, assignment, block, merged};
use super::request::Filter;
use crate::config::macro_set::{MacroSet, SourceId};
use crate::config::template;
use crate::config::version::VERSION_LINE;
use crate::text::caseless;
use crate::world::World;

/// The lists of names and settings that upgrades made obsolete.
struct Obsolete {
    names: Vec<BString>,
    settings: Vec<BString>,
}

impl Obsolete {
    fn new() -> Self {
        let lines = |names: [&str; 2]| {
            let mut lines = Vec::new();
            for name in names {
                if let Some(found) = template::find(b"UPGRADE", name.as_bytes()) {
                    let body = found.body();
                    lines.extend(body.lines().map(|line| BString::from(line.trim())));
                }
            }
            lines.retain(|line| !line.is_empty());
            lines
        };
        Obsolete { names: lines(["DISCARD", "DISCARDX"]), settings: lines(["DISCARDIF", "DISCARDIFX"]) }
    }

    fn has(&self, name: &[u8], value: &[u8]) -> bool {
        let setting = [&name.to_ascii_uppercase()[..], b"=", value].concat();
        self.names.iter().any(|known| caseless::eq(known, name))
            || self.settings.iter().any(|known| *known == setting)
    }
}

/// One entry to write and where it goes in the order by source.
struct Line {
    key: (u32, u32, usize),
    source: SourceId,
    text: BString,
}

/// The text of the configuration as the filter wants it.
pub(super) fn text(set: &MacroSet, filter: Filter, world: &dyn World) -> Vec<u8> {
    let mut out = Vec::new();
    let mut lines: Vec<Line> = Vec::new();
    let mut last: Option<BString> = None;
    let obsolete = filter.upgrade.then(Obsolete::new);
    let show_files = !filter.only || !filter.names_a_kind();
    for row in merged(set, world, true) {
        let mut comment = "";
        let (source, line) = match row.kind {
            Kind::Set(entry) => (entry.current.place.source, entry.current.place.line),
            Kind::Detected => (SourceId::DETECTED, None),
            Kind::Default(_) => (SourceId::DEFAULT, None),
        };
        let is_inside = source == SourceId::DETECTED || source == SourceId::DEFAULT;
        match row.kind {
            Kind::Set(entry) if entry.current.matches_default && !is_inside => {
                if !filter.matches_default {
                    continue;
                }
                if filter.comment_matches {
                    comment = "#";
                }
            }
            _ if source == SourceId::DETECTED => {
                if !filter.detected && !filter.defaults {
                    continue;
                }
                if filter.comment_detected {
                    comment = "#detected#";
                } else if filter.comment_defaults {
                    comment = "#def#";
                }
            }
            _ if is_inside => {
                if !filter.defaults {
                    continue;
                }
                if filter.comment_defaults {
                    comment = "#def#";
                }
            }
            _ if source == SourceId::ENVIRONMENT => {
                if filter.only && !filter.environment {
                    continue;
                }
                if filter.comment_environment {
                    comment = "#env#";
                }
            }
            Kind::Set(entry) => {
                if !show_files {
                    continue;
                }
                let has_no_default = entry.parameter.is_some_and(|parameter| parameter.default().is_empty());
                if row.raw.is_empty() && has_no_default {
                    if !filter.matches_default {
                        continue;
                    }
                    if filter.comment_matches {
                        comment = "#";
                    }
                }
                if obsolete.as_ref().is_some_and(|obsolete| obsolete.has(&row.name, &row.raw)) {
                    continue;
                }
            }
            _ => {}
        }
        let is_duplicate = last.as_ref().is_some_and(|last| caseless::eq(last, &row.name));
        if is_duplicate && !filter.duplicates {
            continue;
        }
        let is_block = row.raw.contains(&b'\n') && !matches!(row.kind, Kind::Default(_));
        let value = match (is_block, comment.is_empty()) {
            (true, false) => [b"@=end", &block(&row.raw, "#   ")[..], b"\n@end"].concat().into(),
            _ => assignment(&row.raw, is_block, "   "),
        };
        let mut text = BString::from([comment.as_bytes(), &row.name, b" ", &value].concat());
        let mut place = set.source(source).name.clone();
        match (line, row.kind) {
            (Some(line), _) => place.extend_from_slice(format!(", line {line}").as_bytes()),
            (None, Kind::Default(parameter)) => {
                place.extend_from_slice(format!(", item {}", parameter.index()).as_bytes());
            }
            _ => {}
        }
        if filter.sort {
            out.extend_from_slice(&text);
            out.push(b'\n');
            if filter.source {
                out.extend_from_slice(&[b" # at: ", &place[..], b"\n"].concat());
            }
        } else {
            if filter.source {
                text.push(b'\n');
                text.extend_from_slice(&place);
            }
            let order = match source {
                SourceId::ENVIRONMENT => 0xfffe,
                SourceId::OVERLAY => 0xffff,
                other => other.number(),
            };
            // Sources without lines count from the end of 24 bits.
            let line = line.unwrap_or(0x00ff_ffff);
            lines.push(Line { key: (order, line, lines.len()), source, text });
        }
        last = Some(row.name.into_owned());
    }
    if lines.is_empty() {
        return out;
    }
    if filter.version {
        out.extend_from_slice(format!("# condor_config_val {VERSION_LINE}\n").as_bytes());
    }
    lines.sort_by_key(|line| line.key);
    let mut before = None;
    for line in lines {
        if before != Some(line.source) {
            let name = &set.source(line.source).name;
            out.extend_from_slice(&[b"\n#\n# from ", &name[..], b"\n#\n"].concat());
            before = Some(line.source);
        }
        out.extend_from_slice(&line.text);
        out.push(b'\n');
    }
    out
}
