//! Code actions: the corrections that `lint --fix` makes.

use std::collections::HashMap;

use bstr::ByteSlice;
use htc_base::world::World;
use htc_config::finding::{Finding, Replacement};
use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextEdit, Uri, WorkspaceEdit};

use crate::diagnostics::{FileLines, document_findings};
use crate::documents::Document;
use crate::workspace::Workspace;

/// Returns the corrections of the findings in a range of a document, and one for all findings that have a correction.
/// `wanted` are the kinds that the editor asks for, or `None` for all.
pub fn code_actions(
    workspace: &Workspace,
    document: &Document,
    range: Range,
    wanted: Option<&[CodeActionKind]>,
    world: &dyn World,
) -> Vec<CodeActionOrCommand> {
    let lines = FileLines::new(document.text());
    let findings = document_findings(workspace, &document.path, world);
    let corrected: Vec<(&Finding, TextEdit)> =
        findings.iter().filter_map(|finding| Some((finding, correction(finding, &lines)?))).collect();
    let is_wanted = |kind: &CodeActionKind| {
        wanted.is_none_or(|wanted| wanted.iter().any(|one| includes(one.as_str(), kind.as_str())))
    };
    let mut actions = Vec::new();
    if is_wanted(&CodeActionKind::QUICKFIX) {
        for (finding, edit) in &corrected {
            let place = finding.spot.as_ref().map(|spot| lines.range(spot.line, spot.span));
            if place.is_none_or(|place| place.end < range.start || range.end < place.start) {
                continue;
            }
            let title = action_title(finding);
            actions.push(create_action(&document.uri, title, CodeActionKind::QUICKFIX, vec![edit.clone()]));
        }
    }
    if is_wanted(&CodeActionKind::SOURCE_FIX_ALL) && !corrected.is_empty() {
        let title = "Correct all findings that have one certain correction".to_owned();
        let edits = without_overlaps(corrected.into_iter().map(|(_, edit)| edit).collect());
        actions.push(create_action(&document.uri, title, CodeActionKind::SOURCE_FIX_ALL, edits));
    }
    actions
}

/// Returns true if a kind is `wanted` or one of its subkinds: `source` includes `source.fixAll`.
fn includes(wanted: &str, kind: &str) -> bool {
    kind.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        || wanted.is_empty()
}

/// Returns the edit of a finding, or `None` if it has none or its line is no longer the one that was checked.
fn correction(finding: &Finding, lines: &FileLines<'_>) -> Option<TextEdit> {
    let (spot, replacement) = (finding.spot.as_ref()?, finding.replacement.as_ref()?);
    (lines.line(spot.line)? == spot.text.as_bytes()).then(|| {
        let Replacement { span, text } = replacement;
        TextEdit::new(lines.range(spot.line, *span), text.to_str_lossy().into_owned())
    })
}

fn action_title(finding: &Finding) -> String {
    match (&finding.fix, &finding.replacement) {
        (Some(fix), _) => fix.to_string(),
        (None, Some(replacement)) => format!("write '{}'", replacement.text),
        (None, None) => finding.message.clone(),
    }
}

/// Removes edits that overlap a later one, as `lint --fix` does, and duplicates.
fn without_overlaps(mut edits: Vec<TextEdit>) -> Vec<TextEdit> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut kept: Vec<TextEdit> = Vec::new();
    for edit in edits.into_iter().rev() {
        if kept.last().is_none_or(|last| edit.range.end <= last.range.start && edit != *last) {
            kept.push(edit);
        }
    }
    kept.reverse();
    kept
}

fn create_action(
    uri: &Uri,
    title: String,
    kind: CodeActionKind,
    edits: Vec<TextEdit>,
) -> CodeActionOrCommand {
    // The protocol requires this type of map. A URI is not changed while it is a key.
    #[expect(clippy::mutable_key_type, reason = "lsp-types has URIs as keys")]
    let changes = HashMap::from([(uri.clone(), edits)]);
    let edit = WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    CodeActionOrCommand::CodeAction(CodeAction {
        title,
        kind: Some(kind),
        edit: Some(edit),
        ..CodeAction::default()
    })
}
