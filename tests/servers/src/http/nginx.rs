//! nginx

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, io};

use tempfile::TempDir;

use super::Logged;
use crate::{Process, free_port};

/// How long nginx may take to start, or to write its log.
const PATIENCE: Duration = Duration::from_secs(10);

/// nginx, with entity tags and ranges unless its settings say otherwise.
#[derive(Debug)]
pub struct Nginx {
    folder: TempDir,
    port: u16,
    _process: Process,
}

impl Nginx {
    /// A server of an empty folder. `settings` are lines for its `server` block.
    #[must_use]
    pub fn start(settings: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        // Another process may take the port first.
        for _ in 0..5 {
            let port = free_port();
            fs::write(folder.path().join("nginx.conf"), configuration(port, settings)).unwrap();
            let process = spawn(&folder);
            if let Some(process) = wait_until_up(process, port) {
                return Self {
                    folder,
                    port,
                    _process: process,
                };
            }
        }
        let errors = fs::read_to_string(folder.path().join("errors")).unwrap_or_default();
        panic!("nginx did not start: {errors}");
    }

    /// Where the files are.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    /// The URL of a file, whether it is there or not.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// What was asked so far, once it is at least so many requests: a line is written when its answer has ended.
    #[must_use]
    pub fn log(&self, requests: usize) -> Vec<Logged> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().filter_map(parse_line).collect();
            if lines.len() >= requests || Instant::now() > deadline {
                return lines;
            }
            sleep(Duration::from_millis(10));
        }
    }
}

fn configuration(port: u16, settings: &str) -> String {
    format!(
        "daemon off;
        master_process off;
        pid pid;
        error_log errors;
        events {{}}
        http {{
            log_format lines '$request_method $request_uri $status $body_bytes_sent $http_range';
            access_log log lines;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            server {{
                listen 127.0.0.1:{port};
                root files;
                {settings}
            }}
        }}"
    )
}

fn spawn(folder: &TempDir) -> Process {
    // Debian keeps it where the paths of plain users do not lead.
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    Process::spawn(
        Command::new("nginx")
            .env("PATH", path)
            .args(["-e", "errors", "-c", "nginx.conf", "-p"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null()),
    )
}

/// `None` if it ended before it listened.
fn wait_until_up(mut process: Process, port: u16) -> Option<Process> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if !matches!(process.child().try_wait(), io::Result::Ok(None)) {
            return None;
        }
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Some(process);
        }
        sleep(Duration::from_millis(10));
    }
    None
}

fn parse_line(line: &str) -> Option<Logged> {
    let mut words = line.split(' ');
    Some(Logged {
        method: words.next()?.to_owned(),
        target: words.next()?.to_owned(),
        status: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok(),
        range: words.next().filter(|range| *range != "-").map(ToOwned::to_owned),
    })
}
