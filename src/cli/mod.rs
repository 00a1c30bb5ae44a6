//! The programs: command lines, tables, messages, exit statuses. The only room that prints or exits.
