//! Job events as text, XML and JSON.
