//! Differences between two ads, by attribute.

use bstr::BString;

use htc_classad::ClassAd;

/// Attribute that differs between two ads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeChange {
    /// Name of the attribute, as spelled in the new ad, or in the old ad if the attribute was removed.
    pub name: BString,
    /// Expression in the old ad, or `None` if the attribute is new.
    pub before: Option<BString>,
    /// Expression in the new ad, or `None` if the attribute was removed.
    pub after: Option<BString>,
}

/// Returns the differences between two ads: new and changed attributes sorted by name, then removed attributes sorted
/// by name.
pub fn diff_ads(before: &ClassAd, after: &ClassAd) -> Vec<AttributeChange> {
    let text = |ad: &ClassAd, name: &[u8]| ad.get(name).map(|value| value.unparse_old());
    let mut all: Vec<AttributeChange> = after
        .sorted()
        .into_iter()
        .filter(|(name, value)| before.get(name).as_ref() != Some(value))
        .map(|(name, value)| AttributeChange {
            name: name.to_owned(),
            before: text(before, name),
            after: Some(value.unparse_old()),
        })
        .collect();
    let gone = before.sorted().into_iter().filter(|(name, _)| !after.contains(name));
    all.extend(gone.map(|(name, value)| AttributeChange {
        name: name.to_owned(),
        before: Some(value.unparse_old()),
        after: None,
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_changed_and_removed_attributes_are_distinguished() {
        let ad = |lines: &[&str]| {
            let mut ad = ClassAd::new();
            for line in lines {
                ad.insert_line(line.as_bytes()).unwrap();
            }
            ad
        };
        let found = diff_ads(&ad(&["A = 1", "B = 2", "C = 3"]), &ad(&["a = 1", "B = 2 + 0", "D = 4"]));
        let row = |name: &str, before: Option<&str>, after: Option<&str>| AttributeChange {
            name: name.into(),
            before: before.map(Into::into),
            after: after.map(Into::into),
        };
        assert_eq!(
            found,
            [row("B", Some("2"), Some("2 + 0")), row("D", None, Some("4")), row("C", Some("3"), None)]
        );
    }
}
