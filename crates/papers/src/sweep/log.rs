//! The log of a running sweep, from which it can be resumed.
//!
//! A log is a magic number, then frames of length, checksum and contents. The first frame identifies the experiment;
//! each other frame holds some runs. On resumption, the first incomplete or damaged frame and everything after it are
//! dropped.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::{SweepError, VERSION};
use crate::experiment::Experiment;

/// The first bytes of every log. The digit is the version of the format.
const MAGIC: &[u8; 16] = b"hustings log  1\n";

/// The maximum length of a frame.
const MAX_BYTES: u32 = 1 << 28;

/// How often frames are synced to disk. A crash of the machine, not of the process, loses frames since the last sync.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// Identifies the experiment of a log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Header {
    name: String,
    version: String,
    seed: u64,
    repetitions: u32,
    points: u64,
    fingerprint: u64,
}

/// Consecutive runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The number of the first run.
    pub(crate) first: u64,
    pub(crate) runs: Vec<Measured>,
}

/// An open log.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    path: PathBuf,
    synced: Instant,
}

impl Header {
    fn of(experiment: &Experiment) -> Self {
        Header {
            name: experiment.name.clone(),
            version: VERSION.to_string(),
            seed: experiment.seed,
            repetitions: experiment.repetitions,
            points: experiment.points().len() as u64,
            fingerprint: experiment.fingerprint(),
        }
    }

    /// The difference to the expected header.
    fn differs(&self, expected: &Header) -> Option<String> {
        let differs =
            |what: &str, found: String, expected: String| Some(format!("its {what} is {found}, not {expected}"));
        match self {
            _ if self == expected => None,
            _ if self.name != expected.name => differs("name", self.name.clone(), expected.name.clone()),
            _ if self.version != expected.version => {
                differs("program's version", self.version.clone(), expected.version.clone())
            }
            _ if self.seed != expected.seed => differs("seed", self.seed.to_string(), expected.seed.to_string()),
            _ if self.repetitions != expected.repetitions => {
                differs("number of repetitions", self.repetitions.to_string(), expected.repetitions.to_string())
            }
            _ if self.points != expected.points => {
                differs("number of points", self.points.to_string(), expected.points.to_string())
            }
            _ => Some("its settings differ".to_string()),
        }
    }
}

impl Log {
    /// Creates a log, or replaces an existing one.
    pub(crate) fn create(path: &Path, experiment: &Experiment) -> Result<Log, SweepError> {
        let wrong = |error| SweepError::file(path, error);
        // The file is truncated only after it is locked.
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(wrong)?;
        lock(&file, path)?;
        Log::begin(file, path, &opening(experiment).map_err(wrong)?)
    }

    /// Truncates a locked file and writes the opening.
    fn begin(mut file: File, path: &Path, opening: &[u8]) -> Result<Log, SweepError> {
        let emptied = file.set_len(0).and_then(|()| file.rewind());
        let written = emptied.and_then(|()| file.write_all(opening)).and_then(|()| file.sync_data());
        written.map_err(|error| SweepError::file(path, error))?;
        Ok(Log { file, path: path.to_path_buf(), synced: Instant::now() })
    }

    /// Opens the log of an interrupted sweep. Returns its frames and the number of damaged bytes at its end.
    pub(crate) fn resume(path: &Path, experiment: &Experiment) -> Result<(Log, Vec<Frame>, u64), SweepError> {
        let wrong = |error| SweepError::file(path, error);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(wrong)?;
        lock(&file, path)?;
        let length = file.metadata().map_err(wrong)?.len();
        // A sweep that was interrupted while it wrote the opening has no runs.
        let opening = opening(experiment).map_err(wrong)?;
        if length < opening.len() as u64 {
            let mut begun = Vec::new();
            file.read_to_end(&mut begun).and_then(|_| file.rewind()).map_err(wrong)?;
            if opening.starts_with(&begun) {
                return Ok((Log::begin(file, path, &opening)?, Vec::new(), 0));
            }
        }
        let mut reader = FrameReader { source: BufReader::new(&file), good: 0 };
        let foreign = |reason: String| SweepError::Foreign { path: path.to_path_buf(), reason };
        let Some(header) = reader.header().map_err(wrong)? else {
            return Err(foreign("it is not the log of a sweep".to_string()));
        };
        if let Some(reason) = header.differs(&Header::of(experiment)) {
            return Err(foreign(reason));
        }
        let mut frames = Vec::new();
        while let Some(frame) = reader.frame::<Frame>().map_err(wrong)? {
            let end = frame.first.checked_add(frame.runs.len() as u64);
            if end.is_none_or(|end| end > experiment.runs()) {
                return Err(foreign("it holds runs that the experiment does not have".to_string()));
            }
            frames.push(frame);
        }
        let good = reader.good;
        drop(reader);
        file.set_len(good).and_then(|()| file.seek(SeekFrom::Start(good))).map_err(wrong)?;
        let log = Log { file, path: path.to_path_buf(), synced: Instant::now() };
        Ok((log, frames, length.saturating_sub(good)))
    }

    /// Adds frames, all in one write.
    pub(crate) fn append(&mut self, frames: &[Frame]) -> Result<(), SweepError> {
        let mut bytes = Vec::new();
        let encoded = frames.iter().try_for_each(|frame| enframe(&mut bytes, frame));
        encoded.and_then(|()| self.file.write_all(&bytes)).map_err(|error| SweepError::file(&self.path, error))?;
        if self.synced.elapsed() >= SYNC_INTERVAL { self.sync() } else { Ok(()) }
    }

    /// Waits until everything is on the disk.
    pub(crate) fn sync(&mut self) -> Result<(), SweepError> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|error| SweepError::file(&self.path, error))
    }
}

/// Locks the log, so that only one process writes it.
fn lock(file: &File, path: &Path) -> Result<(), SweepError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(SweepError::Busy { path: path.to_path_buf() }),
        // Some file systems have no locks; a sweep works there without one.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(SweepError::file(path, error)),
    }
}

/// The beginning of the log of an experiment.
fn opening(experiment: &Experiment) -> io::Result<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    enframe(&mut bytes, &Header::of(experiment))?;
    Ok(bytes)
}

fn enframe(bytes: &mut Vec<u8>, contents: &impl Serialize) -> io::Result<()> {
    let contents = postcard::to_stdvec(contents).map_err(io::Error::other)?;
    let length = u32::try_from(contents.len()).map_err(io::Error::other)?;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&contents).to_le_bytes());
    bytes.extend_from_slice(&contents);
    Ok(())
}

struct FrameReader<R> {
    source: R,
    /// The end of the last good frame.
    good: u64,
}

impl<R: Read> FrameReader<R> {
    fn header(&mut self) -> io::Result<Option<Header>> {
        match self.bytes(MAGIC.len())? {
            Some(magic) if magic == MAGIC => {
                self.good = MAGIC.len() as u64;
                self.frame()
            }
            _ => Ok(None),
        }
    }

    /// The next frame; `None` at the end or at a damaged frame.
    fn frame<T: for<'de> Deserialize<'de>>(&mut self) -> io::Result<Option<T>> {
        let Some(head) = self.bytes(8)? else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, checksum) = (word(0), word(4));
        if length > MAX_BYTES {
            return Ok(None);
        }
        let Some(contents) = self.bytes(length as usize)? else { return Ok(None) };
        if crc32fast::hash(&contents) != checksum {
            return Ok(None);
        }
        let read = postcard::from_bytes(&contents).ok();
        if read.is_some() {
            self.good += 8 + u64::from(length);
        }
        Ok(read)
    }

    /// Reads `count` bytes; `None` if there are fewer.
    fn bytes(&mut self, count: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.source.by_ref().take(count as u64).read_to_end(&mut bytes)?;
        Ok((bytes.len() == count).then_some(bytes))
    }
}
