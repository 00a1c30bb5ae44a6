//! Options for the time format in logs: `DEFAULT_USERLOG_FORMAT_OPTIONS` and `EVENT_LOG_FORMAT_OPTIONS`.

use htc_base::text::{caseless, list};

/// Options of the format of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatOptions {
    /// True for dates such as `2026-11-21`, false for `11/21`.
    pub iso_date: bool,
    /// True for UTC with a final `Z`, false for local time.
    pub utc: bool,
    /// True to write milliseconds.
    pub sub_second: bool,
    /// True for XML; effective only in `EVENT_LOG_FORMAT_OPTIONS` (quirk `userlog-format-words-ignored`).
    pub xml: bool,
    /// True for JSON; effective only in `EVENT_LOG_FORMAT_OPTIONS`.
    pub json: bool,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions { iso_date: true, utc: false, sub_second: false, xml: false, json: false }
    }
}

impl FormatOptions {
    /// Returns the default options of the event log of all jobs (EVENT_LOG), whose dates are not in ISO form.
    pub fn for_event_log() -> Self {
        FormatOptions { iso_date: false, ..FormatOptions::default() }
    }

    /// Applies the words of a parameter to the default options. Words are separated by whitespace and commas; unknown
    /// words are ignored.
    ///
    /// ```
    /// use htc_user_log::FormatOptions;
    /// let options = FormatOptions::parse(b"utc, !ISO_DATE Sub_Second nonsense");
    /// assert!(options.utc && options.sub_second && !options.iso_date);
    /// ```
    pub fn parse(text: &[u8]) -> Self {
        Self::apply_words(FormatOptions::default(), text)
    }

    /// Applies the words of a parameter to existing options.
    pub fn apply_words(mut options: Self, text: &[u8]) -> Self {
        for word in list::split(text) {
            let (word, on) = match word.strip_prefix(b"!") {
                Some(word) => (word, false),
                None => (word, true),
            };
            match () {
                () if caseless::eq(word, b"ISO_DATE") => options.iso_date = on,
                () if caseless::eq(word, b"LEGACY") && on => {
                    (options.iso_date, options.utc, options.sub_second) = (false, false, false);
                }
                () if caseless::eq(word, b"LEGACY") => options.iso_date = true,
                () if caseless::eq(word, b"UTC") => options.utc = on,
                () if caseless::eq(word, b"SUB_SECOND") => options.sub_second = on,
                () if caseless::eq(word, b"XML") => options.xml = on,
                () if caseless::eq(word, b"JSON") => options.json = on,
                () => {}
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_words_apply_in_their_order() {
        let legacy = FormatOptions::parse(b"UTC LEGACY");
        assert!(!legacy.utc && !legacy.iso_date);
        let legacy = FormatOptions::parse(b"LEGACY,UTC");
        assert!(legacy.utc && !legacy.iso_date);
        assert_eq!(FormatOptions::parse(b"LEGACY !LEGACY"), FormatOptions::default());
        assert_eq!(FormatOptions::parse(b"UTC;SUB_SECOND"), FormatOptions::default());
    }
}
