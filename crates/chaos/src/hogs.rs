//! Programs that keep the host busy: busy loops, one for each processor, and writers that sync all they write.
//!
//! They are threads of one process, which ends with the fault, with the harness, and after [`LONGEST`] in any case.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that they work, whatever becomes of those who started them.
const LONGEST: Duration = Duration::from_secs(60);
/// How many writers there are, with a file of their own each.
const WRITERS: usize = 3;
/// How much a writer writes before it syncs, and how large its file gets.
const BLOCK: usize = 1 << 20;
const FILE_BLOCKS: u32 = 16;

/// Where they write.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct HogOptions {
    /// The folder of the writers' files.
    folder: PathBuf,
}

/// Keeps the host busy until the process is killed, but not for longer than [`LONGEST`].
pub(crate) fn work(options: &HogOptions) -> io::Result<()> {
    let until = Instant::now() + LONGEST;
    let loops = thread::available_parallelism().map_or(1, usize::from);
    let files = (0..WRITERS).map(|number| File::create(options.folder.join(format!("hog{number}"))));
    let files = files.collect::<io::Result<Vec<File>>>()?;
    thread::scope(|scope| {
        for _ in 0..loops {
            scope.spawn(|| while Instant::now() < until {});
        }
        let writers: Vec<_> = files.into_iter().map(|file| scope.spawn(move || write(file, until))).collect();
        let mut results = writers.into_iter().map(|writer| writer.join());
        results.try_for_each(|result| result.unwrap_or_else(|_| Err(io::Error::other("a writer panicked"))))
    })
}

/// Writes and syncs a file from its beginning again and again.
fn write(mut file: File, until: Instant) -> io::Result<()> {
    let block = vec![0x5a; BLOCK];
    while Instant::now() < until {
        file.seek(SeekFrom::Start(0))?;
        for _ in 0..FILE_BLOCKS {
            file.write_all(&block)?;
            file.sync_data()?;
            if Instant::now() >= until {
                break;
            }
        }
    }
    Ok(())
}
