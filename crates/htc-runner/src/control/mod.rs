//! A socket by which a running program is told what tools and daemons tell a real one. What can be said stands where it is
//! done: `slot` for execution points, `starter` for starters.
//!
//! One request a connection: a JSON object on one line, `{"command": "vacate", "slot": "slot1", "how": "fast"}`, with as many bytes
//! of a job ad behind it as `ad_length` says; one JSON object comes back: `{"ok": true}`, `{"error": "..."}` or what was asked for.
//!
//! The socket is its owner's alone (0600, in a directory that nobody else can write), and who asks is known by the kernel's word.

mod client;
mod server;

pub use client::{send_request, send_without_reply};
pub use server::{ClientRequest, ControlSocket, RequestBytes, bind, check_length, parse_request};
