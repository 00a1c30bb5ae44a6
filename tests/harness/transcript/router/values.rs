//! Compares the writes, submissions and hook inputs of the state machine with the recording, attribute by
//! attribute.

use std::collections::BTreeMap;

use htc_hooks::classad::{ClassAd, Expr};
use htc_hooks::job::JobId;
use htc_hooks::router::translate;

use super::super::exceptions::Allow;
use super::session::Session;

impl Session<'_> {
    /// Returns true if an exception allows a difference, which is then counted.
    pub(super) fn allowed(&mut self, place: &str, name: &str, allow: Allow) -> bool {
        let stage = self.stage;
        let Some(exception) = stage.exceptions.find(stage.subject, "", place, name, allow) else {
            return false;
        };
        exception.count("", place, name, &mut self.counts.values);
        if allow != Allow::Extra {
            // It was counted as compared before.
            self.counts.values.compared -= 1;
        }
        true
    }

    pub(super) fn neutral(&self, text: &str) -> String {
        text.replace(&self.stage.local, "@LOCAL_DIR@")
    }

    /// Returns true if both sides would print the same value.
    pub(super) fn same_value(&self, recorded: &str, ours: &Expr) -> bool {
        let ours = self.neutral(&ours.unparse().to_string());
        if ours == recorded {
            return true;
        }
        let mut ad = ClassAd::new();
        let parsed = ad.insert_line(format!("Value = {recorded}").as_bytes()).ok();
        parsed
            .and_then(|_| ad.get("Value"))
            .is_some_and(|expr| self.neutral(&expr.unparse().to_string()) == ours)
    }

    pub(super) fn written(
        &mut self,
        id: JobId,
        unit: usize,
        changes: &[(bstr::BString, Option<Expr>)],
        at: f64,
    ) {
        let recorded = &self.units()[unit].sets;
        let place = format!("job {id}");
        // The queue does not change JobStatus of a job that is removed or completed.
        let ended = matches!(self.status_before(unit, id), Some(3 | 4));
        let changes: Vec<_> = changes
            .iter()
            .filter(|(name, _)| !(ended && name.eq_ignore_ascii_case(b"JobStatus")))
            .cloned()
            .collect();
        let changes = changes.as_slice();
        for (name, value) in recorded.values() {
            // For values that the schedd rounds, it keeps the original value as well.
            if name.ends_with("_RAW") {
                continue;
            }
            let raw = recorded.get(&format!("{}_raw", name.to_lowercase())).map(|(_, raw)| raw);
            let value = raw.unwrap_or(value);
            self.counts.values.compared += 1;
            let ours = changes.iter().find(|(ours, _)| ours.eq_ignore_ascii_case(name.as_bytes()));
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "(deleted)".to_owned());
            match (ours, value) {
                (None, _) => {
                    // 25.14 treats an expression as changed if it has not yet parsed the one in the queue.
                    let same = self.before(unit).first.queue().job(id).and_then(|ad| ad.get(name.as_str()));
                    let again = same.zip(value.as_ref()).is_some_and(|(same, text)| {
                        same.as_literal().is_none() && self.same_value(text, &same)
                    });
                    if !again && !self.allowed("router-write", name, Allow::Missing) {
                        self.differ(place.clone(), name, Some(shown(value)), None);
                    }
                }
                (Some((_, None)), None) => {}
                (Some((_, Some(expr))), Some(text)) if self.same_value(text, expr) => {}
                (Some((_, Some(expr))), Some(text))
                    if name == "EnteredCurrentStatus"
                        && text.parse::<f64>().is_ok_and(|recorded| (recorded - at).abs() < 3.0)
                        && expr.as_literal().and_then(|value| value.as_int()) == Some(at as i64) => {}
                (Some((_, ours)), _) => {
                    let ours = ours.as_ref().map(|expr| self.neutral(&expr.unparse().to_string()));
                    if !self.allowed("router-write", name, Allow::Value) {
                        self.differ(place.clone(), name, Some(shown(value)), Some(shown(&ours)));
                    }
                }
            }
        }
        for (name, expr) in changes {
            let name = name.to_string();
            if !recorded.contains_key(&name.to_lowercase())
                && !self.allowed("router-write", &name, Allow::Extra)
            {
                let ours = expr.as_ref().map(|expr| self.neutral(&expr.unparse().to_string()));
                self.differ(place.clone(), &name, None, Some(ours.unwrap_or_else(|| "(deleted)".to_owned())));
            }
        }
    }

    pub(super) fn submitted(&mut self, id: JobId, unit: usize, ad: &ClassAd) {
        let recorded = &self.units()[unit].sets;
        let place = format!("copy of {id}");
        let ours = ad.flattened_chain();
        for (name, value) in recorded.values() {
            let Some(text) = value else { continue };
            // For values that the schedd changed for spooling, it keeps the original value as well.
            let kept = recorded.get(&format!("submit_{}", name.to_lowercase()));
            let text = kept.and_then(|(_, text)| text.as_ref()).unwrap_or(text);
            self.counts.values.compared += 1;
            match ours.get(name.as_str()) {
                Some(expr) if self.same_value(text, &expr) => {}
                Some(expr) => {
                    if !self.allowed("router-submit", name, Allow::Value) {
                        let ours = self.neutral(&expr.unparse().to_string());
                        self.differ(place.clone(), name, Some(text.clone()), Some(ours));
                    }
                }
                None => {
                    if !self.allowed("router-submit", name, Allow::Missing) {
                        self.differ(place.clone(), name, Some(text.clone()), None);
                    }
                }
            }
        }
        for (name, expr) in ours.sorted() {
            let name = name.to_string();
            let sent =
                !translate::NEVER_SENT_ATTRIBUTES.iter().any(|other| other.eq_ignore_ascii_case(&name));
            if sent
                && !recorded.contains_key(&name.to_lowercase())
                && !self.allowed("router-submit", &name, Allow::Extra)
            {
                let text = self.neutral(&expr.unparse().to_string());
                self.differ(place.clone(), &name, None, Some(text));
            }
        }
    }

    /// Compares the standard input of a call, line by line.
    pub(super) fn input(&mut self, place: &str, recorded: &str, ours: &str) {
        if recorded == ours {
            self.counts.values.compared += recorded.lines().count();
            return;
        }
        let name = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
        // There may be two ads, which are distinguished by a number.
        let parts = |text: &str| {
            let mut part = 0;
            let mut lines = BTreeMap::new();
            for line in text.lines() {
                if line == "------" {
                    part += 1;
                }
                lines.insert((part, name(line)), line.to_owned());
            }
            lines
        };
        let (recorded, ours) = (parts(recorded), parts(ours));
        let mut differs = false;
        for (key, line) in &recorded {
            self.counts.values.compared += 1;
            let other = ours.get(key);
            if other == Some(line) {
                continue;
            }
            differs = true;
            // The time may change by a second or two during a submission.
            let second = |line: &str| line.rsplit(' ').next().and_then(|word| word.parse::<i64>().ok());
            if let (Some(other), "QDate" | "EnteredCurrentStatus") = (other, key.1.as_str())
                && second(line).zip(second(other)).is_some_and(|(a, b)| (a - b).abs() <= 2)
            {
                continue;
            }
            let allow = if other.is_some() { Allow::Value } else { Allow::Missing };
            if !self.allowed("router-hook", &key.1, allow) {
                self.differ(place.to_owned(), &key.1, Some(line.clone()), other.cloned());
            }
        }
        for (key, line) in &ours {
            if !recorded.contains_key(key) {
                differs = true;
                if !self.allowed("router-hook", &key.1, Allow::Extra) {
                    self.differ(place.to_owned(), &key.1, None, Some(line.clone()));
                }
            }
        }
        if !differs {
            self.differ(place.to_owned(), "stdin", Some("other order or blank lines".into()), None);
        }
    }
}
