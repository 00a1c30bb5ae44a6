//! The macro configuration: statements, conditions, includes, templates, expansion, typed values with their origin.
