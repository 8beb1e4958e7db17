//! Writes the result of a made-up run, to look at the table and the page:
//! `cargo run -p reprise-report --example sample-report -- <folder>`.

mod synthetic;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use reprise_report::{OutcomeWriter, analyse, files, table};

const REQUESTS: u32 = 12_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder")?);
    std::fs::create_dir_all(&folder)?;
    let run = synthetic::run(REQUESTS, Duration::from_hours(1));
    let mut writer = OutcomeWriter::create(&folder.join("outcomes.parquet"))?;
    writer.append(&run.outcomes)?;
    let outcomes = writer.finish()?;
    let summary = analyse(synthetic::input(REQUESTS), &outcomes, &run.gaps)?;
    print!("{}", table::render(&summary, 100));
    println!("\n{}", files::write_all(&folder, &summary)?.report.display());
    Ok(())
}
