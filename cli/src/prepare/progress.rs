//! Shows how far a trace is read.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use reprise_source::{Progress, Reference};

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
        let (stop, stopped) = channel();
        let name = reference.to_string();
        let watcher = thread::spawn(move || {
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
        });
        Self {
            stop,
            watcher: Some(watcher),
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
