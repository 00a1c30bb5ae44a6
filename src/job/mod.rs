//! The words of the field: job ids, universes, job states, hold codes, well-known attribute names.
