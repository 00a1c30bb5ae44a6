//! One page with a table of the kinds of jobs and a bar for each clause.

use std::fmt::Write;

use crate::picture::escape_markup;
use crate::text::count::format_thousands;
use crate::text::plural::counted;
use crate::why::matching::{Analysis, SideNames};

/// Maximum number of kinds of jobs on the page.
const MAX_KINDS: usize = 500;

/// Maximum number of suggestions for each kind of jobs.
const MAX_SUGGESTIONS: usize = 5;

const STYLE: &str = "body{font:15px/1.4 sans-serif;margin:2em auto;max-width:70em;padding:0 1em}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2em .6em;vertical-align:top}\
td.n,th.n{text-align:right;white-space:nowrap}.bar{background:#eee;width:12em;height:1em;position:relative}\
.bar i,.bar b{position:absolute;left:0;top:0;height:100%}.bar i{background:#e3a36b}.bar b{background:#b3402a}\
h2{margin-top:1.6em}code{font-size:13px}.place{color:#666}";

/// Returns the page.
pub(super) fn page(analysis: &Analysis<'_>) -> String {
    let groups = analysis.job_groups();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|at| (groups[*at].accepting_slots, std::cmp::Reverse(groups[*at].count)));
    let SideNames { job, slot } = analysis.side_names();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{job}s and {slot}s</title>\
         <style>{STYLE}</style></head><body>\n<h1>{} {job}s, {} {slot}s</h1>\n\
         <p>Light: {slot}s that a clause refuses. Dark: {slot}s that it alone refuses.</p>\n",
        format_thousands(analysis.job_count() as u64),
        format_thousands(analysis.slot_count() as u64),
    );
    let _ = writeln!(
        page,
        "<table><tr><th>{job}s like</th><th class=n>{job}s</th><th class=n>{slot}s that accept</th></tr>"
    );
    for &at in order.iter().take(MAX_KINDS) {
        let group = &groups[at];
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#k{at}\">{}</a></td><td class=n>{}</td><td class=n>{}</td></tr>",
            escape_markup(&group.first),
            format_thousands(group.count as u64),
            format_thousands(group.accepting_slots as u64),
        );
    }
    page += "</table>\n";
    if order.len() > MAX_KINDS {
        let _ = writeln!(page, "<p>and {} of {job}s</p>", counted(order.len() - MAX_KINDS, "more kind"));
    }
    order.iter().take(MAX_KINDS).for_each(|at| add_kind(analysis, *at, &mut page));
    page + "</body></html>\n"
}

fn add_kind(analysis: &Analysis<'_>, at: usize, page: &mut String) {
    let group = &analysis.job_groups()[at];
    let all = analysis.slot_count().max(1);
    let SideNames { job, slot } = analysis.side_names();
    let _ = writeln!(
        page,
        "<h2 id=\"k{at}\">{} {job}s like {}: {} of {all} {slot}s</h2>\n<table>",
        format_thousands(group.count as u64),
        escape_markup(&group.first),
        format_thousands(group.accepting_slots as u64),
    );
    for cause in analysis.causes(at) {
        let percent = |slots: usize| slots as f64 * 100.0 / all as f64;
        let place = match cause.place.is_empty() {
            true => String::new(),
            false => {
                format!(" <span class=place>{}: {}</span>", cause.attribute, escape_markup(&cause.place))
            }
        };
        let _ = writeln!(
            page,
            "<tr><td class=n>{} / {}</td><td><div class=bar><i style=\"width:{:.1}%\"></i>\
             <b style=\"width:{:.1}%\"></b></div></td><td>{}{place}</td></tr>",
            format_thousands(cause.refuses as u64),
            format_thousands(cause.alone as u64),
            percent(cause.refuses),
            percent(cause.alone),
            escape_markup(&cause.sentence),
        );
    }
    *page += "</table>\n";
    if group.accepting_slots == 0 {
        let suggestions = analysis.suggestions(at, MAX_SUGGESTIONS);
        let lines = suggestions.iter().map(|suggestion| format!("try {suggestion}"));
        let lines: Vec<String> = lines.chain(analysis.impossible_demands(at)).collect();
        if !lines.is_empty() {
            *page += "<ul>\n";
            lines.iter().for_each(|line| *page += &format!("<li>{}</li>\n", escape_markup(line)));
            *page += "</ul>\n";
        }
    }
}
