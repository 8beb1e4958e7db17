//! Shows how far a trace is read.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use reprise_source::{FetchProgress, Progress, Reference};

const TICK: Duration = Duration::from_millis(100);
/// Between two lines where there is no terminal.
const LINE_PERIOD: Duration = Duration::from_secs(10);

/// Shows how far a trace is read, until it is dropped: a bar on a terminal, a line now and then elsewhere.
pub(crate) struct Reading {
    stop: Sender<()>,
    watcher: Option<thread::JoinHandle<()>>,
}

impl Reading {
    pub(crate) fn show(reference: &Reference, progress: Progress) -> Self {
        let name = reference.to_string();
        Self::watch(move |stopped| {
            if std::io::stderr().is_terminal() {
                let bar = bar(&name, progress.total());
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    bar.set_position(progress.bytes());
                }
                bar.finish_and_clear();
            } else {
                while stopped.recv_timeout(LINE_PERIOD) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("Reading {name}: {} MiB", progress.bytes() >> 20);
                }
            }
        })
    }

    /// Lets `watch` run until this is dropped, which it hears of.
    fn watch(watch: impl FnOnce(Receiver<()>) + Send + 'static) -> Self {
        let (stop, stopped) = channel();
        Self {
            stop,
            watcher: Some(thread::spawn(move || watch(stopped))),
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // The watcher ends by itself only here, so it is there to hear it and has no result.
        let _ = self.stop.send(());
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

/// Shows how far files are fetched, until it is dropped: a bar on a terminal, a line now and then elsewhere.
pub(crate) struct Fetching(#[expect(dead_code, reason = "held only to be dropped")] Reading);

impl Fetching {
    pub(crate) fn show(reference: &Reference, progress: FetchProgress) -> Self {
        let name = reference.to_string();
        Self(Reading::watch(move |stopped| {
            if std::io::stderr().is_terminal() {
                let bar = ProgressBar::new_spinner().with_message(name);
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    draw(&bar, &progress);
                }
                bar.finish_and_clear();
            } else {
                while stopped.recv_timeout(LINE_PERIOD) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("{}", line(&name, &progress));
                }
            }
        }))
    }
}

fn draw(bar: &ProgressBar, progress: &FetchProgress) {
    let template = match (progress.is_waiting(), progress.total()) {
        (true, _) => "Waiting for another process that fetches {msg} {spinner}",
        (false, Some(_)) => "Fetching {msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}",
        (false, None) => "Fetching {msg} {spinner} {bytes} {bytes_per_sec}",
    };
    // The templates are constants; one that does not parse leaves the style as it is.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if let Some(total) = progress.total() {
        bar.set_length(total);
    }
    bar.set_position(progress.bytes());
}

fn line(name: &str, progress: &FetchProgress) -> String {
    let fetched = progress.bytes() >> 20;
    match (progress.is_waiting(), progress.total()) {
        (true, _) => format!("Waiting for another process that fetches {name}"),
        (false, Some(total)) => format!("Fetching {name}: {fetched} of {} MiB", total >> 20),
        (false, None) => format!("Fetching {name}: {fetched} MiB"),
    }
}

fn bar(name: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "Reading {msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}",
        None => "Reading {msg} {spinner} {bytes} {bytes_per_sec}",
    };
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    // The templates are constants; one that does not parse leaves the default style.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(name.to_owned())
}
