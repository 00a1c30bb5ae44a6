//! Tests of plugins for URLs, which the configuration or the job provides.

use crate::support::children::write_executable;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::thread;

use super::transfer::{assert_held, give, got, place, run};

/// Plugin for `dbl`, which records its calls in `calls`.
const NOTES_CALLS: &str = r#"#!/bin/sh
echo "$1 PL=[$PL_X]" >> HERE/calls
[ "$1" = -classad ] && echo 'SupportedMethods = "dbl"
MultipleFileSupport = true' && exit
for file in $(sed 's/.*LocalFileName = "\([^"]*\)".*/\1/' "$2"); do echo fetched > $file; done
echo '[ TransferSuccess = true; TransferUrl = "dbl://ok/a"; TransferProtocol = "dbl"; TransferTotalBytes = 8 ]' > "$4"
"#;

#[test]
fn a_plugin_gets_its_job_variables_and_runs_although_a_file_is_missing() {
    let place = place();
    let text = NOTES_CALLS.replace("HERE", &place.path("iwd").display().to_string());
    write_executable(&place.path("hooks/pl.sh"), text.as_bytes());
    give(&place, "calls", "");
    let parameter = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/pl.sh").display());
    let place = place.parameter(&parameter);
    let result =
        run(&place, "true", "TransferInput = \"dbl://ok/a, nosuch\"\nEnvironment = \"PL_X=1 OTHER=2\"");
    assert_held(&result, 13, 2);
    assert_eq!(got(&place, "calls"), "-classad PL=[1]\n-infile PL=[1]\n");
    assert!(result.has("TransferInputFileCounts = [ DBL = 1; CEDAR = 1 ]"), "{}", result.ad);
    assert!(result.ad.contains("DBLFilesCountTotal = 1"), "{}", result.ad);
}

/// Plugin with the protocol of curl_plugin, which downloads from a server by HTTP.
const FETCHES: &str = r#"#!/usr/bin/python3
import os, re, sys, urllib.request
words = sys.argv[1:]
if words == ['-classad']:
    print('PluginType = "FileTransfer"\nSupportedMethods = "http"\nMultipleFileSupport = true\nProtocolVersion = 2')
    sys.exit(0)
text = open(words[words.index('-infile') + 1]).read()
out = open(words[words.index('-outfile') + 1], 'w')
status = 0
for url, name in re.findall(r'Url = "([^"]*)"; LocalFileName = "([^"]*)"', text):
    ad = 'TransferUrl = "%s"; TransferProtocol = "http"; TransferFileName = "%s"; ' % (url, os.path.basename(name))
    try:
        if '-upload' in words:
            urllib.request.urlopen(urllib.request.Request(url, open(name, 'rb').read(), method='PUT')).read()
        else:
            open(name, 'wb').write(urllib.request.urlopen(url).read())
        out.write('[ %sTransferSuccess = true; TransferTotalBytes = %d ]' % (ad, os.path.getsize(name)))
    except Exception as error:
        out.write('[ %sTransferSuccess = false; TransferError = "%s" ]' % (ad, error))
        status = 1
sys.exit(status)
"#;

/// Starts a server for this many requests: it returns a text for `/found` and 404 for anything else. The thread returns the
/// requests.
fn serve(requests: usize) -> (u16, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let told = thread::spawn(move || {
        let mut told = Vec::new();
        for stream in listener.incoming().take(requests) {
            let mut stream = stream.unwrap();
            let mut text = Vec::new();
            let mut piece = [0; 4096];
            loop {
                let count = stream.read(&mut piece).unwrap();
                text.extend_from_slice(&piece[..count]);
                let request = String::from_utf8_lossy(&text).into_owned();
                let Some(end) = request.find("\r\n\r\n") else { continue };
                let length = request
                    .lines()
                    .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
                if request.len() >= end + 4 + length.unwrap_or(0) {
                    break;
                }
            }
            let request = String::from_utf8_lossy(&text).into_owned();
            let found = request.starts_with("GET /found") || request.starts_with("PUT ");
            let (status, body) = if found { ("200 OK", "from the server\n") } else { ("404 Not Found", "") };
            let length = body.len();
            let answer = format!("HTTP/1.0 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
            let end = request.rsplit("\r\n\r\n").next().unwrap_or_default().to_owned();
            told.push(format!("{} {end}", request.split(' ').next().unwrap_or_default()));
        }
        told
    });
    (port, told)
}

#[test]
fn urls_are_fetched_and_stored_by_a_plugin_against_a_server() {
    let place = place();
    write_executable(&place.path("hooks/web_plugin"), FETCHES.as_bytes());
    let parameter = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/web_plugin").display());
    let place = place.parameter(&parameter);
    let (port, server) = serve(2);
    let more = format!(
        "TransferInput = \"http://127.0.0.1:{port}/found?x=1\"\nTransferOutputRemaps = \"up = http://127.0.0.1:{port}/stored\""
    );
    let result = run(&place, "cat found; ls -A; echo sent > up", &more);
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    let out = got(&place, "out");
    assert!(out.starts_with("from the server\n") && !out.contains("plugin"), "{out}");
    assert!(!place.path("iwd/up").exists(), "it went to the server");
    assert_eq!(server.join().unwrap(), ["GET ", "PUT sent\n"]);
    assert!(result.ad.contains("HTTPFilesCountTotal = 1"), "{}", result.ad);

    let (port, server) = serve(1);
    let result = run(&place, "true", &format!("TransferInput = \"http://127.0.0.1:{port}/gone\""));
    assert_held(&result, 13, 256);
    assert!(result.ad.contains("using protocol http. Details: HTTP Error 404"), "{}", result.ad);
    server.join().unwrap();
}

#[test]
fn a_failed_plugins_files_are_not_returned_and_its_protocol_is_counted() {
    let place = place();
    write_executable(
        &place.path("hooks/web_plugin"),
        br#"#!/bin/sh
[ "$1" = -classad ] && echo 'PluginType = "FileTransfer"
SupportedMethods = "dbl"
MultipleFileSupport = true' && exit
echo '[ TransferSuccess = false; TransferError = "no"; TransferUrl = "dbl://x/y"; TransferProtocol = "dbl" ]' > "$4"
exit 1
"#,
    );
    let parameter = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/web_plugin").display());
    let place = place.parameter(&parameter);
    let result = run(&place, "echo 1 > up; echo 2 > o2; exit 3", "TransferOutputRemaps = \"up = dbl://x/y\"");
    assert_held(&result, 12, 256);
    let names = fs::read_dir(place.path("iwd")).unwrap().flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["err", "log", "o2", "out"]);
    for line in [
        "NumVacatesByReason = [ TransferOutputError = 1; TransferOutputErrorDbl = 1 ]",
        "BytesSent = 0.0",
        // The end of the job is reported even if the transfer of its output failed.
        "ExitCode = 3",
        "ExitReason = \"Exited normally\"",
    ] {
        assert!(result.has(line), "{line}: {}", result.ad);
    }
    assert!(!result.ad.contains("PreExecution"), "{}", result.ad);
}

#[test]
fn transfer_statistics_are_those_of_the_other_side() {
    let place = place();
    fs::create_dir_all(place.path("iwd/d/e")).unwrap();
    give(&place, "d/e/f", "123456789");
    let result = run(&place, "mkdir -p o/p; echo 1 > o/p/q", "TransferInput = \"d\"\nTransferOutput = \"o\"");
    assert_eq!(result.status, 0, "{}", result.ad);
    assert!(result.has("BytesRecvd = 17.0"), "four for each directory: {}", result.ad);
    assert!(
        result.ad.contains("TransferInputStats = [ CedarSizeBytesTotal = 9; CedarFilesCountTotal = 1;"),
        "{}",
        result.ad
    );
    assert!(result.has("BytesSent = 2.0"), "{}", result.ad);
    assert!(
        result.ad.contains("TransferOutputStats = [ CedarSizeBytesTotal = 2; CedarFilesCountTotal = 5;"),
        "{}",
        result.ad
    );

    // If nothing else has any bytes, an empty directory counts as four.
    let place = self::place();
    let result = run(&place, "mkdir o", "TransferOutput = \"o\"");
    assert!(
        result.ad.contains("TransferOutputStats = [ CedarSizeBytesTotal = 4; CedarFilesCountTotal = 3;"),
        "{}",
        result.ad
    );

    // The failure was before the job started. Sizes are rounded as in a queue.
    let place = self::place();
    let result = run(&place, "true", "TransferInput = \"nosuch\"\nImageSize = 5712");
    assert_held(&result, 13, 2);
    for line in [
        "NumVacatesPreExecution = 1",
        "NumVacatesByReasonPreExecution = [ TransferInputError = 1; TransferInputErrorCedar = 1 ]",
        "ImageSize = 7500",
        "ImageSize_RAW = 5712",
        "TransferOutputStats = [ CedarFilesCountTotal = 2; CedarFilesCountLastRun = 2 ]",
    ] {
        assert!(result.has(line), "{line}: {}", result.ad);
    }
    let place = self::place().parameter("SCHEDD_ROUND_ATTR_ImageSize = 5%%");
    let result = run(&place, "true", "ImageSize = 5712");
    assert!(
        result.stderr.contains("SCHEDD_ROUND_ATTR_ImageSize = 5%% is not a percentage"),
        "{}",
        result.stderr
    );
}

#[test]
fn a_plugin_of_the_job_runs_as_the_job_and_is_killed_if_it_hangs() {
    let place = place();
    let own = "#!/bin/sh\nid -u > who; printf '[ TransferSuccess = true; TransferUrl = \"mine://x/y\" ]' > $4; echo got > y\n";
    write_executable(&place.path("iwd/own"), own.as_bytes());
    place.chown_to_nobody("iwd/own");
    let result = run(&place, "cat y who", "TransferInput = \"mine://x/y\"\nTransferPlugins = \"mine=own\"");
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    let uid = fs::metadata(place.path("iwd")).unwrap().uid();
    assert_eq!(got(&place, "out"), format!("got\n{uid}\n"));

    let place = self::place().parameter("MAX_FILE_TRANSFER_PLUGIN_LIFETIME = 1");
    write_executable(&place.path("iwd/own"), b"#!/bin/sh\nsleep 600\n");
    place.chown_to_nobody("iwd/own");
    let result = run(&place, "true", "TransferInput = \"mine://x/y\"\nTransferPlugins = \"mine=own\"");
    assert_held(&result, 13, 62);
}

#[test]
fn a_missing_plugin_is_named() {
    let place = place().parameter("FILETRANSFER_PLUGINS = /no/such/plugin");
    let result = run(&place, "true", "TransferInput = \"foo://host/x\"");
    let named = "the transfer plugin '/no/such/plugin' is not used: No such file or directory";
    assert!(result.stderr.contains(named), "{}", result.stderr);
}
