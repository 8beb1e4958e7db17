//! Shows how far a trace is fetched and read.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use reprise_dataset_manager::prepare::{Activity, Observer};
use reprise_source::{FetchProgress, Pinned, Progress, Reference};

const TICK: Duration = Duration::from_millis(100);
/// Between two lines where there is no terminal.
const LINE_PERIOD: Duration = Duration::from_secs(10);

/// Shows how a preparation goes, on standard error.
#[derive(Default)]
pub(crate) struct Shown(RefCell<Option<Showing>>);

impl Observer for Shown {
    fn begin(&self, activity: Activity) {
        let showing = match activity {
            Activity::Pinning { .. } => None,
            Activity::Fetching { reference, progress } => Some(Showing::fetching(&reference, progress)),
            Activity::Reading { reference, progress } => Some(Showing::reading(&reference, progress)),
        };
        self.0.replace(showing);
    }

    fn end(&self) {
        self.0.replace(None);
    }

    fn pinned(&self, _: &Pinned) {}

    fn fetched(&self, line: &str) {
        eprintln!("{line}");
    }
}

/// Shows how far something has come, until it is dropped: a bar on a terminal, a line now and then elsewhere.
pub(crate) struct Showing {
    stop: Sender<()>,
    watcher: Option<thread::JoinHandle<()>>,
}

impl Showing {
    /// Shows how far a trace is read.
    pub(crate) fn reading(reference: &Reference, progress: Progress) -> Self {
        let name = reference.to_string();
        let bar = bar(&name, progress.total());
        let watched = progress.clone();
        Self::watch(
            bar,
            move |bar| bar.set_position(progress.bytes()),
            move || format!("Reading {name}: {} MiB", watched.bytes() >> 20),
        )
    }

    /// Shows how far files are fetched.
    pub(crate) fn fetching(reference: &Reference, progress: FetchProgress) -> Self {
        let name = reference.to_string();
        let bar = ProgressBar::new_spinner().with_message(name.clone());
        let watched = progress.clone();
        Self::watch(
            bar,
            move |bar| draw(bar, &progress),
            move || line(&name, &watched),
        )
    }

    fn watch(
        bar: ProgressBar,
        draw: impl Fn(&ProgressBar) + Send + 'static,
        line: impl Fn() -> String + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel();
        let watcher = thread::spawn(move || {
            if std::io::stderr().is_terminal() {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    draw(&bar);
                }
                bar.finish_and_clear();
            } else {
                while stopped.recv_timeout(LINE_PERIOD) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("{}", line());
                }
            }
        });
        Self {
            stop,
            watcher: Some(watcher),
        }
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        // The watcher ends by itself only here, so it is there to hear it and has no result.
        let _ = self.stop.send(());
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
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
