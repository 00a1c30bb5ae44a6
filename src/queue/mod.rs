//! Stored ads: queue logs, history files, spool directories.
