//! Cache of compiled patterns.

use std::sync::{Arc, Mutex, PoisonError};

use bstr::BString;

use super::{Regex, RegexOptions};

/// Cache of compiled patterns. Each expression with regular expressions has its own cache, so that a constraint on
/// many ads compiles its pattern only once. The size is limited, because patterns may come from the ads themselves.
///
/// ```
/// # #[cfg(feature = "regex")] {
/// use htc_classad::regex::{RegexCache, RegexOptions};
/// let cache = RegexCache::default();
/// let regex = cache.get(b"^slot", RegexOptions::NONE).unwrap();
/// assert_eq!(regex.is_match("slot1"), Ok(true));
/// assert!(cache.get(b"slot(", RegexOptions::NONE).is_none());
/// # }
/// ```
#[derive(Debug, Default)]
pub struct RegexCache {
    entries: Mutex<Vec<CachedPattern>>,
}

/// Text and options of a pattern with the compiled pattern, which is `None` if the pattern is invalid.
#[derive(Debug)]
struct CachedPattern {
    pattern: BString,
    options: RegexOptions,
    regex: Option<Arc<Regex>>,
}

/// Maximum number of patterns in the cache.
const MAX_CACHED: usize = 16;

impl RegexCache {
    /// Returns the compiled pattern, or `None` if the pattern is invalid. Invalid patterns are cached as well.
    pub fn get(&self, pattern: &[u8], options: RegexOptions) -> Option<Arc<Regex>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entries.iter().find(|entry| entry.pattern == pattern && entry.options == options)
        {
            return known.regex.clone();
        }
        if entries.len() >= MAX_CACHED {
            entries.clear();
        }
        let regex = Regex::compile(pattern, options).ok().map(Arc::new);
        entries.push(CachedPattern { pattern: pattern.into(), options, regex: regex.clone() });
        regex
    }
}

#[cfg(all(test, feature = "regex"))]
mod tests {
    use super::{MAX_CACHED, RegexCache, RegexOptions};

    #[test]
    fn the_cache_is_limited_and_remembers_invalid_patterns() {
        let cache = RegexCache::default();
        assert!(cache.get(b"(", RegexOptions::NONE).is_none());
        for number in 0..3 * MAX_CACHED {
            assert!(cache.get(format!("x{number}").as_bytes(), RegexOptions::NONE).is_some());
        }
        assert!(cache.entries.lock().expect("not poisoned").len() <= MAX_CACHED);
    }
}
